package kernel

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Unwind gives the frames of a stack that was recorded: return addresses that the kernel
// has found, or a copy of a program's stack, which is unwound as in the in-process engine.
func (e *Engine) Unwind(ev *event.Event, v *event.Value) []debuginfo.Frame {
	e.user.At(uint64(max(ev.TimeNS, 0)))
	if v.Field.Copied != nil { // followed by tables
		if pcs := v.Frames(); len(pcs) > 0 {
			e.learn(ev, pcs[0])
			e.loader.walks.followed++
			if unwind.End(v.End) == unwind.Unknown {
				e.loader.walks.update(ev.Pid)
			}
			return e.user.Walked(ev.Pid, pcs, unwind.End(v.End))
		}
	}
	if v.Field.Kind != event.Stack {
		return e.frames(ev, v.Frames())
	}
	pc := binary.LittleEndian.Uint64(v.Data[8*slices.Index(host.Processor.Dump, host.Processor.PC):]) // see event.Regs
	if pc == 0 {
		return nil // a thread of the kernel
	}
	e.learn(ev, pc)
	if p := e.site(ev); p != nil && byTables(p.IR) { // its next stacks are followed at the hit
		e.loader.walks.copied++
		e.loader.walks.update(ev.Pid)
	}
	return e.user.Unwind(ev.Pid, v.Data, v.Stack)
}

// Followed reports whether the frames are of a stack that a program has followed by the tables of its process: the engine
// that has those names them.
func (e *Engine) Followed(ev *event.Event, v *event.Value) bool {
	p := e.site(ev)
	return v.Field.Kind == event.UserFrames && p != nil && p.at.v.kernel.Walk
}

// frames names the return addresses of a stack of the kernel or of a program.
func (e *Engine) frames(ev *event.Event, pcs []uint64) []debuginfo.Frame {
	if len(pcs) > 0 && !image.InKernel(pcs[0]) {
		e.learn(ev, pcs[0])
		pcs = e.user.Plausible(ev.Pid, pcs)
	}
	var out []debuginfo.Frame
	for i := e.tracing(pcs); i < len(pcs); i++ {
		pc, caller := pcs[i], i > 0
		if !image.InKernel(pc) {
			out = append(out, e.user.Frames(ev.Pid, pc, caller)...)
			continue
		}
		if !caller {
			pc = e.probed(ev, pc)
		}
		out = append(out, e.facts.kernel.Frames(pc, caller)...)
	}
	return out
}

// site is the program that made a record, nil if it is none of this engine's.
func (e *Engine) site(ev *event.Event) *program {
	if id := int(ev.Schema.SiteID); id < len(e.programs) {
		return e.programs[id]
	}
	return nil
}

// learn takes from a hit of a uprobe where the site's file is mapped, when the process
// is gone and nothing else is known of it. pc is where it was hit.
func (e *Engine) learn(ev *event.Event, pc uint64) {
	p := e.site(ev)
	if p == nil {
		return
	}
	if t := &p.at.v.target; t.Kind == bpf.Uprobe { // at a return pc is the caller's
		e.user.Learn(ev.Pid, t.Path, t.FileOffset, pc)
	}
}

// longestProbe is how far behind a kprobe's address the kernel's value is at most: endbr64 and the call.
const longestProbe = 16

// probed returns the address of a kprobe's instruction. pc is the kernel's value: the address after the
// breakpoint or after the call of ftrace.
func (e *Engine) probed(ev *event.Event, pc uint64) uint64 {
	for p := e.site(ev); p != nil; p = p.first {
		if at := p.at.v.at; at != 0 && pc-at <= longestProbe {
			return at
		}
	}
	return pc
}

// tracers are the functions between a tracepoint and a program, by prefixes of their names; the program
// itself, which is first, may have no symbol.
var tracers = []string{"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "perf_trace_", "trace_call_bpf", "bpf_trampoline_", "bpf_raw_tp_link"}

// maxTracing is how many frames of a stack may be those of tracing.
const maxTracing = 8

// tracing is how many frames of a kernel stack are those of tracing itself.
func (e *symbols) tracing(pcs []uint64) int {
	for i, pc := range pcs[:min(len(pcs), maxTracing)] {
		at, known := e.facts.kernel.At(pc)
		// A program or trampoline that is newer than the list of symbols has none.
		own := !known || slices.ContainsFunc(tracers, func(prefix string) bool { return strings.HasPrefix(at.Name, prefix) })
		if !image.InKernel(pc) || !own {
			return i
		}
	}
	return min(len(pcs), maxTracing)
}
