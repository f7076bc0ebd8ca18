// Package tracesite finds the places in a kernel's code that call a static tracepoint. A probe there can read
// the variables of the calling function. trace_EVENT() compiles to a static branch: a nop in the function,
// which the kernel turns into a jump while the event has listeners, and out-of-line code that calls the
// listeners. The kernel's __jump_table lists all such branches: the nop, the jump's target, and the key that
// enables it. For a tracepoint the key is a member of its struct tracepoint (symbol __tracepoint_EVENT). A
// probe must be at the target and not at the nop, which the kernel rewrites. It is then hit just before the
// event is recorded, while the registers still have the function's values. Without that table (in an image
// without sections) the same places are found by disassembly around calls of the listeners.
//
// Import rule: tracesite imports arch/host, debuginfo/elf and patch only.
package tracesite

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/patch"
)

// Site is one call of a tracepoint in the kernel's code. Addresses are link-time vaddrs; the caller adds the
// KASLR offset.
type Site struct {
	Event string // the tracepoint's name, without its system: "sched_switch"
	// Nop is the static branch, NopLen its length, 2 or 5. Both are 0 if the site was found by disassembly.
	Nop    uint64
	NopLen int
	// Branch is the start of the enabled branch: the place for a probe. A TP_CONDITION is evaluated after it,
	// before the listeners are called.
	Branch uint64
	// Call is the call of the listeners in the branch; the kernel rewrites that too and allows no probe there.
	// It is 0 if the branch leads to no call. Then it is a trace_EVENT_enabled() test; the event may or may not
	// follow, perhaps in another function.
	Call uint64
	// Function is the symbol that contains the call. The branch itself may be in Function.cold.
	Function string
	Entry    uint64 // of Function
	// NoProbe is the reason why the kernel refuses a probe at Branch, or "".
	NoProbe string
}

// Enabled distinguishes a test whether the event is enabled from a call.
func (s Site) Enabled() bool { return s.Call == 0 }

// Inlined has the inline functions that contain the branch's code. The function around them calls the
// tracepoint (dwarf.Module.ScopeAround).
func (s Site) Inlined() []string {
	return []string{"trace_" + s.Event, "trace_" + s.Event + "_rcuidle"}
}

// Sites are all call sites of an image, by event and address.
type Sites struct {
	List []Site
	// ByCode means that the image has no jump table and the sites were found by disassembly.
	ByCode bool
}

// Of returns the sites that call the event, one for each Branch, because several nops may lead to the same
// code. It omits trace_EVENT_enabled() tests.
func (s *Sites) Of(event string) []Site {
	i := sort.Search(len(s.List), func(i int) bool { return s.List[i].Event >= event })
	var out []Site
	for ; i < len(s.List) && s.List[i].Event == event; i++ {
		if x := s.List[i]; !x.Enabled() && (len(out) == 0 || out[len(out)-1].Branch != x.Branch) {
			out = append(out, x)
		}
	}
	return out
}

// ErrNoTracepoints means that the image has no symbols of tracepoints.
var ErrNoTracepoints = errors.New("no symbols __tracepoint_*: not a kernel image, or stripped")

// Find lists the call sites of every tracepoint in a kernel image.
func Find(f *elf.File) (sites *Sites, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if fault, ok := r.(runtime.Error); ok { // the mapped file was truncated
			err = fmt.Errorf("looking for tracepoints in %s: %w", f.Path, fault)
		} else if r != nil {
			panic(r)
		}
	}()
	if !host.Processor.CanDecode {
		return nil, fmt.Errorf("looking for tracepoints in %s: instructions of %s are not decoded", f.Path, host.Processor.Title)
	}
	k := newKernel(f)
	if len(k.events) == 0 {
		return nil, fmt.Errorf("looking for tracepoints in %s: %w", f.Path, ErrNoTracepoints)
	}
	sites = &Sites{}
	if table := k.table(); table != nil {
		sites.List = k.fromTable(table)
	} else {
		sites.ByCode = true
		sites.List = k.fromCode()
	}
	slices.SortFunc(sites.List, func(a, b Site) int {
		if c := strings.Compare(a.Event, b.Event); c != 0 {
			return c
		}
		return compare(a.Branch, b.Branch)
	})
	return sites, nil
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// event is one struct tracepoint.
type event struct {
	name   string
	lo, hi uint64
}

// kernel is the information from an image's symbols.
type kernel struct {
	f         *elf.File
	events    []event           // by lo
	listeners map[uint64]string // functions that call the listeners -> event
	start     uint64            // of the jump table
	stop      uint64
	nops      map[uint64]bool // all static branches, with any key
	never     []noProbe
}

