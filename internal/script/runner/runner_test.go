package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/source"
	"github.com/jalon-trace/jalon/internal/session"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// prog is traced by the tests. handle(r, n) is called for n = 0, 1, ... and returns len % 7.
const prog = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>
struct req { int type; unsigned long len; const char *path; struct { short a; signed char b:3; unsigned c:5; } in; int arr[4]; struct req *next; };
__attribute__((noinline)) int handle(struct req *r, int n) { static volatile int sum; sum += r->len + n; return (int)r->len % 7; }
static pthread_t other;
void *again(void *);
int main(int argc, char **argv) {
	int n = atoi(argv[1]);
	long total = 0;
	if (argc > 2) pthread_create(&other, 0, again, argv);
	struct req last = { 99, 1, "last" };
	for (int i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "/path/%d", i % 3);
		struct req r = { i % 4, i * 10, name, { -i, i % 8 - 4, i % 32 }, { i, i + 1, i + 2, i + 3 }, i % 2 ? &last : 0 };
		total += handle(&r, i);
		getppid();
	}
	if (argc > 2) pthread_join(other, 0);
	return total == -1;
}
void *again(void *argv) { return (void *)(long)main(2, argv); }
`

// declared is the struct as scripts declare it.
const declared = "struct in { short a; signed char b:3; unsigned c:5; }\nstruct req { int type; unsigned long len; char *path; struct in in; int arr[4]; struct req *next; }\n"

func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "prog.c")
	if err := os.WriteFile(src, []byte(prog), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	if text, err := exec.Command("gcc", "-g", "-O1", "-pthread", "-o", out, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func clock(id int32) func() uint64 {
	return func() uint64 {
		var ts unix.Timespec
		_ = unix.ClockGettime(id, &ts)
		return uint64(ts.Nano())
	}
}

// runScript runs a script and returns its output with the maps.
func runScript(t *testing.T, src string, opt Options) (string, *interp.Machine) {
	t.Helper()
	warn := opt.Warn
	s, err := script.Parse("t", src)
	if err != nil {
		t.Fatal(err)
	}
	program := ""
	if opt.Argv != nil {
		program = opt.Argv[0]
	}
	p, err := check.Check(s, check.Options{Source: source.New(source.Options{Program: program}), Process: opt.Argv != nil, Unsafe: opt.System != nil})
	if err != nil {
		t.Fatal(err)
	}
	var out, warnings bytes.Buffer
	to := io.Writer(&out)
	if opt.Out != nil {
		to = io.MultiWriter(&out, opt.Out)
	}
	opt.Options = interp.Options{Out: to, Err: &warnings, System: opt.System, JSON: opt.JSON, Quiet: true, Now: time.Now, Boot: clock(unix.CLOCK_BOOTTIME), Mono: clock(unix.CLOCK_MONOTONIC)}
	opt.Warn = func(text string) {
		t.Log(text)
		if warn != nil {
			warn(text)
		}
	}
	if opt.IO.Out == nil {
		opt.IO.Out, opt.IO.Err = os.Stderr, os.Stderr
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	m, err := Run(ctx, p, opt)
	if err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s\nit did not end", src)
	}
	m.PrintMaps()
	return out.String(), m
}

// TestSites runs scripts at functions of a program: by code in the process, and by the kernel. Both give the values
// that the program had.
func TestSites(t *testing.T) {
	path := build(t)
	for _, c := range []struct{ src, want string }{
		{`uprobe:PROG:handle { @[arg1 % 3] = sum(arg1); }`, "@[0]: 9\n@[1]: 12\n@[2]: 15\n"},
		{`uprobe:PROG:handle /arg1 > 6/ { printf("%s %d\n", probe, arg1); @ = count(); }`, "uprobe:PROG:handle 7\nuprobe:PROG:handle 8\n@: 2\n"},
		{`uretprobe:PROG:handle { @[retval] = count(); }`, "@[1]: 1\n@[2]: 1\n@[4]: 1\n@[5]: 1\n@[6]: 1\n@[0]: 2\n@[3]: 2\n"},
		{`uprobe:PROG:handle { @s[tid] = arg1; } uretprobe:PROG:handle /@s[tid] == 4/ { printf("%d %d\n", @s[tid], retval); } end { clear(@s); }`, "4 5\n"},
		{
			declared + `uprobe:PROG:handle /arg1 == 5/ { $r = (struct req *)arg0; print(($r->type, $r->len, str($r->path), $r->in.a, $r->in.b, $r->in.c, $r->arr[1], str($r->next->path))); }`,
			"(1, 50, /path/2, -5, 1, 5, 6, last)\n",
		},
		{
			declared + `uprobe:PROG:handle /arg1 == 3/ { $r = (struct req *)arg0; $i = (uint64)0; while ($i < 3) { printf("%d,", $r->arr[$i]); $i++; } for ($j : (uint64)0..(uint64)4) { printf("%d;", $r->arr[$j]); } unroll(2) { $r = $r->next; printf("%d\n", $r->type); } }`,
			"3,4,5,3;4;5;6;99\n0\n",
		},
		{declared + `uprobe:PROG:handle { $r = (struct req *)arg0; $p = $r->path; if ($r->type != 2) { $p = (char *)0; } @[str($p)] = count(); }`, "@[/path/0]: 1\n@[/path/2]: 1\n@[]: 7\n"},
		{declared + `uprobe:PROG:handle /arg1 == 1/ { $r = *(struct req *)arg0; print($r.in); print($r.arr); print(buf($r.arr, 4)); print($r.next->len); }`, "{ .a = -1, .b = -3, .c = 1 }\n[1,2,3,4]\n\\x01\\x00\\x00\\x00\n1\n"},
		{`uprobe:PROG:handle { $a = nsecs; @t[tid] = $a; if (nsecs != $a || nsecs(monotonic) > $a) { printf("two times in one hit\n"); } } uretprobe:PROG:handle { if (nsecs < @t[tid]) { printf("%d %d\n", nsecs, @t[tid]); } @late[nsecs - @t[tid] < 10000000000] = count(); } end { clear(@t); }`, "@late[true]: 9\n"},
		{declared + `uprobe:PROG:handle /arg1 == 2/ { $r = (struct req *)arg0; printf("%s|%s|%s\n", str($r->path, 4), str($r->path, arg1 + 3), str($r->path)); print(usym(reg("ip"))); print(ustack(raw, 1) == ustack(raw, 1)); }`, "/pa|/pat|/path/2\nhandle\ntrue\n"},
		{`uprobe:PROG:handle { if (arg1 == 4) { exit(); } @ = count(); } end { printf("end\n"); }`, "end\n@: 4\n"},
	} {
		src := strings.ReplaceAll(c.src, "PROG", path)
		want := strings.ReplaceAll(c.want, "PROG", path)
		for _, uprobes := range []bool{false, true} {
			if uprobes && os.Getuid() != 0 {
				t.Skip("the kernel's uprobes need root")
			}
			if got, _ := runScript(t, src, Options{Argv: []string{path, "9"}, Uprobes: uprobes}); got != want {
				t.Errorf("%s\nuprobes %v: %q\nwant %q", c.src, uprobes, got, want)
			}
		}
	}
}

// TestPasses: loops whose passes depend on what they read, at functions of a program: by code in the process, and by the kernel. Their
// values are those of the program.
func TestPasses(t *testing.T) {
	path := build(t)
	const head = declared + `uprobe:PROG:handle { $r = (struct req *)arg0; `
	for _, c := range []struct{ src, want string }{
		{`$n = 0; while ($r != 0) { printf("%d %s;", $r->type, str($r->path)); $r = $r->next; $n++; } printf("%d\n", $n); }`, "0 /path/0;1\n1 /path/1;99 last;2\n2 /path/2;1\n3 /path/0;99 last;2\n0 /path/1;1\n"},
		{`while (1) { if ($r->type == 99) { break; } printf("%d;", $r->type); $p = $r->next; if ($p == 0) { break; } $r = $p; } printf("%d\n", $r->len); }`, "0;0\n1;1\n2;20\n3;1\n0;40\n"},
		{`for $i : 0..3 { if ($r == 0) { printf("-"); continue; } printf("%d,", $r->type); $r = $r->next; if ($i == 1) { break; } } print($r); }`, "0,--0x0\n1,99,0x0\n2,--0x0\n3,99,0x0\n0,--0x0\n"},
		{`unroll(2) { if ($r->next) { $r = $r->next; } else { continue; } printf("%d ", $r->type); } printf("%d\n", $r->len); }`, "0\n99 1\n20\n99 1\n40\n"},
		{`while ($r != 0) { $r = $r->next; if (arg1 == 2) { return; } for $i : 0..2 { if ($r == 0) { break; } printf("%d.%d ", $i, $r->type); } } print(arg1); }`, "0\n0.99 1.99 1\n0.99 1.99 3\n4\n"},
		{`$i = 3; while ($i-- > 0 && $r != 0) { printf("%d.%d ", $i, ($r++).type); $r--; $r = $r->next; } printf("%d\n", $i); }`, "2.0 1\n2.1 1.99 0\n2.2 1\n2.3 1.99 0\n2.0 1\n"},
		{`while ($r != 0) { @s = sum($r->type); if ($r->type == 99) { @n[99] = count(); } @last[tid] = $r->type; $r = $r->next; } printf("%d;", @last[tid]); delete(@last, tid); }`, "0;99;2;99;0;@s: 204\n@n[99]: 2\n"},
		{`@at[tid] = $r; } uretprobe:PROG:handle { $p = @at[tid]; $n = 0; while ($p != 0) { $n++; $p = $p->next; } printf("%d %d\n", $n, retval); delete(@at, tid); }`, "1 0\n2 3\n1 6\n2 2\n1 5\n"},
	} {
		src := strings.ReplaceAll(head+c.src, "PROG", path)
		for _, opt := range []Options{{}, {Uprobes: true}, {InJalon: true}} {
			if opt.Uprobes && os.Getuid() != 0 {
				t.Skip("the kernel's uprobes need root")
			}
			if opt.InJalon && strings.Contains(src, "@at") {
				continue // a pointer in a map
			}
			opt.Argv = []string{path, "5"}
			if got, _ := runScript(t, src, opt); got != c.want {
				t.Errorf("%s\nuprobes %t, in jalon %t: %q\nwant %q", c.src, opt.Uprobes, opt.InJalon, got, c.want)
			}
		}
	}
	// A loop with more passes than sites read ends the hit.
	src := strings.ReplaceAll(head+`$n = 0; while ($r != 0) { $n++; if (arg1 != 1 || $n == 0) { $r = $r->next; } } printf("%d\n", $n); }`, "PROG", path)
	if got, _ := runScript(t, src, Options{Argv: []string{path, "4"}}); got != "1\n1\n2\n" {
		t.Errorf("a loop without end: %q", got)
	}
}

// TestSparePattern: a pattern may match nothing if its probe has another place.
func TestSparePattern(t *testing.T) {
	path := build(t)
	for _, c := range []struct{ points, want string }{
		{"uprobe:PROG:handle, uprobe:PROG:nothing_*", "xx"},
		{"uprobe:PROG:nothing_*, uprobe:PROG:handle", "xx"},
		{"uprobe:PROG:handl*, uprobe:PROG:handle.part.*", "error"},
		{"uprobe:PROG:nothing_*", "error"},
		{"uprobe:PROG:handle, uprobe:PROG:nothing", "error"},
	} {
		for _, uprobes := range []bool{false, true} {
			if uprobes && os.Getuid() != 0 {
				t.Skip("the kernel's uprobes need root")
			}
			s, err := script.Parse("t", strings.ReplaceAll(c.points, "PROG", path)+` { printf("x"); }`)
			if err != nil {
				t.Fatal(err)
			}
			p, err := check.Check(s, check.Options{Source: source.Open(), Process: true})
			if err != nil {
				t.Fatal(err)
			}
			var out, warnings bytes.Buffer
			opt := Options{Argv: []string{path, "2"}, Uprobes: uprobes, Warn: func(string) {}, IO: session.IO{Out: os.Stderr, Err: os.Stderr}}
			opt.Options = interp.Options{Out: &out, Err: &warnings, Quiet: true, Now: time.Now, Boot: clock(unix.CLOCK_BOOTTIME), Mono: clock(unix.CLOCK_MONOTONIC)}
			got := "error"
			if _, err = Run(t.Context(), p, opt); err == nil {
				got = out.String()
			}
			if got != c.want {
				t.Errorf("%s, uprobes %t: %q, %v; want %q", c.points, uprobes, got, err, c.want)
			}
		}
	}
}

// TestSiteMaps: maps that sites update have what they have if jalon updates them. The same scripts run at once with an
// added statement, which makes jalon execute their probes; and by the kernel.
func TestSiteMaps(t *testing.T) {
	path := build(t)
	for _, c := range []struct {
		src  string
		maps int // of the sites
	}{
		{`uprobe:PROG:handle /arg1 != 3/ { @n[arg1 % 3] = count(); @m[((int64)arg1 - 5) % 3] = count(); @d[((int64)arg1 - 5) / 2, (int8)arg1 / 3] = sum((int64)arg1 - 9); @h = hist(arg1 * 1000 / 7); EXTRA }`, 4},
		{`uprobe:PROG:handle { @c[comm] = count(); @p[probe] = count(); @f[func] = sum(arg1); @all[func, comm, probe, arg1 & 1] = max(arg1); EXTRA }`, 4},
		{`uprobe:PROG:handle { @p[probe] = count(); @f[func] = count(); EXTRA } uretprobe:PROG:handle { @p[probe] = count(); EXTRA }`, 2},
		{`uprobe:PROG:handle /arg1 != 3/ { $t = arg1 & 3; @n = count(); @k[$t] = count(); @s = sum((int32)arg1 - 3); @a[arg1 & 1, arg1 > 4] = avg(arg1); EXTRA }`, 4},
		{`uprobe:PROG:handle { @lo = min((int64)arg1 - 5); @hi = max((int64)arg1 - 20); @ulo = min(arg1 + 7); @st[arg1 & 1] = stats(arg1); EXTRA }`, 4},
		{`uprobe:PROG:handle { @h = hist((int64)arg1 * arg1 - 9); @h2[(int8)arg1 - 4] = hist(arg1, 2); @l = lhist(arg1, 2, 6, 2); EXTRA }`, 3},
		{`uprobe:PROG:handle { if (arg1 > 4) { @big = count(); } else if (arg1 == 2) { @two = count(); } else { @rest = count(); } EXTRA } uretprobe:PROG:handle { @r[retval] = count(); EXTRA }`, 4},
		{`uprobe:PROG:handle { @n = count(); @c[arg1 & 1] = count(); EXTRA } end { for ($kv : @c) { printf("%d %d\n", $kv.0, (int64)$kv.1); } print(@n); clear(@n); }`, 2},
		{declared + `uprobe:PROG:handle { $r = (struct req *)arg0; @len = sum($r->len); @type[$r->type] = count(); EXTRA }`, 2},
	} {
		src := strings.ReplaceAll(c.src, "PROG", path)
		atSite := strings.ReplaceAll(src, "EXTRA", "")
		inJalon, m := runScript(t, atSite, Options{Argv: []string{path, "9"}, InJalon: true})
		if m.SiteMaps() != 0 {
			t.Errorf("%s: maps are at the sites", c.src)
		}
		for _, opt := range []Options{{}, {Uprobes: true}} {
			if opt.Uprobes && os.Getuid() != 0 {
				t.Skip("the kernel's uprobes need root")
			}
			opt.Argv = []string{path, "9"}
			got, m := runScript(t, atSite, opt)
			if got != inJalon {
				t.Errorf("%s\nuprobes %v:\n%s\nin jalon:\n%s", c.src, opt.Uprobes, got, inJalon)
			}
			if n := m.SiteMaps(); n != c.maps {
				t.Errorf("%s\n%d maps are at the sites, want %d", c.src, n, c.maps)
			}
		}
		// With records, in the process.
		got, m := runScript(t, strings.ReplaceAll(src, "EXTRA", `printf("");`), Options{Argv: []string{path, "9"}})
		if got != inJalon || m.SiteMaps() != c.maps {
			t.Errorf("%s\nwith records, %d maps at the sites, want %d:\n%s\nin jalon:\n%s", c.src, m.SiteMaps(), c.maps, got, inJalon)
		}
	}
}

// TestDivided runs scripts whose probes are divided: sites in the process and in the kernel change maps of numbers and read them; jalon
// executes the other statements. It compares their output with that of jalon executing all.
func TestDivided(t *testing.T) {
	path := build(t)
	const entry, ret = "uprobe:PROG:handle ", " uretprobe:PROG:handle "
	for _, c := range []struct {
		src         string
		maps        int // of the sites
		notInKernel int
	}{
		{entry + `{ @x = arg1; @last[arg1 & 3] = (int32)arg1 - 4; @n++; @m--; @sum += arg1; @sub -= arg1; @c[arg1 > 4]++; }`, 7, 0},
		{entry + `{ @s[tid] = arg1; }` + ret + `/@s[tid]/ { @d[retval] = count(); @h = hist(@s[tid] * 3); delete(@s[tid]); }`, 3, 0},
		{entry + `{ @s[tid, 7] = arg1; }` + ret + `/@s[tid, 7] > 3/ { printf("%d %d\n", @s[tid, 7], retval); delete(@s[tid, 7]); }`, 1, 0},
		{entry + `{ $old = @s[tid]; @s[tid] = arg1; $new = @s[tid]; printf("%d %d %d\n", $old, $new, @s[tid]); @s[tid] += 10; print(@s[tid]); delete(@s[tid]); print(@s[tid]); }`, 1, 0},
		{entry + `{ if (arg1 > 5) { @b[tid] = arg1; printf("big %d\n", arg1); } else if (arg1 == 3) { @b[tid] = 100; return; } @all[tid] += @b[tid]; @n++; }`, 3, 0},
		{entry + `{ unroll(3) { @n++; @s[tid] += arg1; } for ($i : (uint64)0..(uint64)4) { @c[$i] = count(); @k[$i] += $i * arg1; } }`, 4, 0},
		{entry + `{ $x = arg1 > 3 ? arg1 : 2; if (arg1 & 1) { $x += 7; } @x[$x] = count(); @y[tid] = $x; printf("%d %d\n", $x, @y[tid]); }`, 2, 0},
		{entry + `{ @n = count(); @m[arg1] = count(); }` + ret + `{ @m[retval % (retval - 100)] = count(); }`, 1, 0}, // @m is in jalon
		{entry + `{ @c[arg1 / 4] = count(); @z = sum(arg1 / (arg1 & 1)); }`, 1, 0},                                   // by 0: a warning
		{declared + entry + `{ $r = (struct req *)arg0; @len[$r->type] += $r->len; if ($r->next) { @next[tid] = $r->next->type; } else { delete(@next[tid]); } }` + ret + `{ printf("%d\n", @next[tid]); }`, 2, 0},
		{entry + `/arg1 > 2/ { @t = nsecs; @a[tid] = nsecs; }` + ret + `/@a[tid]/ { $d = nsecs - @a[tid]; @ok[$d < 1000000000] = count(); if (nsecs < @a[tid]) { printf("later\n"); } delete(@a[tid]); } end { clear(@t); }`, 3, 0},
		{entry + `{ @[ustack(2)] = count(); @one[ustack(raw, 1)] = count(); } end { print(len(@)); clear(@); print(len(@one)); clear(@one); }`, 2, 2},
		{entry + `{ @[arg1 == 0, comm] = count(); @n[strftime("%Y", nsecs)] = count(); @m = count(); }`, 2, 0},
		{entry + `{ if (@max < arg1) { @max = arg1; } @n++; }`, 1, 0},                                          // depends on the value before
		{entry + `{ @seen[arg1 & 3]++; if (@seen[arg1 & 3] == 2) { printf("twice %d\n", arg1 & 3); } }`, 1, 0}, // printed from the site's value
		{entry + `{ $i = (uint64)0; while ($i < arg1) { @loop++; $i++; } @n++; }`, 1, 0},                       // passes are not known
		{entry + `{ @n++; @s[tid] = arg1; } end { printf("%d\n", @n); for ($kv : @s) { print($kv.1); } clear(@s); @n = 5; }`, 2, 0},
		{`begin { @n = 5; }` + entry + `{ @n++; @m++; }`, 1, 0},
		{entry + `{ if (arg1 == 4) { exit(); } @ = count(); @n++; }`, 0, 0},
		{entry + `{ if (strncmp(str(((struct req *)arg0)->path), "/path/1", 7) == 0) { @n++; } @m++; } `, 2, 0},
		{entry + `{ if (strcontains(str(((struct req *)arg0)->path), "/1")) { @n++; } @m++; } `, 1, 0},
		{entry + `{ if (arg1 & 1) { @s[tid] = arg1 & 2; } }` + ret + `{ if (has_key(@s, tid)) { printf("%d\n", @s[tid]); delete(@s, tid); } else { @none = count(); } }`, 2, 0},
		{entry + `/arg1 & 1/ { @s[tid] = arg1 & 2; }` + ret + `/has_key(@s, tid)/ { @with = count(); printf("%d %d\n", @s[tid], has_key(@s, tid)); if (@s[tid]) { delete(@s, tid); } }`, 2, 0},
		{entry + `/arg1 & 1/ { @s[tid] = arg1 & 2; }` + ret + `{ $v = (uint64)77; if (find(@s, tid, $v)) { printf("found %d\n", $v); @f[$v] = count(); } else { printf("no %d\n", $v); } delete(@s, tid); }`, 2, 0},
		{entry + `{ @here = (uint64)has_key(@t, "a"); @t["a"] = arg1; print(has_key(@t, "a")); @k[has_key(@t, "b"), arg1 & 3] = count(); }`, 3, 0},
		{entry + `{ @x[arg1] = "text"; @has = has_key(@x, arg1 - 1); @y[arg1 & 1] = arg1; if (has_key(@y, 1)) { @n++; } }`, 2, 0}, // @x and @has are in jalon
		{`let @s = lruhash(8);` + entry + `{ @s[tid] = arg1; }` + ret + `{ print(@s[tid]); delete(@s, tid); }`, 0, 0},
	} {
		if strings.Contains(c.src, "struct req") && !strings.HasPrefix(c.src, declared) {
			c.src = declared + c.src
		}
		src := strings.ReplaceAll(c.src, "PROG", path)
		inJalon, _ := runScript(t, src, Options{Argv: []string{path, "9"}, InJalon: true})
		for _, uprobes := range []bool{false, true} {
			if uprobes && os.Getuid() != 0 {
				t.Skip("the kernel's uprobes need root")
			}
			got, m := runScript(t, src, Options{Argv: []string{path, "9"}, Uprobes: uprobes})
			threads := regexp.MustCompile(`\[[0-9]{2,}`) // the numbers of threads differ
			if a, b := threads.ReplaceAllString(got, "[T"), threads.ReplaceAllString(inJalon, "[T"); a != b || len(a) < 2 {
				t.Errorf("%s\nuprobes %t: %s\nin jalon:\n%s", c.src, uprobes, got, inJalon)
			}
			if n := m.SiteMaps(); n != c.maps && (!uprobes || n != c.maps-c.notInKernel) {
				t.Errorf("%s\nuprobes %t: %d maps are at the sites, want %d", c.src, uprobes, n, c.maps)
			}
		}
	}
	// Pointers in maps lead to what is read at the site.
	src := declared + entry + `{ @p[tid] = ((struct req *)arg0)->path; @r[tid] = (struct req *)arg0; }` +
		ret + `/@r[tid]/ { if (@r[tid]->type == 2) { print((str(@p[tid]), @r[tid]->len, @r[tid]->in.a)); } @len = sum(@r[tid]->len); @by[str(@p[tid], 32)] = count(); delete(@r[tid]); } end { clear(@p); }`
	const want = "(/path/2, 20, -2)\n(/path/0, 60, -6)\n@len: 360\n@by[/path/2]: 3\n@by[/path/0]: 3\n@by[/path/1]: 3\n"
	for _, opt := range []Options{{}, {Uprobes: true}} {
		for _, kind := range []string{"", "let @p = lruhash(64); let @r = hash(4);"} { // maps that are declared are at the sites for pointers only
			opt.Argv = []string{path, "9"}
			if got, m := runScript(t, strings.NewReplacer("PROG", path, declared, declared+kind).Replace(src), opt); sorted(got) != sorted(want) || m.SiteMaps() != 4 {
				t.Errorf("%s uprobes %t: %d maps are at the sites:\n%s\nwant\n%s", kind, opt.Uprobes, m.SiteMaps(), got, want)
			}
		}
	}
}

func sorted(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestSiteMapsOfKernel compares maps that sites in the kernel update with those in jalon, of which each hit is a record.
func TestSiteMapsOfKernel(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracepoints need root")
	}
	path := build(t)
	const enter, exit, end = "tracepoint:syscalls:sys_enter_getppid", "tracepoint:syscalls:sys_exit_getppid", "end { print(@[cpid]); clear(@); }"
	for _, src := range []string{
		enter + " { @[pid] = count(); EXTRA } " + end,
		exit + " { @[pid] = sum(args.ret == 0 ? 1 : 2); EXTRA } " + end,
		"rawtracepoint:sys_enter /pid == cpid/ { @ = hist(args.id & 127, 2); EXTRA }",
		enter + " /pid == cpid/ { @ = lhist(args.__syscall_nr, 0, 200, 10); EXTRA }",
		enter + " /pid == cpid/ { @[uid, tid == pid, args.__syscall_nr] = stats(args.__syscall_nr); EXTRA }",
		enter + " /pid == cpid/ { @[comm] = count(); EXTRA }",
		enter + " /pid == cpid/ { @[kstack] = count(); EXTRA }",
		exit + " /pid == cpid/ { @[args.ret / 1000, args.ret % 7, (args.ret - 5000000) / 1000000, (args.ret - 3) % 2] = count(); EXTRA }",
		"tracepoint:syscalls:sys_*_getppid /pid == cpid/ { @[probe] = count(); EXTRA }",
		"uprobe:PROG:handle { @[probe, func, comm] = count(); EXTRA }",
		"uprobe:PROG:handle { @[comm] = count(); EXTRA } " + enter + " /pid == cpid/ { @[comm] = count(); EXTRA }",
		"uprobe:PROG:handle { @[probe] = count(); EXTRA } " + enter + " /pid == cpid/ { @[probe] = count(); EXTRA }",
		exit + " /pid == cpid/ { @[kstack(raw, 2), tid == pid] = hist(args.ret & 3); EXTRA }",
		"rawtracepoint:sys_enter /pid == cpid && args.id == 110/ { @[comm, kstack(1)] = max(args.id); EXTRA }",
		enter + " /pid == cpid/ { @[pid == 1, comm, args.__syscall_nr == 1 ? 1 : 2] = sum(2); EXTRA }",
		enter + " /pid == cpid/ { @[\"enter\", pid == 1] = count(); EXTRA } " + exit + " /pid == cpid/ { @[\"exit\", args.ret == 0] = count(); EXTRA }",
		"uprobe:PROG:handle { @[\"call\"] = count(); EXTRA } " + enter + " /pid == cpid/ { @[comm] = count(); EXTRA }",
		declared + "uprobe:PROG:handle { $r = (struct req *)arg0; @[str($r->path, 6), $r->type] = count(); EXTRA }",
		declared + "uprobe:PROG:handle { $r = (struct req *)arg0; @[str($r->path, 64)] = sum(arg1); EXTRA }",
		// One map of both engines.
		"uprobe:PROG:handle { @[pid] = count(); EXTRA } " + enter + " { @[pid] = count(); EXTRA } " + end,
		"uprobe:PROG:handle { @ = hist(arg1); EXTRA } " + exit + " /pid == cpid/ { @ = hist(args.ret & 3); EXTRA }",
		"uprobe:PROG:handle { @ = max(arg1); EXTRA } " + enter + " /pid == cpid/ { @ = max(5); EXTRA }",
		"uprobe:PROG:handle { @[pid] = avg(arg1); EXTRA } " + enter + " { @[pid] = avg(1000); EXTRA } " + end,
	} {
		src = strings.ReplaceAll(src, "PROG", path)
		inJalon, m := runScript(t, strings.ReplaceAll(src, "EXTRA", ""), Options{Argv: []string{path, "9"}, InJalon: true})
		if m.SiteMaps() != 0 {
			t.Errorf("%s: the maps with records for each hit are at the sites", src)
		}
		got, m := runScript(t, strings.ReplaceAll(src, "EXTRA", ""), Options{Argv: []string{path, "9"}})
		if got != inJalon || len(got) < 2 {
			t.Errorf("%s\n%s\nin jalon:\n%s", src, got, inJalon)
		}
		if m.SiteMaps() != 1 {
			t.Errorf("%s: the map is not at the sites", src)
		}
	}
}

// TestLostAddUp: what the script got and what is reported as lost, during the run and at its end, are all hits.
func TestLostAddUp(t *testing.T) {
	const hits = 300_000
	path := build(t)
	opt := Options{Argv: []string{path, strconv.Itoa(hits)}}
	opt.JSON = true
	out, _ := runScript(t, "uprobe:"+path+":handle { @n++; $i = 0; while ($i < 5) { $i++; } } end { print(@n); clear(@n); }", opt)
	sum := 0
	for _, re := range []string{`"events": (\d+)`, `"@n": (\d+)`} {
		for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(out, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	if sum != hits {
		t.Errorf("%d events were handled or reported as lost, want %d:\n%s", sum, hits, out)
	}
}

// TestBothEnginesAtOnce: two CPUs update one map, each from a program and from the kernel at once; the sums are exact.
func TestBothEnginesAtOnce(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracepoints need root")
	}
	path := build(t)
	n := 100_000
	if os.Getenv("JALON_FULL") != "" {
		n = 10_000_000
	}
	src := strings.ReplaceAll(`uprobe:PROG:handle { @[arg1 & 3] = count(); @s = sum(arg1); @h = hist(arg1 & 1023); }
		tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[args.__syscall_nr & 3] = count(); @s = sum(1); @h = hist(5); }`, "PROG", path)
	out, m := runScript(t, src, Options{Argv: []string{path, strconv.Itoa(n), "2"}})
	if m.SiteMaps() != 3 {
		t.Fatalf("%d maps are at the sites", m.SiteMaps())
	}
	each := 2 * n / 4
	sum := 2*n*(n-1)/2 + 2*n // the arguments, and the system calls
	want := []string{fmt.Sprintf("@[0]: %d\n@[1]: %d\n@[3]: %d\n@[2]: %d\n", each, each, each, each+2*n), fmt.Sprintf("@s: %d\n", sum)}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%s\nwant %s", out, w)
		}
	}
	total := 0
	for _, m := range regexp.MustCompile(`(?m)^\[.*\) +(\d+) \||^\[\d+\] +(\d+) \|`).FindAllStringSubmatch(out, -1) {
		k, _ := strconv.Atoi(m[1] + m[2])
		total += k
	}
	if total != 4*n {
		t.Errorf("the histogram has %d updates, want %d:\n%s", total, 4*n, out)
	}
}

// TestEndsAtBegin: a script that ends in a begin probe has maps of sites that were never armed; they are empty.
func TestEndsAtBegin(t *testing.T) {
	path := build(t)
	for _, uprobes := range []bool{false, true} {
		if uprobes && os.Getuid() != 0 {
			t.Skip("the kernel's uprobes need root")
		}
		src := "begin { exit(); } uprobe:" + path + ":handle { @[arg1] = count(); @last[tid] = arg1; } end { print(len(@)); print(@last); clear(@last); printf(\"end\\n\"); }"
		if got, m := runScript(t, src, Options{Argv: []string{path, "9"}, Uprobes: uprobes}); !strings.HasPrefix(got, "0\n") || !strings.Contains(got, "end\n") || m.SiteMaps() != 0 {
			t.Errorf("uprobes %v: %d maps: %s", uprobes, m.SiteMaps(), got)
		}
	}
}

// TestRingSize: rings of records with strings are larger, within bounds, unless the script sets their size.
func TestRingSize(t *testing.T) {
	tp, err := tracepoint.New("tracepoint:sched:sched_switch", nil, []lang.Collect{{X: &lang.Call{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		length int
		pages  int64
		want   int
	}{{0, 0, 8 << 20}, {1024, 0, 8 << 20}, {1 << 20, 0, 8 << 20}, {1024, 1, 256 << 10}, {1024, 100, 512 << 10}, {1024, 1 << 40, 256 << 20}} {
		if got := ringSize([]*tracepoint.Tracepoint{tp}, c.length, c.pages); got != c.want {
			t.Errorf("length %d, %d pages: %d, want %d", c.length, c.pages, got, c.want)
		}
	}
	if got := ringSize(nil, 1024, 0); got != leastRing {
		t.Errorf("without tracepoints %d", got)
	}
}
