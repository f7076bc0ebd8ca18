package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// framesNames are the variables of frames.c that are compared.
const framesNames = "m,twice,local,depth,part,total,j,c,x,y,argc,own.id,a.id,b.id,v[0],v[1]"

// frameKey is a variable of the frame up from a hit.
type frameKey struct {
	hit, up int
	name    string
}

// gdbFrames are the values that GDB shows in the frames above a place.
func gdbFrames(t *testing.T, prog, place string) map[frameKey]string {
	t.Helper()
	cmd := exec.Command("gdb", "-nx", "-q", "-batch", "-x", "testdata/frames.py", prog)
	cmd.Env = append(os.Environ(), "PLACE="+place, "NAMES="+framesNames)
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	out := map[frameKey]string{}
	for _, l := range strings.Split(string(b), "\n") {
		if f := strings.Fields(l); len(f) == 5 && f[0] == "=" {
			hit, _ := strconv.Atoi(f[1])
			up, _ := strconv.Atoi(f[2])
			out[frameKey{hit, up, f[3]}] = f[4]
		}
	}
	return out
}

// jalonFrames are those that jalon collects.
func jalonFrames(t *testing.T, prog, place, engine string) map[frameKey]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-f", "json", "-o", file, "--engine", engine, "-c", "$args@1, $locals@1, $args@2, $locals@2, $args@3, $locals@3", place, "--", prog)
	b, err := os.ReadFile(file)
	if err != nil || res.status != 0 {
		t.Fatal(err, res.stderr)
	}
	out := map[frameKey]string{}
	for hit, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var ev struct{ Values map[string]map[string]any }
		d := json.NewDecoder(strings.NewReader(l))
		d.UseNumber()
		if err := d.Decode(&ev); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		for group, values := range ev.Values {
			up, _ := strconv.Atoi(group[strings.Index(group, "@")+1:])
			for name, v := range values {
				name = strings.TrimSuffix(name[strings.LastIndex(name, ":")+1:], fmt.Sprintf("@%d", up))
				flatten(out, frameKey{hit, up, name}, v)
			}
		}
	}
	return out
}

// flatten adds the numbers in a value.
func flatten(out map[frameKey]string, k frameKey, v any) {
	switch v := v.(type) {
	case json.Number:
		out[k] = v.String()
	case map[string]any:
		for m, x := range v {
			flatten(out, frameKey{k.hit, k.up, k.name + "." + m}, x)
		}
	case []any:
		for i, x := range v {
			flatten(out, frameKey{k.hit, k.up, fmt.Sprintf("%s[%d]", k.name, i)}, x)
		}
	}
}

// TestFrames: the variables of inlined and of physical callers are those that GDB shows after up, in both engines. In code that is
// not optimised all that GDB has are there. In optimised code none is another than in the other code; GDB shows some that
// are, since it reads registers that the call may have changed. least is how many of GDB's right ones jalon has.
func TestFrames(t *testing.T) {
	need(t, "gdb", "gcc", "clang")
	source, err := filepath.Abs("programs/frames.c")
	if err != nil {
		t.Fatal(err)
	}
	place := lineWith(t, source, "/* here */")
	truth := gdbFrames(t, compile(t, "gcc", "frames.c", "-g", "-O0"), place)
	for _, b := range []struct {
		build string
		least int // in percent
	}{
		{"gcc -O0", 100}, {"clang -O0", 100}, {"gcc -O1", 75}, {"gcc -O2", 70}, {"gcc -O2 -fno-pie -no-pie -gstrict-dwarf", 70}, {"gcc -O3 -fno-omit-frame-pointer", 80}, {"clang -O2", 65},
	} {
		flags := strings.Fields(b.build)
		prog := compile(t, flags[0], "frames.c", append(flags[1:], "-g")...)
		gdb := gdbFrames(t, prog, place)
		for _, engine := range []string{"process", "kernel"} {
			got := jalonFrames(t, prog, place, engine)
			right, has := 0, 0
			for k, v := range got {
				if w, ok := truth[k]; ok && w != v && gdb[k] != v { // clang 14 describes a wrong argument at a call
					t.Errorf("%s, %s: hit %d, frame %d: %s is %s, want %s", b.build, engine, k.hit, k.up, k.name, v, w)
				}
			}
			for k, v := range gdb {
				if truth[k] != v {
					continue // a pointer, or a register that has changed
				}
				right++
				if got[k] == v {
					has++
				} else if b.least == 100 {
					t.Errorf("%s, %s: hit %d, frame %d: %s is not there, GDB: %s", b.build, engine, k.hit, k.up, k.name, v)
				}
			}
			if right < 20 || has*100 < right*b.least {
				t.Errorf("%s, %s: %d of GDB's %d values, want %d %%", b.build, engine, has, right, b.least)
			}
			t.Logf("%s, %s: %d of GDB's %d values", b.build, engine, has, right)
		}
	}
}

// framesAt are the events at the line with the mark, behind the name of the place.
func framesAt(t *testing.T, prog, source, cond, collect string) string {
	t.Helper()
	place := lineWith(t, "programs/"+source, " here")
	file := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", file, "-c", collect, place+cond, "--", prog)
	b, err := os.ReadFile(file)
	if err != nil || res.status != 0 {
		t.Fatal(err, res.stderr)
	}
	var list []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if i := strings.Index(l, place); i >= 0 {
			list = append(list, strings.TrimSpace(l[i+len(place):]))
		}
	}
	return strings.Join(list, "\n")
}

