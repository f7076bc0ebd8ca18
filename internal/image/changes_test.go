package image

import (
	"os"
	"reflect"
	"testing"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// TestChanges: what a process has mapped is known when it has ended, that of a forked one by its parent, and not what was there
// before an exec.
func TestChanges(t *testing.T) {
	r, add, _, _, _, _ := again(t)
	maps, err := procdir.Maps(r.pid)
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	var code procdir.Mapping
	for _, m := range maps {
		if m.Contains(add) {
			code = m
		}
	}
	const gone, child, old, other, forked, swaps = 1 << 22, 1<<22 + 1, 1<<22 + 2, 1<<22 + 3, 1<<22 + 4, 1<<22 + 5 // beyond the largest process number
	over := code
	over.Path, over.Inode, over.End = "", 0, add
	batches := [][]procdir.Change{{
		{Pid: gone, Exec: true},
		{Pid: gone, Map: code},
		{Pid: child, Parent: gone},
		{Pid: old, Map: code}, // the rest of its code is not known
		{Pid: other, Exec: true},
		{Pid: other, Map: code},
		{Pid: other, Map: over},
	}}
	p := NewProcesses(files(t))
	p.Follow(func(f func(procdir.Change)) {
		for len(batches) > 0 {
			batch := batches[0]
			batches = batches[1:]
			for _, x := range batch {
				f(x)
			}
		}
	})
	name := func(pid int, at uint64) string { return p.Frames(pid, at, false)[0].Function }
	for _, c := range []struct {
		pid  int
		at   uint64
		want string
	}{{gone, add + 1, "add"}, {child, add + 1, "add"}, {old, add + 1, ""}, {other, add + 1, "add"}, {other, add - 1, ""}} {
		if got := name(c.pid, c.at); got != c.want {
			t.Errorf("process %d, add+%d: %q, want %q", c.pid-gone, c.at-add, got, c.want)
		}
	}
	// Another program, and another process with the same number: what was there before is that of events before.
	batches = [][]procdir.Change{{
		{Time: 20, Pid: gone, Exec: true}, {Time: 30, Pid: child, Parent: 1}, {Time: 40, Pid: child, Exec: true}, {Time: 41, Pid: child, Map: code},
	}}
	for _, c := range []struct {
		pid  int
		time uint64
		want string
	}{{gone, 19, "add"}, {gone, 20, ""}, {child, 29, "add"}, {child, 30, ""}, {child, 40, "add"}, {child, 0, "add"}, {gone, 19, "add"}} {
		p.At(c.time)
		if got := name(c.pid, add+1); got != c.want {
			t.Errorf("process %d at %d: %q, want %q", c.pid-gone, c.time, got, c.want)
		}
	}
	// A library in place of one that was unloaded: each has the hits of its time, and so has one in whose place there is nothing.
	batches = [][]procdir.Change{{
		{Time: 60, Pid: swaps, Exec: true}, {Time: 61, Pid: swaps, Map: code}, {Time: 63, Pid: swaps, Map: over},
		{Time: 64, Pid: swaps, Map: code}, {Time: 66, Pid: swaps, Map: over},
	}}
	epochs := map[uint64]bool{}
	for _, c := range []struct {
		time uint64
		want string
	}{{62, "add"}, {63, ""}, {65, "add"}, {67, ""}, {61, "add"}, {66, ""}} {
		p.At(c.time)
		epochs[p.Epoch(swaps)] = true
		if got := name(swaps, add-1); (got == "") != (c.want == "") {
			t.Errorf("at %d: %q, want %q", c.time, got, c.want)
		}
	}
	if len(epochs) != 4 {
		t.Errorf("%d times have names of their own, want 4", len(epochs))
	}
	// A process whose parent was there before.
	batches = [][]procdir.Change{{{Time: 50, Pid: forked, Parent: os.Getpid()}}}
	p.At(51)
	if pc := uint64(reflect.ValueOf(TestChanges).Pointer()); p.at(forked, pc) == nil {
		t.Errorf("no code of the parent at %#x", pc)
	}
	p.At(19)
	if got := p.Plausible(gone, []uint64{add, add + 1, 0x5000}); len(got) != 2 {
		t.Errorf("%#x", got)
	}
	for range maxLogs + 1 {
		p.change(procdir.Change{Pid: os.Getpid() + len(p.order), Exec: true})
	}
	if len(p.logs) != maxLogs || len(p.order) != maxLogs || p.logs[gone] != nil {
		t.Errorf("%d logs of %d", len(p.logs), len(p.order))
	}
}
