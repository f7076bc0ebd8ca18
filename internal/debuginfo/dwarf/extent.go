package dwarf

import (
	"sort"
)

// extents finds what bounds the code around an address.
type extents struct {
	*object
	*info
	*callFrames
}

// Extent is the code around an address, as far as something reliable bounds it.
type Extent struct {
	Lo, Hi uint64
	// Starts are addresses at which an instruction begins: each source with a function there (debug
	// information, typed symbols, call frame information, the file's entry point) adds one. An address may
	// occur several times.
	Starts []uint64
}

// add widens the extent by a range that begins with an instruction.
func (x *Extent) add(lo, hi uint64) {
	if len(x.Starts) == 0 {
		x.Lo, x.Hi = lo, hi
	}
	x.Lo, x.Hi = min(x.Lo, lo), max(x.Hi, hi)
	x.Starts = append(x.Starts, lo)
}

// Extent finds the code around vaddr. Without Starts only an untyped symbol, which
// may as well be one of data, or nothing bounds it.
func (ex *extents) Extent(vaddr uint64) (x Extent) {
	defer ex.guard(nil)()
	if u := ex.unitFor(vaddr); u != nil {
		if f := u.functions().at(vaddr); f != nil {
			for _, r := range f.ranges {
				if r.Lo <= vaddr && vaddr < r.Hi {
					x.add(r.Lo, r.Hi)
				}
			}
		}
	}
	ex.syms.TypedFuncs(vaddr, x.add)
	if ex.syms != ex.file {
		ex.file.TypedFuncs(vaddr, x.add)
	}
	if e := ex.frames().Find(vaddr); e != nil && !e.Signal() { // that of a signal's return begins a byte before
		x.add(e.Lo, e.Hi)
	}
	if entry := ex.file.Entry(); entry == vaddr || entry > x.Lo && entry < x.Hi {
		x.add(entry, max(entry+1, x.Hi))
	}
	if len(x.Starts) == 0 {
		if s, end, ok := ex.symbolAt(vaddr); ok {
			x.Lo, x.Hi = s.Value, end
		}
	}
	return x
}

// Unwinds reports whether the function has code of its own that runs when an
// exception passes through its frame (a handler, or destructors).
func (ex *extents) Unwinds(f *Function) (yes bool) {
	defer ex.guard(nil)()
	for _, r := range f.Ranges {
		if e := ex.frames().Find(r.Lo); e != nil && e.HasLSDA {
			return true
		}
	}
	return false
}

// Rows lists the addresses in [lo, hi) at which the line table of vaddr's unit has a
// row, in order.
func (ex *extents) Rows(vaddr, lo, hi uint64) (out []uint64) {
	defer ex.guard(nil)()
	u := ex.unitFor(vaddr)
	if u == nil {
		return nil
	}
	for _, s := range u.lineTab().Sources {
		i := sort.Search(len(s.Entries), func(i int) bool { return s.Entries[i].PC >= lo })
		for ; i < len(s.Entries) && s.Entries[i].PC < hi; i++ {
			if s.Entries[i].Line != 0 { // 0: an end
				out = append(out, s.Entries[i].PC)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}
