package main

import (
	"fmt"
	"os/exec"
	"strconv"
)

// peers are other tracers on the same workload, where they are installed.
// Each is used as its own manual says; a missing one is a row with a reason.
func peers() []*measured {
	return []*measured{
		{name: "bpftrace uprobe: false condition", run: func(b *bench) ([]float64, error) {
			return b.bpftrace("/2*(int32)arg0+3*(int32)arg1 < 0/ { @n = count(); }")
		}},
		{name: "bpftrace uprobe: record (map store)", run: func(b *bench) ([]float64, error) {
			return b.bpftrace("{ @s = 2*(int32)arg0+3*(int32)arg1; }")
		}},
		{name: "gdbserver fast tracepoint: false condition", run: func(b *bench) ([]float64, error) {
			return b.gdbserver("if " + falseCond)
		}},
		{name: "gdbserver fast tracepoint: record", run: func(b *bench) ([]float64, error) {
			return b.gdbserver("")
		}},
	}
}

// bpftrace attaches a uprobe to test_function. A hit traps: fewer calls do.
func (b *bench) bpftrace(action string) ([]float64, error) {
	if _, err := exec.LookPath("bpftrace"); err != nil {
		return nil, fmt.Errorf("not installed")
	}
	return times(exec.Command("bpftrace", "-e", "uprobe:"+b.work+":test_function "+action,
		"-c", b.work+" bare 5000 "+strconv.Itoa(b.reps)))
}