// TestFrameExpressions: expressions of a caller, in lists and conditions; what another caller has.
func TestFrameExpressions(t *testing.T) {
	need(t, "gcc", "g++")
	prog := compile(t, "gcc", "frames.c", "-g", "-O0")
	for _, c := range []struct{ cond, collect, want string }{
		{" if @up(r->id) == 9", "n, @up(r->name), @up(m * 2) + n, @up(b.id, 3), @up(sink) == sink", `n=51 @up(r->name)=ADDR "nine" @up(m * 2) + n=135 @up(b.id, 3)=9 @up(sink) == sink=1`},
		{" if n == 7", "$args@1, @up($locals), @up(handle::local, 2), @up(twice)", "j@1=6 jumps::y@1=12 @up(handle::local, 2)=<not known in this caller> @up(twice)=<not known in this caller>"},
		{" if n == 607", "@up(depth), @up(depth, 2), $args@0, @up(sizeof part)", "@up(depth)=0 @up(depth, 2)=1 n=607 @up(sizeof part)=4"},
	} {
		got := addresses.ReplaceAllString(framesAt(t, prog, "frames.c", c.cond, c.collect), "ADDR")
		if got != c.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.cond, c.collect, got, c.want)
		}
	}
	got := framesAt(t, compile(t, "g++", "frames.cc", "-g", "-O0"), "frames.cc", "", "@up(width), @up(this->base), @up(name), @up(height), @up(b.width, 2), $locals@1")
	const other = "<not known in this caller>"
	rest := ""
	for _, locals := range []string{"twice<int>::u@1=4", "twice<double>::u@1=5", "h@1=7"} {
		rest += fmt.Sprintf("\n@up(width)=%s @up(this->base)=%[1]s @up(name)=%[1]s @up(height)=%[1]s @up(b.width, 2)=4 %s", other, locals)
	}
	if want := `@up(width)=4 @up(this->base)=3 @up(name)="a box" @up(height)=7 @up(b.width, 2)=4 $locals@1=` + other + rest; got != want {
		t.Errorf("C++:\n%s\nwant\n%s", got, want)
	}
}

// TestFramesOfLibrary: calls by way of the dynamic linker. The calls of another file are not known.
func TestFramesOfLibrary(t *testing.T) {
	need(t, "gcc")
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-fno-plt"}, {"-O0", "-fcf-protection=none", "-Wl,-z,now"}} {
		dir := t.TempDir()
		lib, prog := filepath.Join(dir, "libframe.so"), filepath.Join(dir, "user")
		run(t, append([]string{"gcc", "-g", "-fPIC", "-shared", "-o", lib, "programs/framelib.c"}, flags...)...)
		run(t, "gcc", "-g", "-o", prog, "programs/frameuser.c", lib, "-Wl,-rpath,"+dir)
		if got := framesAt(t, prog, "framelib.c", "", "@up(twice)"); got != "@up(twice)=12" {
			t.Errorf("%s: %q", flags, got)
		}
		got := framesAt(t, prog, "framelib.c", "", "@up(a, 2), n")
		if want := "@up(a, 2)=<the caller is not known here: no call of entry is known in this file> n=13"; got != want {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
}

// TestFrameErrors: what cannot be had is an error at its place.
func TestFrameErrors(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "frames.c", "-g", "-O0")
	for collect, want := range map[string]string{
		"@up(nothing)":   `no variable "nothing" here`,
		"@up($rsp)":      "$rsp is known in the innermost frame only",
		"@up(m, n)":      "the number of frames must be a constant",
		"@up(m, 99)":     "the number of frames must be from 0 to 64",
		"@up(m, 5)":      "the caller is not known here: ",
		"@up()":          "@up needs an expression and an optional number of frames",
		"@up(y)":         `"y" is ambiguous here`,
		"@up(m = 1)":     "= would change the program",
		"$args@n":        "the number of frames must be a constant",
		"@up($args) + 1": "$args can only be collected as an item",
	} {
		res := jalon(t, "trace", "-c", collect, "leaf", "--", prog)
		if !strings.Contains(res.stderr, want) || !strings.Contains(res.stderr, "collect:1:") {
			t.Errorf("%s: %s\nwant %s", collect, res.stderr, want)
		}
	}
}

// TestFramesOfFew: a frame without arguments is no error, and an object in parts that share bytes has its members: the other items
// have their values.
func TestFramesOfFew(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "partbits.c", "-g", "-O2")
	place := lineWith(t, "programs/partbits.c", "// in inner")
	for _, engine := range []string{"process", "kernel"} {
		file := filepath.Join(t.TempDir(), "events")
		res := jalon(t, "trace", "-o", file, "--engine", engine, "-c", "$args@1, @up($args), p->d, p->e, *p, k", place, "--", prog)
		b, err := os.ReadFile(file)
		if err != nil || res.status != 0 {
			t.Fatal(err, res.stderr)
		}
		if !strings.Contains(string(b), " p->d=9 p->e=-5 *p={") || !strings.Contains(string(b), ", d = 9, e = -5, ") || !strings.HasSuffix(string(b), " k=4\n") {
			t.Errorf("%s: %s%s", engine, b, res.stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", file, "-c", "@entry($args), $retval", "main%return", "--", prog)
	if b, err := os.ReadFile(file); err != nil || res.status != 0 || !strings.Contains(string(b), "$retval=0") {
		t.Errorf("%v: %s%s", err, b, res.stderr)
	}
}
