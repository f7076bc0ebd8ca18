package bpf

import (
	"errors"

	"github.com/cilium/ebpf/asm"
)

// Gate decides which hits of a trace event perf users receive. A program on a trace event runs before perf, on
// every CPU and for every process. If it returns 0 (or any even number: the kernel combines the values of all
// programs with 1, bit by bit), perf gets no hit. So a gate decides for:
//
//   - every perf event on this trace event, of any process and any user, opened
//     before the gate or after it: perf record, perf stat (which counts only what
//     passes), perf trace, perf top;
//   - together with other programs on the same trace event: a hit passes when all
//     of them return 1. They all run, whatever one returns.
//
// It does not touch:
//
//   - ftrace (the files trace, trace_pipe, trace-cmd, histograms, triggers): that
//     is another callback of the tracepoint, with a filter of its own;
//   - raw tracepoint, tp_btf, fentry and kprobe programs;
//   - another trace event with the same tracepoint underneath, such as
//     raw_syscalls:sys_enter beside syscalls:sys_enter_read.
//
// Without a perf user the program runs all the same: the gate's own event keeps
// the tracepoint on.
type Gate struct {
	prog *Loaded
	link *Link
}

// Gate puts a program before the perf users of a trace event. The program gets
// the event's record (Kind Tracepoint) and returns 1 for hits that pass, else 0.
func (k *Kernel) Gate(group, event string, insns asm.Instructions, buffers ...*Buffer) (*Gate, error) {
	t := Target{Kind: Tracepoint, Group: group, Name: event}
	prog, err := k.Load(Program{Name: "jalon_gate", Insns: insns, Kind: Tracepoint, Target: t, Buffers: buffers})
	if err != nil {
		return nil, err
	}
	link, err := prog.Attach(t)
	if err != nil {
		_ = prog.Close()
		return nil, err
	}
	return &Gate{prog, link}, nil
}

// Program is the gate's program, for its statistics.
func (g *Gate) Program() *Loaded { return g.prog }

// Close opens the way for all hits again.
func (g *Gate) Close() error { return errors.Join(g.link.Close(), g.prog.Close()) }
