package bpf

import (
	"errors"

	"github.com/cilium/ebpf/asm"
)

// Gate decides which hits of a trace event perf users receive. A program on a trace event runs before perf,
// on every CPU and for every process. If it returns 0 (or any even number: the kernel combines the values
// of all programs with 1, bit by bit), perf gets no hit. So a gate affects
//
//   - every perf event on this trace event, of any process and any user, opened before or after the gate:
//     perf record, perf stat (which counts only the hits that pass), perf trace, perf top;
//   - other programs on the same trace event: a hit passes if all of them return 1. All of them run,
//     whatever one returns.
//
// It does not affect
//
//   - ftrace (the files trace, trace_pipe, trace-cmd, histograms, triggers): that is another callback of
//     the tracepoint, with its own filter;
//   - raw tracepoint, tp_btf, fentry and kprobe programs;
//   - another trace event of the same tracepoint, such as raw_syscalls:sys_enter beside
//     syscalls:sys_enter_read.
//
// The program also runs without a perf user, because the gate's own event keeps the tracepoint enabled.
type Gate struct {
	prog *Loaded
	link *Link
}

// Gate attaches a program before the perf users of a trace event. The program receives the event's record
// (Kind Tracepoint) and returns 1 for hits that pass, otherwise 0.
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

// Program returns the gate's program, for its statistics.
func (g *Gate) Program() *Loaded { return g.prog }

// Close removes the gate: all hits pass again.
func (g *Gate) Close() error { return errors.Join(g.link.Close(), g.prog.Close()) }
