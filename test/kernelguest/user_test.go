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

// The same place in one process only, by the kernel's uprobes.
func TestGuest_UprobeOfOneProcess(t *testing.T) {
	mine, other := work(t, "works", "4"), work(t, "works", "4")
	place := "uprobe:" + calls + ":work"
	tr := start(t, place, "--engine=kernel", "-p", fmt.Sprint(mine.cmd.Process.Pid), "-c", "n")
	for {
		other.once()
		mine.once()
		if h, ok := tr.tryNext(); ok {
			if h.num(t, "n") != 0 {
				t.Errorf("the first event is %+v", h)
			}
			break
		}
	}
	mine.once()
	other.once()
	o := tr.stop()
	for i := range o.hits {
		if h := &o.hits[i]; h.Pid != mine.cmd.Process.Pid || h.num(t, "n") != int64(i%4) {
			t.Errorf("event %d: %+v", i, h)
		}
	}
	if len(o.hits) != 8 {
		t.Errorf("%d events of two rounds of 4", len(o.hits))
	}
}