// noProbe is a range of code where the kernel allows no probes.
type noProbe struct {
	lo, hi uint64
	why    string
}

// The prefixes of a tracepoint's symbols.
const (
	tracepointPrefix = "__tracepoint_"
	iterPrefix       = "__traceiter_"
	callPrefix       = "__SCT__tp_func_"
)

// barriers are pairs of symbols around code that cannot be probed.
var barriers = []struct{ start, end, why string }{
	{"__noinstr_text_start", "__noinstr_text_end", "it is in code that must not be instrumented (noinstr)"},
	{"__kprobes_text_start", "__kprobes_text_end", "it is in the code of kprobes themselves"},
	{"__entry_text_start", "__entry_text_end", "it is in the entry code"},
	{"__init_begin", "__init_end", "its code is discarded after the kernel has started"},
	{"_sinittext", "_einittext", "its code is discarded after the kernel has started"},
}

func newKernel(f *elf.File) *kernel {
	k := &kernel{f: f, listeners: map[uint64]string{}, nops: map[uint64]bool{}}
	marks := map[string]uint64{}
	for _, b := range barriers {
		marks[b.start], marks[b.end] = 0, 0
	}
	for _, n := range []string{startSymbol, stopSymbol, blackStart, blackStop} {
		marks[n] = 0
	}
	f.Each(func(s elf.Symbol) bool {
		if name, ok := strings.CutPrefix(s.Name, tracepointPrefix); ok {
			if name != "" && s.Object && s.Size > 0 {
				k.events = append(k.events, event{name, s.Value, s.Value + s.Size})
			}
		} else if name, ok := strings.CutPrefix(s.Name, iterPrefix); ok {
			k.listeners[s.Value] = name
		} else if name, ok := strings.CutPrefix(s.Name, callPrefix); ok {
			k.listeners[s.Value] = name
		} else if _, ok := marks[s.Name]; ok {
			marks[s.Name] = s.Value
		}
		return true
	})
	slices.SortFunc(k.events, func(a, b event) int { return compare(a.lo, b.lo) })
	k.start, k.stop = marks[startSymbol], marks[stopSymbol]
	for _, b := range barriers {
		if lo, hi := marks[b.start], marks[b.end]; lo < hi {
			k.never = append(k.never, noProbe{lo, hi, b.why})
		}
	}
	k.blacklist(marks[blackStart], marks[blackStop])
	return k
}

// The kernel's list of functions marked NOKPROBE_SYMBOL.
const (
	blackStart = "__start_kprobe_blacklist"
	blackStop  = "__stop_kprobe_blacklist"
)

// blacklist reads the list: addresses of functions.
func (k *kernel) blacklist(lo, hi uint64) {
	for ; lo < hi && hi-lo < 1<<20; lo += 8 {
		b := k.f.ReadVaddr(lo, 8)
		if len(b) < 8 {
			return
		}
		fn := word(b)
		if s, end, ok := k.f.FuncAt(fn); ok && s.Value == fn {
			k.never = append(k.never, noProbe{fn, end, "its function must not be probed (NOKPROBE_SYMBOL)"})
		}
	}
}

// eventAt finds the tracepoint whose struct holds vaddr.
func (k *kernel) eventAt(vaddr uint64) (string, bool) {
	i := sort.Search(len(k.events), func(i int) bool { return k.events[i].hi > vaddr })
	if i < len(k.events) && vaddr >= k.events[i].lo {
		return k.events[i].name, true
	}
	return "", false
}

// finish sets the fields that depend on the code around a site.
func (k *kernel) finish(s *Site) {
	at := s.Nop
	if at == 0 {
		at = s.Branch
	}
	if fn, _, ok := k.f.FuncAt(at); ok {
		s.Function, s.Entry = fn.Name, fn.Value
	}
	for _, n := range k.never {
		if s.Branch >= n.lo && s.Branch < n.hi {
			s.NoProbe = n.why
		}
	}
	switch {
	case k.nops[s.Branch]:
		s.NoProbe = "it begins with another static branch, which the kernel rewrites"
	case s.Branch == s.Call:
		s.NoProbe = "it begins with the call of the listeners, which the kernel rewrites"
	}
	if _, err := patch.Decode(k.f.ReadVaddr(s.Branch, 15), s.Branch); err != nil {
		s.NoProbe = "no instruction is known there"
	}
}
