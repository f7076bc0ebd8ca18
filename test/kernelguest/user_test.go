package kernelguest

import (
	"fmt"
	"testing"
)

// Places in a program for all its processes, with its local variables; and its
// static markers, whose semaphore tells the program that somebody listens.
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
	for marks.once() == '-' {
	}
	first.once()
	second.once()
	for range 2 + 2*(2+2) { // two of the marker, two of each worker's calls and returns
		if _, ok := tr.next(); !ok {
			break
		}
	}
	o := tr.stop()
	for _, w := range []*worker{first, second} {
		var n, r []int64
		for i := range o.hits {
			if h := &o.hits[i]; h.Pid == w.cmd.Process.Pid {
				switch h.Place {
				case entry:
					n = append(n, h.num(t, "n"))
				case ret:
					r = append(r, h.num(t, "retval"))
				}
			}
		}
		same(t, "entries", n, []int64{3, 4})
		same(t, "returns", r, []int64{6, 8})
	}
	same(t, "markers", o.nums(t, marker, "arg0"), []int64{1, 3})
	for _, h := range o.of(marker) {
		if h.text("str(arg1)") != "odd" {
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
	tr := start(t, "--engine=kernel", "-p", fmt.Sprint(mine.cmd.Process.Pid), script(t,
		point{"kprobe:vfs_read", "count == 1", "count, file->f_inode->i_mode"},
		point{place, "", "n"},
	))
	mine.untilSeen(tr)
	for range 3 {
		other.once()
		mine.once()
	}
	o := tr.stop()
	for i := range o.hits {
		if h := &o.hits[i]; h.Pid != mine.cmd.Process.Pid {
			t.Errorf("event %d: %+v is not of process %d", i, h, mine.cmd.Process.Pid)
		}
	}
	// Arming may fall into a round; from the first whole one on all are there. The
	// last read of the pipe may come later than the end of the trace.
	n := o.nums(t, place, "n")
	for len(n) > 0 && n[0] != 0 {
		n = n[1:]
	}
	for i, got := range n {
		if got != int64(i%4) {
			t.Fatalf("n is %v", n)
		}
	}
	reads := o.of("kprobe:vfs_read")
	if len(n) < 4*3 || len(n)%4 != 0 || len(reads) < 3 || len(reads) > len(n)/4+1 {
		t.Errorf("%d calls of work, %d reads", len(n), len(reads))
	}
	for i := range reads {
		if mode := reads[i].num(t, "file->f_inode->i_mode"); mode&0o170000 != 0o010000 {
			t.Errorf("read %d is from a file of mode %o, not from a pipe", i, mode)
		}
	}
}
