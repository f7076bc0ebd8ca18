package kernel

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Site is what a place means, once: an event, an instruction, a timer. It implements
// engine.Site. A static tracepoint has several points where programs can be attached;
// what a tracepoint names decides.
type Site struct {
	h *Host
	candidate
}

// Point is an attach point: where a program is attached and what its context is. It
// implements engine.Site.
type Point struct {
	reached string // how the kernel came to a kprobe; "" before the end, or where it is not known
	v       *variant
	// enable is the static tracepoint that must be on for the point to be reached.
	enable string
}

func (p *Point) String() string { return p.v.how }

// Addr implements engine.Site.
func (p *Point) Addr() uint64 { return p.v.at }

// Parts implements engine.Site; programs for a bare point are not made of C.
func (p *Point) Parts(*tracepoint.Tracepoint) ([]engine.Part, error) {
	panic("BUG: an attach point has no names")
}

// Warning implements engine.Site.
func (p *Point) Warning() string { return "" }

// Instruction is the instruction at an address of the kernel, by a kprobe; the
// context is struct pt_regs.
func Instruction(addr uint64) *Point {
	return &Point{v: &variant{how: "kprobe", at: addr, target: bpf.Target{Kind: bpf.Kprobe, Addr: addr}, context: ebpf.Regs}}
}

// Arguments is a static tracepoint by its raw arguments, each a word of the context.
func (m *Marker) Arguments() *Point {
	return &Point{v: &variant{how: "raw tracepoint", target: bpf.Target{Kind: bpf.RawTracepoint, Name: m.Name.Event}, context: ebpf.Args}}
}

// Record is a static tracepoint by the record that the kernel makes of it, which is
// the context.
func (m *Marker) Record() *Point {
	return &Point{v: &variant{how: "tracepoint", target: bpf.Target{Kind: bpf.Tracepoint, Group: m.Name.System, Name: m.Name.Event}, context: ebpf.Record}}
}

// Resolve implements engine.Engine.
func (e *Host) Resolve(p *probe.Place) ([]engine.Site, error) {
	list, err := e.resolve(p)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Site, len(list))
	for i := range list {
		out[i] = &Site{h: e, candidate: list[i]}
	}
	return out, nil
}

// UserSite is an instruction of a file that the caller has found, in one process. The
// caller keeps m; path is the one that the kernel gets.
func (e *Host) UserSite(p *probe.Place, m *dwarf.Module, path string, at probe.Site, exit *sema.Exit, pid int) (*Site, error) {
	scope, err := m.ScopeForSite(at)
	if err != nil {
		return nil, err
	}
	c, err := e.programs.userCandidate(p, m, path, at, scope)
	if err != nil {
		return nil, err
	}
	c.place = p.Text
	c.variants[0].target.Pid, c.variants[0].exit = pid, func() *sema.Exit { return exit }
	return &Site{h: e, candidate: c}, nil
}

// FollowBy makes programs for the site follow the process's stack by the area at an address (package unwind), if area is not
// nil: it is called when one does.
func (s *Site) FollowBy(area func() (uint64, error)) {
	v := &s.variants[0]
	v.kernel.Walk, v.walk = area != nil, area
}

// LookIn sets how variables of other modules of the site's process are found.
func (s *Site) LookIn(other func(symbol string, known *debuginfo.Variable) (*debuginfo.Variable, error)) {
	s.variants[0].other = other
}

// Addr implements engine.Site.
func (s *Site) Addr() uint64 { return s.variants[0].at }

// Warning implements engine.Site.
func (s *Site) Warning() string { return "" }

// String is the site in the words of the user's place.
func (s *Site) String() string { return s.place }

// Parts implements engine.Site: nearly always one program. A static tracepoint with a condition on its raw
// arguments and a collected record has two: the first decides on the raw arguments and passes a word to the
// second, which has the record. The kernel calls both on one CPU, one directly after the other.
func (s *Site) Parts(tp *tracepoint.Tracepoint) ([]engine.Part, error) {
	w := s.h.way(tp, &s.candidate)
	if w.decider != nil {
		return []engine.Part{s.part(tp, w.decider, decides), s.part(tp, w.v, records)}, nil
	}
	return []engine.Part{s.part(tp, w.v, whole)}, nil
}

func (s *Site) part(tp *tracepoint.Tracepoint, v *variant, r role) engine.Part {
	part := engine.Part{Site: &Point{v: v, enable: s.enable}, Input: s.h.input(tp, &s.candidate, v, r), Moved: s.moved, Decides: r == decides}
	if list := tp.OwnList(); r == whole && len(part.Input.Collect) == 0 && list != nil && v.scope != nil && v.scope.HasDebugInfo() {
		part.Input.Collect, part.Input.Own = list, true
	}
	return part
}

// Instead implements engine.Replaceable: if a tracepoint names variables that only the
// callers of a static tracepoint have, it is put at the calls. why is the error of the
// static tracepoint itself.
func (s *Site) Instead(tp *tracepoint.Tracepoint, why error, compile func(engine.Site) (*engine.Program, error)) ([]*engine.Program, error) {
	missing := s.h.way(tp, &s.candidate).missing
	variables := areVariables(missing)
	if s.tracepoint == "" || len(missing) == 0 || !variables && s.h.opt.Vmlinux == "" {
		return nil, why
	}
	calls, err := s.h.calls.of(&s.candidate)
	if err != nil {
		if variables {
			why = hinted(why, err.Error())
		}
		return nil, why
	}
	return s.callers(tp, calls, missing, why, compile)
}

// callers compiles a tracepoint at the calls that have its names. missing are the names that the static
// tracepoint itself does not have.
func (s *Site) callers(tp *tracepoint.Tracepoint, calls []candidate, missing []sema.Name, why error, compile func(engine.Site) (*engine.Program, error)) ([]*engine.Program, error) {
	var out []*engine.Program
	var first error
	unknown := false // one of missing is, to the call that first is about
	for i := range calls {
		calls[i].enable = s.tracepoint
		p, err := compile(&Site{h: s.h, candidate: calls[i]})
		if err == nil {
			out = append(out, p)
			continue
		}
		if first == nil {
			first = err
			unknown = sema.HasAny(s.h.way(tp, &calls[i]).missing, missing)
		}
		s.h.logf("%s in %s: skipped: %v", s.place, calls[i].function, engine.Plain(err))
	}
	switch left := len(calls) - len(out); {
	case len(out) == 0 && unknown:
		return nil, hinted(why, "nor does "+functionsOf(calls)+" have it, from where the tracepoint is called")
	case len(out) == 0:
		return nil, hinted(first, "the place is the call of the tracepoint in "+functionsOf(calls)+", for the sake of the variables there")
	case left > 0:
		s.h.warn(fmt.Sprintf("%s: %d of %d calls of the tracepoint are skipped: %s", tp.Place.Text, left, len(calls), engine.Plain(first)))
	}
	return out, nil
}
