package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// peers are other tracers on the same workload, if they are installed. Each is used as its manual
// describes; a missing tracer is a row with a reason.
func peers() []*measured {
	return []*measured{
		{name: "LTTng-UST: false condition (on the sum)", run: func(b *bench) ([]float64, error) { return b.lttng("sum < 0") }},
		{name: "LTTng-UST: record", run: func(b *bench) ([]float64, error) { return b.lttng("") }},
		{name: "LTTng-UST: true condition and record", run: func(b *bench) ([]float64, error) { return b.lttng("sum > 0") }},
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

// bpftrace attaches a uprobe to test_function. A hit traps, so fewer calls are enough.
func (b *bench) bpftrace(action string) ([]float64, error) {
	if _, err := exec.LookPath("bpftrace"); err != nil {
		return nil, fmt.Errorf("not installed")
	}
	return times(exec.Command("bpftrace", "-e", "uprobe:"+b.work+":test_function "+action,
		"-c", b.work+" bare 5000 "+strconv.Itoa(b.reps)))
}

// inProcessAgent is gdbserver's library for fast tracepoints.
const inProcessAgent = "/usr/lib/libinproctrace.so"

// gdbserver sets a fast tracepoint on test_function of a -no-pie build (otherwise gdbserver 13 refuses:
// "jump back from jump pad too far"). The agent's buffer holds 5 MiB, so a record is measured in bursts
// that fit.
func (b *bench) gdbserver(cond string) ([]float64, error) {
	for _, p := range []string{"gdb", "gdbserver"} {
		if _, err := exec.LookPath(p); err != nil {
			return nil, fmt.Errorf("%s is not installed", p)
		}
	}
	if _, err := os.Stat(inProcessAgent); err != nil {
		return nil, fmt.Errorf("its in-process agent is not installed")
	}
	prog, err := b.workload("-nopie")
	if err != nil {
		return nil, err
	}
	n := "500000"
	if cond == "" {
		n = "200"
	}
	script := b.work + ".gdb"
	text := fmt.Sprintf(`set pagination off
set confirm off
set sysroot /
target remote | gdbserver --wrapper env LD_PRELOAD=%s -- - %s bare %s %d
break main
continue
ftrace *test_function %s
actions
collect counter1, counter2
end
tstart
continue
`, inProcessAgent, prog, n, b.reps, cond)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	// gdbserver's connection is its standard output, so the program writes to stderr.
	return times(exec.Command("sh", "-c", "exec gdb -batch -x "+script+" "+prog+" 2>&1"))
}
