package dwarf

import (
	"slices"
)

// CodeBounds returns the bounds of the function whose machine code contains vaddr, from call frame information
// or a symbol with a size. It does not use debug information, which is less reliable for hand-written code.
// Between functions known is false and the bounds are those of the gap.
func (ex *extents) CodeBounds(vaddr uint64) (lo, hi uint64, known bool) {
	defer ex.guard(nil)()
	frames := ex.frames()
	if e := frames.Find(vaddr); e != nil {
		return e.Lo, e.Hi, true
	}
	s, end, ok := ex.symbolAt(vaddr)
	if ok && s.Size != 0 {
		return s.Value, end, true
	}
	lo, hi = frames.Gap(vaddr)
	if ok {
		lo, hi = max(lo, s.Value), min(hi, end)
	} else {
		for i := uint64(0); i < gapSearched && vaddr-i > lo; i++ {
			if o, end, ok := ex.symbolAt(vaddr - i); ok && o.Size != 0 {
				lo = max(lo, end)
				break
			}
		}
		hi = min(hi, ex.syms.NextFunc(vaddr))
	}
	return lo, max(hi, vaddr), false
}

// gapSearched bounds the gap before an address that is searched for the end of a
// function with a symbol only.
const gapSearched = 256

// Labels lists the addresses strictly between lo and hi at which a symbol, or an
// entry of the call frame information, begins.
func (ex *extents) Labels(lo, hi uint64) []uint64 {
	defer ex.guard(nil)()
	out := ex.syms.CodeSymbols(lo, hi)
	if ex.syms != ex.file {
		out = append(out, ex.file.CodeSymbols(lo, hi)...)
	}
	for pc := lo; pc < hi; {
		e := ex.frames().Find(pc)
		if e == nil {
			_, pc = ex.frames().Gap(pc)
			if pc > lo && pc < hi {
				out = append(out, pc)
			}
			continue
		}
		if e.Lo > lo {
			out = append(out, e.Lo)
		}
		pc = e.Hi
	}
	slices.Sort(out)
	return slices.Compact(out)
}
