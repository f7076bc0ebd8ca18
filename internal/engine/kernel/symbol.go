package kernel

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/image"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// kernelHalf is where the kernel's addresses begin on x86-64.
const kernelHalf = 1 << 63

// symbols name addresses of the kernel and of processes.
type symbols struct {
	*base
	facts   *facts
	files   *files
	image   *kernelFile
	strings once[map[uint64]string]
	user    *image.Processes
}

// Symbol names an address of the kernel: "vfs_read+0x10", "" when nothing is known.
func (e *symbols) Symbol(addr uint64) string {
	if addr < kernelHalf {
		return ""
	}
	return e.facts.symbolAt(addr)
}

// Frames names the return addresses of a stack of the kernel or of a program.
func (e *Engine) Frames(ev *event.Event, v *event.Value) []format.Frame {
	var out []format.Frame
	pcs := v.Frames()
	if len(pcs) > 0 && pcs[0] < kernelHalf {
		e.learn(ev, pcs[0])
		pcs = e.user.Plausible(ev.Pid, pcs)
	}
	for i := e.ours(pcs); i < len(pcs); i++ {
		pc := pcs[i]
		if pc >= kernelHalf {
			if i == 0 {
				pc = e.probed(ev, pc)
			}
			out = append(out, e.kernelFrame(pc, i > 0))
			continue
		}
		out = append(out, e.user.Frames(ev.Pid, pc, i > 0)...)
	}
	return out
}

// probed is the address of a kprobe's instruction where pc is what the kernel makes
// of it: the address behind the breakpoint or behind the call of ftrace.
func (e *Engine) probed(ev *event.Event, pc uint64) uint64 {
	const longest = 16 // endbr64 and the call
	if id := int(ev.Schema.SiteID); id < len(e.programs) {
		for p := e.programs[id]; p != nil; p = p.first {
			if at := p.at.v.at; at != 0 && pc-at <= longest {
				return at
			}
		}
	}
	return pc
}

// plumbing are the functions between a tracepoint and a program, by the beginning
// of their names; the program itself, which comes first, may have no symbol.
var plumbing = []string{"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "perf_trace_", "trace_call_bpf", "bpf_trampoline_", "bpf_raw_tp_link"}

// ours is how many frames of a kernel stack are those of tracing itself.
func (e *symbols) ours(frames []uint64) int {
	n := 0
	for i, pc := range frames[:min(len(frames), 8)] {
		name := e.facts.symbolAt(pc)
		tracing := name == "" // a program or trampoline that is newer than the list of symbols
		for _, p := range plumbing {
			tracing = tracing || strings.HasPrefix(name, p)
		}
		if pc < kernelHalf || !tracing {
			break
		}
		n = i + 1
	}
	return n
}

func (e *symbols) kernelFrame(pc uint64, caller bool) format.Frame {
	f := format.Frame{PC: pc}
	at := pc
	if caller {
		at--
	}
	t, err := e.facts.kallsyms()
	if err != nil {
		return f
	}
	s, ok := t.At(at)
	if !ok {
		return f
	}
	f.Function, f.Module, f.Offset = s.Name, s.Module, s.Offset
	if caller {
		f.Offset++
	}
	if e.opt.Vmlinux != "" {
		if img, err := e.image.vmlinux(); err == nil && s.Module == "" {
			_, _, f.File, f.Line, _ = img.m.Symbolize(at - img.slide)
		}
	}
	return f
}

// KernelString is a string of the kernel that its print formats may point to.
func (e *symbols) KernelString(addr uint64) (string, bool) {
	list, err := e.strings.get(func() (map[uint64]string, error) {
		fs, err := e.facts.tracefs()
		if err != nil {
			return nil, err
		}
		return fs.Strings()
	})
	if err != nil {
		return "", false
	}
	text, ok := list[addr]
	return text, ok
}

// KernelSymbol is what contains an address of the kernel.
func (e *symbols) KernelSymbol(addr uint64) (event.KernelSymbol, bool) {
	if addr < kernelHalf {
		return event.KernelSymbol{}, false
	}
	t, err := e.facts.kallsyms()
	if err != nil {
		return event.KernelSymbol{}, false
	}
	at, ok := t.At(addr)
	return event.KernelSymbol{Name: at.Name, Offset: at.Offset, Size: at.Size, Module: at.Module}, ok
}
