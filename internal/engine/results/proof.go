package results

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/patch"
)

// Where the debug information leaves open in which registers a result is, or whether the compiler has removed it, the machine
// code of the function and of its direct callers may show it.

// place is where a value may be returned.
type place struct {
	loc  debuginfo.Location
	regs patch.Taken // none: in memory
}

// proved returns the one of the places that the machine code shows. unproved: that the result is there must be shown too.
func (f *Function) proved(list []place, unproved bool) debuginfo.Location {
	text, err := f.Text()
	if err != nil {
		return debuginfo.Location{Unavailable: "where it is returned is not certain: " + err.Error()}
	}
	entry := f.Entry + f.Bias
	if i := slices.IndexFunc(list, func(p place) bool { return p.regs == 0 }); i >= 0 {
		if n := f.passedWords(); n < len(amd64.Processor.Args) {
			if reg, ok := amd64.FromDWARF(amd64.Processor.Args[n]); ok && text.Takes(entry, int(reg)) {
				return list[i].loc
			}
		}
	}
	return choose(list, text.ResultsUsed(entry), unproved)
}

// passedWords is the largest number of registers for integers that the parameters of the function are passed in. If it takes
// one more, it has a parameter without a name: the address of the result. (Or the place of the call, #[track_caller], which only
// functions of Rust's own convention have; they return in memory too what they do not return as words.)
func (f *Function) passedWords() (n int) {
	at := f.Site
	at.Addr = f.Entry
	scope, err := f.Module.ScopeForSite(at)
	if err != nil {
		return len(amd64.Processor.Args)
	}
	for _, v := range scope.Args() {
		if n++; v.Type == nil || v.Type.Strip().Size > 8 {
			n++
		}
	}
	return n
}

const mayBeRemoved = "the compiler may have removed the result or a part of it: no call of the function shows that all of it is used"

// choose returns the only place that has all registers in which callers take results.
func choose(list []place, used patch.Taken, unproved bool) debuginfo.Location {
	fits := slices.DeleteFunc(slices.Clone(list), func(p place) bool { return used&^p.regs != 0 })
	switch {
	case len(fits) != 1:
		return debuginfo.Location{Unavailable: "in which registers it is returned is not certain, and no call of the function shows it"}
	case unproved && used != fits[0].regs:
		return debuginfo.Location{Unavailable: mayBeRemoved}
	}
	return fits[0].loc
}

// registersOf are the registers that a location has pieces in.
func registersOf(l debuginfo.Location) (set patch.Taken) {
	for _, p := range l.Pieces {
		if p.Kind == debuginfo.IsMissing {
			continue
		}
		switch p.Reg {
		case int(amd64.Processor.Results[0]):
			set |= patch.TakenRAX
		case int(amd64.Processor.Results[1]):
			set |= patch.TakenRDX
		case int(amd64.Processor.Vector0):
			set |= patch.TakenXMM0
		case int(amd64.Processor.Vector0) + 1:
			set |= patch.TakenXMM1
		}
	}
	return set
}
