package dwarf

import (
	"fmt"
	"slices"
)

// CodeBounds returns the bounds of the function whose machine code contains vaddr, from call frame information
// or a symbol with a size. It does not use debug information, which is less reliable for hand-written code.
// Between functions known is false and the bounds are those of the gap.
func (m *Module) CodeBounds(vaddr uint64) (lo, hi uint64, known bool) {
	defer m.guard(nil)()
	frames := m.frames()
	if e := frames.Find(vaddr); e != nil {
		return e.Lo, e.Hi, true
	}
	s, end, ok := m.symbolAt(vaddr)
	if ok && s.Size != 0 {
		return s.Value, end, true
	}
	lo, hi = frames.Gap(vaddr)
	if ok {
		lo, hi = max(lo, s.Value), min(hi, end)
	} else {
		for i := uint64(0); i < gapSearched && vaddr-i > lo; i++ {
			if o, end, ok := m.symbolAt(vaddr - i); ok && o.Size != 0 {
				lo = max(lo, end)
				break
			}
		}
		hi = min(hi, m.syms.NextFunc(vaddr))
	}
	return lo, max(hi, vaddr), false
}

// gapSearched bounds the gap before an address that is searched for the end of a
// function with a symbol only.
const gapSearched = 256

// CodePointers lists the addresses of code that relocations put into data, sorted.
func (m *Module) CodePointers() (out []uint64, err error) {
	defer m.guard(&err)()
	return m.file.CodePointers()
}

// Loaded is Text with the relocations applied that the file alone determines.
func (m *Module) Loaded(vaddr uint64, n int, bias uint64) (b []byte, err error) {
	defer m.guard(&err)()
	b, err = m.file.ReadLoaded(vaddr, n, bias)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("%s has no bytes at address %#x", m.path, vaddr)
	}
	return b, err
}

// Labels lists the addresses strictly between lo and hi at which a symbol, or an
// entry of the call frame information, begins.
func (m *Module) Labels(lo, hi uint64) []uint64 {
	defer m.guard(nil)()
	out := m.syms.CodeSymbols(lo, hi)
	if m.syms != m.file {
		out = append(out, m.file.CodeSymbols(lo, hi)...)
	}
	for pc := lo; pc < hi; {
		e := m.frames().Find(pc)
		if e == nil {
			_, pc = m.frames().Gap(pc)
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
