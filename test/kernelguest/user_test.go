package kernelguest

import (
	"fmt"
	"testing"
)

// Places in a program for all its processes, with its local variables; and its static markers, whose semaphores
// show the program that they are in use.
func TestGuest_Uprobes(t *testing.T) {
	entry, ret, marker := "uprobe:"+calls+":work", "uretprobe:"+calls+":work", "usdt:"+calls+":demo:marked"
	first, second, marks := work(t, "works", "5"), work(t, "works", "5"), work(t, "markers", "4")
	if marks.once() != '-' {
		t.Error("the semaphore is set before anybody listens")
	}
	tr := start(t, "--all", script(t,
		point{entry, "n > 2", "n, $bt"},
		point{ret, "retval >= 6", "retval"},
		point{marker, "arg0 % 2 == 1", "arg0, str(arg1)"},
	))
	if marks.once() != '+' {
		t.Error("the semaphore is not set")
	}
	first.once()
	second.once()
	o := tr.stop()
	for _, w := range []*worker{first, second} {
		var n, r []int64
		for i := range o.hits {
			if h := &o.hits[i]; h.Pid == w.Pid() {
				switch h.Place {
				case entry:
					n = append(n, h.Num(t, "n"))
				case ret:
					r = append(r, h.Num(t, "retval"))
				}
			}
		}
		same(t, "entries", n, []int64{3, 4})
		same(t, "returns", r, []int64{6, 8})
	}
	same(t, "markers", o.nums(t, marker, "arg0"), []int64{1, 3})
	for _, h := range o.of(marker) {
		if str(&h, "str(arg1)") != "odd" {
			t.Errorf("%v", h.Values)
		}
	}
	if marks.once() != '-' {
		t.Error("the semaphore is still set")
	}
	if o.totals.Recorded != 10 || o.totals.False != 2+2*(3+3) {
		t.Errorf("totals %+v", o.totals)
	}
}

// The same place in one process only, by the kernel's uprobes, and a place of the
// kernel for this process.
func TestGuest_OneProcess(t *testing.T) {
	mine, other := work(t, "works", "4"), work(t, "works", "4")
	place := "uprobe:" + calls + ":work"
	tr := start(t, "--engine=kernel", "-p", fmt.Sprint(mine.Pid()), script(t,
		point{"kprobe:vfs_read", "count == 1", "count, file->f_inode->i_mode"},
		point{place, "", "n"},
	))
	const rounds = 4
	for range rounds {
		other.once()
		mine.once()
	}
	o := tr.stop()
	for i := range o.hits {
		if h := &o.hits[i]; h.Pid != mine.Pid() {
			t.Errorf("event %d: %+v is not of process %d", i, h, mine.Pid())
		}
	}
	var want []int64
	for range rounds {
		want = append(want, 0, 1, 2, 3)
	}
	same(t, "n", o.nums(t, place, "n"), want)
	// The first of them had begun before; the last may come later than the trace's end.
	reads := o.of("kprobe:vfs_read")
	if len(reads) != rounds && len(reads) != rounds-1 {
		t.Errorf("%d reads", len(reads))
	}
	for i := range reads {
		if mode := reads[i].Num(t, "file->f_inode->i_mode"); mode&0o170000 != 0o010000 {
			t.Errorf("read %d is from a file of mode %o, not from a pipe", i, mode)
		}
	}
}
