package kernel

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracesite"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// candidate is one site that a place means, with the ways to reach it, the
// preferred one first.
type candidate struct {
	place    string // the one site in the words of the user's place
	function string // for the schema
	file     string
	line     int
	moved    int // as in event.Schema
	variants []variant
	module   *dwarf.Module // of a place in a program
	vaddr    uint64
	note     string // warning before it is armed
	// behindCheck: see Description.BehindCheck.
	behindCheck uint64
	// tracepoint is the name of a static tracepoint, for the functions that call it.
	tracepoint string
	enable     string // the static tracepoint that must be on for the site to be reached
}

// variant is a way to reach a site: where a program is attached and what names
// mean there.
type variant struct {
	how     string
	target  bpf.Target
	context ebpf.Context
	scope   debuginfo.Scope
	kernel  sema.KernelInput
	bias    uint64 // run-time address = vaddr of scope + bias; of the kernel only
	at      uint64 // run-time address of a kprobe's instruction, 0: not known
	atEntry bool
	exit    func() *sema.Exit // of a return of a program's function; else nil
	lineOf  func(vaddr uint64) (string, int)
	walk    func() (uint64, error) // see Site.FollowBy
	// other is sema.Others.Variable, of a site in one process.
	other func(symbol string, known *debuginfo.Variable) (*debuginfo.Variable, error)
	// event describes the tracepoint's own record, which only this variant has.
	event *tracefs.Event
}

func (e *Host) resolve(p *probe.Place) ([]candidate, error) {
	if p.Kind.Find == nil {
		return nil, probe.Error(p, errors.New("the kernel engine has no such place"))
	}
	f := &finder{e: e}
	if err := p.Kind.Find(f, p); err != nil {
		return nil, probe.Error(p, err)
	}
	if len(f.out) == 0 {
		return nil, probe.Error(p, errors.New("the pattern matches nothing"))
	}
	return f.out, nil
}

// several makes n candidates. Those that cannot be made are left out with a warning, unless
// none is left.
func (e *base) several(p *probe.Place, n int, one func(int) (candidate, error)) ([]candidate, error) {
	var out []candidate
	var first error
	for i := range n {
		if err := e.step("looking at the sites", i, n); err != nil {
			return nil, err
		}
		c, err := one(i)
		if err == nil {
			out = append(out, c)
			continue
		}
		e.logf("%s: skipped: %v", p.Text, err)
		if first == nil {
			first = err
		}
	}
	switch {
	case len(out) == 0:
		return nil, first
	case first != nil:
		e.warn(fmt.Sprintf("%s: %d of %d sites are skipped: %s", p.Text, n-len(out), n, engine.Plain(first)))
	}
	return out, nil
}

// warnMoved reports a line without code, which is traced at another one.
func (e *base) warnMoved(p *probe.Place, sites []probe.Site) {
	if text := probe.Moved(sites); text != "" {
		e.warn(p.Text + ": " + text)
	}
}

// finder is the engine as the descriptors of kinds use it; out is what it found.
type finder struct {
	e   *Host
	out []candidate
}

func (f *finder) found(list []candidate, err error) error {
	f.out = list
	return err
}

func (f *finder) Events(p *probe.Place, system, event string) error {
	return f.found(f.e.events.named(p, system, event))
}

func (f *finder) RawTracepoints(p *probe.Place) error { return f.found(f.e.events.rawTracepoints(p)) }
func (f *finder) Iterators(p *probe.Place) error      { return f.found(f.e.events.iterators(p)) }
func (f *finder) Probes(p *probe.Place) error         { return f.found(f.e.functions.kprobes(p)) }
func (f *finder) ReturnProbes(p *probe.Place) error   { return f.found(f.e.functions.kretprobes(p)) }
func (f *finder) TypedFunctions(p *probe.Place) error { return f.found(f.e.functions.typed(p)) }
func (f *finder) Lines(p *probe.Place) error          { return f.found(f.e.functions.lines(p)) }
func (f *finder) Instructions(p *probe.Place) error   { return f.found(f.e.programs.uprobes(p)) }
func (f *finder) Returns(p *probe.Place) error        { return f.found(f.e.programs.uretprobes(p)) }
func (f *finder) Markers(p *probe.Place) error        { return f.found(f.e.programs.usdts(p)) }
func (f *finder) Timer(p *probe.Place) error          { return f.found(f.e.timers.timer(p)) }
func (f *finder) Counter(p *probe.Place, period uint64) error {
	return f.found(f.e.timers.counter(p, period))
}

// The parts of a Host that find sites.
type (
	events struct {
		*base
		facts *facts
	}
	functions struct {
		*base
		facts    *facts
		programs *programs
	}
	calls struct {
		*base
		facts *facts
		sites once[*tracesite.Sites]
	}
	timers struct {
		*base
		facts *facts
	}
	programs struct {
		*base
		files *files
	}
)

// attachment is how places of a kind with one kind of attachment are attached.
func attachment(p *probe.Place) bpf.Kind {
	k, ok := bpf.KindNamed(p.Kind.Attach)
	if !ok {
		panic("BUG: places " + p.Kind.Form + " are attached as " + p.Kind.Attach)
	}
	return k
}

// maxSites bounds what a pattern may mean.
const maxSites = 10000

func tooMany(p *probe.Place) error {
	return probe.Diagnose(p, fmt.Sprintf("the pattern means more than %d sites", maxSites), "write a narrower one")
}
