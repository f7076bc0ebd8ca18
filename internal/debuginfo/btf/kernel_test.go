package btf

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

func open(t testing.TB) *Kernel {
	t.Helper()
	k, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestRunningKernel(t *testing.T) {
	k := open(t)
	task, err := k.Type(ctype.Struct, "task_struct")
	if err != nil {
		t.Fatal(err)
	}
	if task.Size < 1000 || len(task.Fields()) < 100 {
		t.Errorf("task_struct: %d bytes, %d members", task.Size, len(task.Fields()))
	}
	if off, err := k.MemberOffset("task_struct", "thread.fsbase"); err != nil || off <= 0 || off >= task.Size {
		t.Errorf("task_struct.thread.fsbase: %d, %v", off, err)
	}
	if _, err := k.MemberOffset("task_struct", "comme"); err == nil {
		t.Error("task_struct.comme exists")
	}
	if v, ok := k.EnumValue("PIDTYPE_TGID"); !ok || v != 1 {
		t.Errorf("PIDTYPE_TGID = %d %v", v, ok)
	}
	_, err = k.Type(ctype.Struct, "task_strukt")
	nf, ok := err.(*debuginfo.NotFoundError)
	if !ok || len(nf.Why().Nearest) == 0 || nf.Nearest[0] != "task_struct" {
		t.Errorf("task_strukt: %#v", err)
	}
	s, err := k.TracepointScope("sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range s.Args() {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "preempt prev next prev_state" {
		t.Errorf("sched_switch: %s", got)
	}
	for _, n := range []string{"prev", "args", "curtask", "runqueues"} {
		if _, err := s.Lookup(n); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	f, err := k.Func("vfs_read", "")
	if err != nil || len(f.Params) != 4 || f.Params[0].Name != "file" || f.Params[3].Name != "pos" || f.ID == 0 {
		t.Errorf("vfs_read: %+v, %v", f, err)
	}
	if f, err = k.Func("bpf_rdonly_cast", ""); err != nil || f.ID == 0 {
		t.Errorf("bpf_rdonly_cast: %+v, %v", f, err)
	}
}

// TestCost logs what the kernel's BTF costs; nothing is asserted.
func TestCost(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 10
	}
	before, start := heap(), time.Now()
	var k *Kernel
	step := func(what string, f func()) {
		from := time.Now()
		f()
		took := time.Since(from)
		t.Logf("%-32s %8.2f ms, heap %6d KiB", what, float64(took.Microseconds())/1000, heap()-before)
	}
	step("open", func() { k = open(t) })
	step("struct task_struct", func() { _, _ = k.Type(ctype.Struct, "task_struct") })
	step("sched_switch", func() { _, _ = k.TracepointScope("sched_switch") })
	step("vfs_read", func() { k.EntryScope("vfs_read", "") })
	step("names (enumerators, per-CPU)", func() { k.EnumValue("PIDTYPE_TGID") })
	step("a missing type", func() { _, _ = k.Type(ctype.Typedef, "nothing_like_it") })
	step("symbols", func() { _, _ = k.Symbols() })
	t.Logf("all %v", time.Since(start))
	runtime.KeepAlive(k)
}

func TestNoBTF(t *testing.T) {
	if _, err := Parse(nil, nil); err == nil {
		t.Error("no error without BTF")
	}
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(b[:100], nil); err == nil {
		t.Error("no error for a file without BTF")
	}
}

// TestEveryFunction makes the scope of every kernel function at its entry and return.
func TestEveryFunction(t *testing.T) {
	k := open(t)
	names, err := k.Functions("*")
	if err != nil || len(names) < 10000 {
		t.Fatalf("%d functions, %v", len(names), err)
	}
	places, lost, trampolines := 0, map[string]int{}, 0
	for _, n := range names {
		f, err := k.Func(n, "vmlinux")
		if err != nil {
			t.Error(err)
			continue
		}
		for i, l := range entryPlaces(f.Params, f.Result) {
			if len(l.Pieces) == 0 {
				lost[l.Unavailable]++
			} else if f.Params[i].Name != "" {
				places++
			}
		}
		if trampolined(f) == "" {
			trampolines++
		}
	}
	t.Logf("%d functions, %d of them for trampolines, %d parameters with a place, without: %v", len(names), trampolines, places, lost)
	if places < len(names) {
		t.Errorf("only %d parameters of %d functions have a place", places, len(names))
	}
}

// TestConcurrent uses the same types from several goroutines, which load members while others convert types.
func TestConcurrent(t *testing.T) {
	k := open(t)
	var wg sync.WaitGroup
	sums := make([]int, 4)
	for i := range sums {
		wg.Go(func() {
			for _, name := range []string{"task_struct", "file", "inode", "super_block", "sk_buff", "net_device", "request_queue"} {
				c, err := k.Type(ctype.Struct, name)
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range c.Fields() {
					for s := f.Type.Strip(); s != nil; s = s.Elem {
						sums[i] += 1 + len(s.Fields()) + len(s.Enumerators())
					}
				}
				_, _, _ = k.Enumerator("PIDTYPE_TGID")
			}
		})
	}
	wg.Wait()
	for _, n := range sums {
		if n != sums[0] || n < 1000 {
			t.Errorf("the goroutines saw %v members", sums)
		}
	}
}

// TestPerCPUSymbols holds the places of per-CPU variables against their symbols.
func TestPerCPUSymbols(t *testing.T) {
	k := open(t)
	syms, err := k.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	if len(syms.Lookup("__per_cpu_start")) == 0 {
		t.Skip("this kernel was built without CONFIG_KALLSYMS_ALL: its variables have no symbols")
	}
	x, err := k.base.open()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name := range x.PerCPUs() {
		list := syms.Lookup(name)
		if len(list) != 1 || list[0].Module != "" {
			continue
		}
		n++
		v, err := k.GlobalScope().Lookup(name)
		if err != nil || len(v.Loc.Pieces) != 1 || uint64(v.Loc.Pieces[0].Expr[0].Arg) != list[0].Addr {
			t.Errorf("%s: %+v, %v; its symbol is %#x", name, v, err, list[0].Addr)
		}
	}
	if n < 100 {
		t.Errorf("only %d variables have symbols", n)
	}
	t.Logf("%d per-CPU variables", n)
}
