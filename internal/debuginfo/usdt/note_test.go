package usdt

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

var noteText = regexp.MustCompile(`Provider: (.*)\n\s*Name: (.*)\n\s*Location: (\w+), Base: (\w+), Semaphore: (\w+)\n\s*Arguments: ?(.*)\n`)

// readelf lists the probes as binutils read them.
func readelf(t testing.TB, path string) (out []string) {
	for _, m := range noteText.FindAllStringSubmatch(command(t, "readelf", "-n", path), -1) {
		pc, _ := strconv.ParseUint(m[3], 0, 64)
		sem, _ := strconv.ParseUint(m[5], 0, 64)
		out = append(out, fmt.Sprintf("%s:%s %#x %#x %s", m[1], m[2], pc, sem, strings.TrimSpace(m[6])))
	}
	sort.Strings(out)
	return out
}

// TestProbesAgreeWithReadelf reads programs of the test, and whatever of the
// system has probes.
func TestProbesAgreeWithReadelf(t *testing.T) {
	paths := []string{
		build(t, "gcc", "-O0", "demo.c"), build(t, "gcc", "-O3 -static", "demo.c"), build(t, "clang", "-O2 -fPIC -shared", "demo.c"),
	}
	own := len(paths)
	for _, g := range []string{
		"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libpython3*.so.*",
		"/usr/bin/python3.*", "/usr/bin/perl", "/usr/bin/x86_64-linux-gnu-g*-1?",
	} {
		m, _ := filepath.Glob(g)
		paths = append(paths, m...)
	}
	total := 0
	for i, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue // a script among the programs
		}
		defer f.Close()
		probes, err := Read(f)
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, p := range probes {
			got = append(got, fmt.Sprintf("%s:%s %#x %#x %s", p.Provider, p.Name, p.PC, p.Semaphore, p.ArgText))
			if b := f.Data()[p.Offset]; b != 0x90 {
				t.Errorf("%s: at the probe %s is %#x, not a nop", path, p.Name, b)
			}
			for _, a := range p.Args {
				if a.Err != nil {
					t.Errorf("%s: %s:%s: %v", path, p.Provider, p.Name, a.Err)
				}
			}
		}
		sort.Strings(got)
		if want := readelf(t, path); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nreadelf has\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if i < own && len(got) < 11 {
			t.Errorf("%s: only %d probes", path, len(got))
		}
		total += len(got)
	}
	t.Logf("%d probes in %d files", total, len(paths))
}

// TestSemaphoreOffset reads the counters through the file offsets: they are 0 in
// the file and lie in section .probes.
func TestSemaphoreOffset(t *testing.T) {
	f := open(t, build(t, "gcc", "-O2", "demo.c"))
	probes, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	sec, ok := f.Section(".probes")
	if !ok {
		t.Fatal("no section .probes")
	}
	seen := map[uint64]bool{}
	for _, p := range probes {
		sym := f.Lookup("demo_" + p.Name + "_semaphore")
		if len(sym) != 1 || sym[0].Value != p.Semaphore {
			t.Errorf("%s: semaphore %#x, symbol %+v", p.Name, p.Semaphore, sym)
		}
		if p.SemOffset < sec.Offset || p.SemOffset+2 > sec.Offset+sec.Size || p.SemOffset-sec.Offset != p.Semaphore-sec.Vaddr {
			t.Errorf("%s: file offset %#x is not in .probes %+v", p.Name, p.SemOffset, sec)
		}
		seen[p.SemOffset] = true
	}
	if len(seen) != 11 {
		t.Errorf("%d different semaphores", len(seen))
	}
}

// TestPrelink moves the base that the notes name, as prelink does by moving the
// program: places move the other way.
func TestPrelink(t *testing.T) {
	path := build(t, "gcc", "-O2 -no-pie", "demo.c")
	before := read(t, path)
	f := open(t, path)
	sec, _ := f.Section(noteSection)
	b := slices.Clone(f.Data())
	const by = 1
	base, _ := f.Section(baseSection)
	for i := sec.Offset; i+8 <= sec.Offset+sec.Size; i++ { // every word that names the base
		if binary.LittleEndian.Uint64(b[i:]) == base.Vaddr {
			binary.LittleEndian.PutUint64(b[i:], base.Vaddr-by)
		}
	}
	g, err := elf.New(path, b)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Read(g)
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d probes, %d before: %v", len(after), len(before), err)
	}
	for i, p := range before {
		if q := after[i]; q.PC != p.PC+by || q.Semaphore != p.Semaphore+by || q.Offset != p.Offset+by {
			t.Errorf("%s: %#x %#x, before %#x %#x", p.Name, q.PC, q.Semaphore, p.PC, p.Semaphore)
		}
	}
}

func TestMatch(t *testing.T) {
	all := read(t, build(t, "gcc", "-O2", "demo.c"))
	for _, c := range []struct {
		provider, name string
		want           int
	}{
		{"", "", len(all)}, {"demo", "*", len(all)}, {"d*", "s*", 1}, {"demo", "[lm]*", 3}, {"other", "*", 0}, {"demo", "smal", 0}, {"demo", "[", 0},
	} {
		if got := Match(all, c.provider, c.name); len(got) != c.want {
			t.Errorf("%s:%s matches %d probes, not %d", c.provider, c.name, len(got), c.want)
		}
	}
}

func TestNoProbes(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.c")
	if err := os.WriteFile(src, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "gcc", src, "-o", src+".out")
	if p := read(t, src+".out"); len(p) != 0 {
		t.Error(p)
	}
}
