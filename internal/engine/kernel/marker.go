package kernel

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Marker is a static tracepoint of the kernel as one address.
type Marker struct {
	Name   tracefs.Name
	Number int // the event's, in tracefs
	// Addr is that of the function that calls the tracepoint's probes,
	// __traceiter_EVENT, where there is one; else MarkerBase and 16 times the number.
	Addr uint64
	// Params are the raw arguments, which are the parameters of that function after its first. Nil: the
	// tracepoint has only its record.
	Params []btf.Param
}

// MarkerBase begins the addresses of static tracepoints that no function of their
// own calls (the events of system calls, and those that users define). No memory
// can be there: on every x86-64 they are non-canonical.
const MarkerBase = 1 << 63

// iterator is the beginning of the names of the functions that call probes.
const iterator = "__traceiter_"

// markers are the static tracepoints of the kernel.
type markers struct {
	*base
	facts *facts
	list  once[[]Marker]
}

// Markers lists all static tracepoints that tracefs has, sorted by name. Each has an
// address of its own.
func (e *markers) Markers() ([]Marker, error) { return e.list.get(e.listMarkers) }

func (e *markers) listMarkers() ([]Marker, error) {
	fs, err := e.facts.tracefs()
	if err != nil {
		return nil, err
	}
	names, err := fs.Match("*", "*")
	if err != nil {
		return nil, err
	}
	probes := definedProbes(fs)
	list := make([]Marker, 0, len(names))
	for _, n := range names {
		if probes[n.String()] {
			continue
		}
		if number, err := eventNumber(fs, n); err == nil { // it may have gone: a module's, a user's
			list = append(list, Marker{Name: n, Number: number})
		}
	}
	// Events that users define may have the name of one of the kernel's own, which
	// were there before.
	slices.SortFunc(list, func(a, b Marker) int { return cmp.Compare(a.Number, b.Number) })
	taken := map[uint64]bool{}
	for i := range list {
		e.place(&list[i], taken)
	}
	slices.SortFunc(list, func(a, b Marker) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return list, nil
}

// definedProbes are the events, SYSTEM:EVENT, defined by kprobe_events or uprobe_events in tracefs. At their
// hits programs get the registers and no record.
func definedProbes(fs *tracefs.FS) map[string]bool {
	probes := map[string]bool{}
	for _, file := range []string{"kprobe_events", "uprobe_events"} {
		b, _ := os.ReadFile(filepath.Join(fs.Root(), file)) // kernels may lack either
		for line := range strings.Lines(string(b)) {        // p:SYSTEM/EVENT PLACE ...
			_, name, _ := strings.Cut(line, ":")
			name, _, _ = strings.Cut(name, " ")
			probes[strings.Replace(name, "/", ":", 1)] = true
		}
	}
	return probes
}

func eventNumber(fs *tracefs.FS, n tracefs.Name) (int, error) {
	text, err := os.ReadFile(filepath.Join(fs.Root(), "events", n.System, n.Event, "id"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// place gives a marker its address and arguments.
func (e *markers) place(m *Marker, taken map[uint64]bool) {
	m.Addr = MarkerBase + 16*uint64(m.Number)
	addr, ok := e.facts.kernel.Address(iterator + m.Name.Event)
	if !ok || taken[addr] {
		return
	}
	b, err := e.facts.btf()
	if err != nil {
		return
	}
	tp, err := b.Tracepoint(m.Name.Event)
	if err != nil {
		return
	}
	taken[addr] = true
	m.Addr, m.Params = addr, tp.Params
	if m.Params == nil {
		m.Params = []btf.Param{}
	}
}

// Format is the format of a static tracepoint's own record.
func (e *markers) Format(m *Marker) (*tracefs.Event, error) {
	fs, err := e.facts.tracefs()
	if err != nil {
		return nil, err
	}
	return fs.Event(m.Name.System, m.Name.Event)
}

// OwnRecord describes the record that the kernel makes of a static tracepoint.
func (e *markers) OwnRecord(m *Marker) (*sema.SData, error) {
	ev, err := e.Format(m)
	if err != nil {
		return nil, err
	}
	return e.facts.sdata(ev), nil
}
