package dwarf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// vmlinux is the kernel image with debug information that JALON_VMLINUX names;
// it is too large to be part of the ordinary tests.
func vmlinux(t testing.TB) string {
	t.Helper()
	p := os.Getenv("JALON_VMLINUX")
	if p == "" {
		t.Skip("JALON_VMLINUX does not name a kernel image with debug information")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return p
}

// TestVmlinuxSites compares places with GDB's breakpoints: a sample of all
// functions, and lines of a few files.
func TestVmlinuxSites(t *testing.T) {
	prog := vmlinux(t)
	m := open(t, prog)
	places := []string{"vfs_read", "__schedule", "trace_sched_switch", "tcp_sendmsg", "fs/read_write.c:471", "no_such_function"}
	seen := map[string]bool{}
	for i, s := range m.allFuncSymbols(nil) {
		if n := s.Name; i%599 == 0 && s.Func && !strings.ContainsAny(n, ".$") && !seen[n] {
			seen[n] = true
			places = append(places, n)
		}
	}
	for _, f := range []string{"fs/open.c", "kernel/sched/core.c", "mm/mmap.c", "net/ipv4/tcp.c", "init/main.c"} {
		for i, l := range m.Lines(f) {
			if i%97 == 0 {
				places = append(places, f+":"+strconv.Itoa(l))
			}
		}
	}
	want := gdbBreaks(t, prog, places)
	n, differ := 0, 0
	for _, p := range places {
		var got []Site
		var err error
		if file, line, ok := strings.Cut(p, ":"); ok {
			l, _ := strconv.Atoi(line)
			got, err = m.LineSites(file, l)
		} else {
			got, err = m.FuncSites(p)
		}
		var nf *debuginfo.NotFoundError
		if err != nil && !errors.As(err, &nf) {
			t.Errorf("%s: %v", p, err)
		}
		n += len(got)
		if !slices.Equal(addrs(got), want[p]) {
			differ++
			t.Errorf("%s: got %#x, GDB has %#x", p, addrs(got), want[p])
		}
	}
	t.Logf("%d places, %d sites, %d differ", len(places), n, differ)
	if n < 100 {
		t.Errorf("only %d sites compared", n)
	}
}

// TestVmlinuxTypes compares sizes and offsets with GDB's.
func TestVmlinuxTypes(t *testing.T) {
	prog := vmlinux(t)
	m := open(t, prog)
	names := []string{"task_struct", "file", "sk_buff", "mm_struct", "rq", "page", "inode", "tcp_sock"}
	script := filepath.Join(t.TempDir(), "types.py")
	body := "import gdb\nfor n in '" + strings.Join(names, " ") + "'.split():\n" +
		"  t = gdb.lookup_type('struct ' + n)\n  print('T', n, t.sizeof)\n" +
		"  for f in t.fields():\n    print('F', n, f.name or '', f.bitpos, f.bitsize, f.type.sizeof)\n"
	if err := os.WriteFile(script, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, l := range strings.Split(gdb(t, prog, "source "+script), "\n") {
		if strings.HasPrefix(l, "T ") || strings.HasPrefix(l, "F ") {
			want = append(want, l)
		}
	}
	f, err := m.FuncEntry("tcp_sendmsg") // a unit that has all of them
	if err != nil {
		t.Fatal(err)
	}
	sc, err := m.ScopeForSite(f[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		typ, err := sc.Type(ctype.Struct, n)
		if err != nil {
			t.Error(err)
			continue
		}
		got = append(got, fmt.Sprintf("T %s %d", n, typ.Size))
		for _, f := range typ.Fields() {
			got = append(got, fmt.Sprintf("F %s %s %d %d %d", n, f.Name, f.BitOffset, f.BitSize, max(0, f.Type.Size)))
		}
	}
	differ := 0
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			if differ++; differ < 20 {
				t.Errorf("%q, GDB has %q", g, w)
			}
		}
	}
	t.Logf("%d lines compared, %d differ", len(want), differ)
	if len(want) < 500 {
		t.Errorf("GDB described only %d fields", len(want))
	}
}

// TestVmlinuxGlobals finds variables of the kernel's own sorts: those of the
// linker, those of each CPU.
func TestVmlinuxGlobals(t *testing.T) {
	m := open(t, vmlinux(t))
	sites, err := m.LineSites("fs/read_write.c", 471)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := m.ScopeForSite(sites[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		kind debuginfo.VarKind
		code debuginfo.OpCode
	}{
		"jiffies":           {debuginfo.Global, debuginfo.OpAddr},
		"init_task":         {debuginfo.Global, debuginfo.OpAddr},
		"runqueues":         {debuginfo.PerCPU, debuginfo.OpConst},
		"current_task":      {debuginfo.PerCPU, debuginfo.OpConst},
		"sysctl_sched_base": {},
	} {
		v, err := sc.Lookup(name)
		if want.code == 0 {
			if err == nil {
				t.Errorf("%s is found: %+v", name, v)
			}
			continue
		}
		if err != nil || v.Kind != want.kind || len(v.Loc.Pieces) != 1 || v.Loc.Pieces[0].Expr[0].Code != want.code {
			t.Errorf("%s: %+v %v", name, v, err)
			continue
		}
		if s := m.Lookup(name); len(s) != 1 || int64(s[0].Value) != v.Loc.Pieces[0].Expr[0].Arg {
			t.Errorf("%s is at %#x, symbols %+v", name, v.Loc.Pieces[0].Expr[0].Arg, s)
		}
	}
}

// TestVmlinuxMeasure prints the cost of the first look-ups with and without a kept index. Peak memory is
// that of the whole run so far: run it alone.
func TestVmlinuxMeasure(t *testing.T) {
	prog, dir := vmlinux(t), t.TempDir()
	for _, round := range []string{"cold", "warm"} {
		begin := time.Now()
		last, used := begin, processorTime()
		step := func(what string) {
			now := time.Now()
			cpu := processorTime()
			t.Logf("%s %-12s %8.1f ms, %8.1f in all; processor time %8.1f ms; %s", round, what, ms(now.Sub(last)), ms(now.Sub(begin)), ms(cpu-used), memory())
			last, used = now, cpu
		}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		m, err := Open(prog, Options{CacheDir: dir})
		check(err)
		step("open")
		sites, err := m.LineSites("fs/read_write.c", 471)
		check(err)
		step("line")
		sc, err := m.ScopeForSite(sites[0])
		check(err)
		step("scope")
		_, err = sc.Lookup("ret")
		check(err)
		step("local")
		_, err = sc.Lookup("init_task")
		check(err)
		step("global")
		typ, err := sc.Type(ctype.Struct, "task_struct")
		check(err)
		if len(typ.Fields()) < 100 {
			t.Error(len(typ.Fields()))
		}
		step("type")
		_, err = m.FuncSites("tcp_sendmsg")
		check(err)
		step("function")
		if n, _, _, _, _ := m.Symbolize(sites[0].Addr + 5); n != "vfs_read" {
			t.Error(n)
		}
		step("symbolize")
		if m.idxRead != (round == "warm") {
			t.Errorf("%s: the index was read: %v", round, m.idxRead)
		}
		m.Close()
	}
}

// TestVmlinuxLarge prints the cost of the largest requests, each on a newly opened image with a kept index.
// Peak memory is counted separately for each.
func TestVmlinuxLarge(t *testing.T) {
	path, dir := vmlinux(t), t.TempDir()
	for _, q := range []struct {
		what string
		ask  func(m *Module) (int, error)
	}{
		{"a function", func(m *Module) (int, error) { s, err := m.FuncSites("vfs_read"); return len(s), err }},
		{"line of a header", func(m *Module) (int, error) {
			s, err := m.LineSites("arch/x86/include/asm/current.h", 15)
			return len(s), err
		}},
		{"function inlined everywhere", func(m *Module) (int, error) { s, err := m.FuncSites("get_current"); return len(s), err }},
		{"names like no_such_function", func(m *Module) (int, error) {
			_, err := m.FuncSites("no_such_function")
			var nf *debuginfo.NotFoundError
			if !errors.As(err, &nf) {
				return 0, err
			}
			return 1 + len(nf.Nearest), nil
		}},
		{"functions vfs_*", func(m *Module) (int, error) { return len(m.Functions("vfs_*")), nil }},
		{"all functions", func(m *Module) (int, error) { return len(m.Functions("*")), nil }},
	} {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			t.Log("peak memory is not counted anew:", err)
		}
		m, err := Open(path, Options{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		begin, used := time.Now(), processorTime()
		n, err := q.ask(m)
		if err != nil || n == 0 {
			t.Errorf("%s: %d, %v", q.what, n, err)
		}
		t.Logf("%-28s %6d found, %8.1f ms, processor time %8.1f ms; %s", q.what, n, ms(time.Since(begin)), ms(processorTime()-used), memory())
		m.Close()
	}
}

// processorTime is what this process has used, in all threads.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// memory is the process's own account of its memory.
func memory() string {
	b, _ := os.ReadFile("/proc/self/status")
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmHWM") || strings.HasPrefix(l, "RssAnon") {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, ", ")
}
