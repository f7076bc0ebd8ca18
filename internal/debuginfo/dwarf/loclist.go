package dwarf

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// locEntry is one entry of a location list: an expression and where it holds. An
// entry without extent, lo == hi, holds before the instruction at lo, where the
// value is another one already from the instruction on. That matters at the entry
// of a function, for what it was called with (pickLoc).
type locEntry struct {
	lo, hi uint64
	expr   []byte
	dflt   bool // holds where no other entry does
}

// maxLocEntries bounds a location list.
const maxLocEntries = 1 << 18

// locList reads the list that a location attribute refers to.
func (u *unit) locList(v val) []locEntry {
	switch {
	case u.f.Version >= 5:
		off := v.N
		if v.Form == raw.FormLoclistx {
			var ok bool
			if off, ok = u.listx(secLoclists, u.head().loclistsBase, v.N); !ok {
				return nil
			}
		}
		return u.loclist5(off)
	case u.d.dwo:
		return u.loclistGNU(v.N)
	}
	return u.loclist4(v.N)
}

// loclist4 reads .debug_loc (DWARF 2 to 4).
func (u *unit) loclist4(off uint64) (out []locEntry) {
	c := raw.At(u.d.sec(secLoc), off)
	base, size := u.head().low, int(u.f.AddrSize)
	top := ^uint64(0)
	if size == 4 {
		top = 0xffffffff
	}
	for len(out) < maxLocEntries {
		lo, hi := c.Uint(size), c.Uint(size)
		switch {
		case c.Bad || lo == 0 && hi == 0:
			return out
		case lo == top:
			base = hi
			continue
		}
		expr := c.Block(uint64(c.U16()))
		if !c.Bad && lo <= hi {
			out = append(out, locEntry{lo: base + lo, hi: base + hi, expr: expr})
		}
	}
	return out
}

// loclistGNU reads .debug_loc.dwo, the format before DWARF 5.
func (u *unit) loclistGNU(off uint64) (out []locEntry) {
	c := raw.At(u.d.sec(secLoc), off)
	base := u.head().low
	for len(out) < maxLocEntries && !c.Bad {
		e := locEntry{}
		ok := true
		switch c.U8() {
		case 0:
			return out
		case 1:
			base, _ = u.addrx(c.ULEB())
			continue
		case 2:
			e.lo, ok = u.addrx(c.ULEB())
			e.hi, _ = u.addrx(c.ULEB())
		case 3:
			e.lo, ok = u.addrx(c.ULEB())
			e.hi = e.lo + uint64(c.U32())
		case 4:
			e.lo, e.hi = base+uint64(c.U32()), base+uint64(c.U32())
		default:
			return out
		}
		e.expr = c.Block(uint64(c.U16()))
		if ok && !c.Bad && e.lo <= e.hi {
			out = append(out, e)
		}
	}
	return out
}

// loclist5 reads .debug_loclists (DWARF 5 section 7.7.3). GNU's view pairs are
// stepped over.
func (u *unit) loclist5(off uint64) (out []locEntry) {
	c := raw.At(u.d.sec(secLoclists), off)
	base, size := u.head().low, int(u.f.AddrSize)
	for len(out) < maxLocEntries && !c.Bad {
		e := locEntry{}
		ok := true
		switch c.U8() {
		case 0: // end_of_list
			return out
		case 1: // base_addressx
			base, _ = u.addrx(c.ULEB())
			continue
		case 2: // startx_endx
			e.lo, ok = u.addrx(c.ULEB())
			e.hi, _ = u.addrx(c.ULEB())
		case 3: // startx_length
			e.lo, ok = u.addrx(c.ULEB())
			e.hi = e.lo + c.ULEB()
		case 4: // offset_pair
			e.lo, e.hi = base+c.ULEB(), base+c.ULEB()
		case 5: // default_location
			e.dflt = true
		case 6: // base_address
			base = c.Uint(size)
			continue
		case 7: // start_end
			e.lo, e.hi = c.Uint(size), c.Uint(size)
		case 8: // start_length
			e.lo = c.Uint(size)
			e.hi = e.lo + c.ULEB()
		case 9: // GNU view_pair
			c.ULEB()
			c.ULEB()
			continue
		default:
			return out
		}
		e.expr = c.Block(c.ULEB())
		if ok && !c.Bad && (e.dflt || e.lo <= e.hi) {
			out = append(out, e)
		}
	}
	return out
}

// pickLoc finds the expression for pc. An entry without extent counts only where
// pc is the function's entry (atEntry), as in GDB: gcc describes an argument so
// that is changed by code of the first line, before any instruction. In other
// places such entries are states between two source statements of one address.
func pickLoc(list []locEntry, pc uint64, atEntry bool) (expr []byte, ok bool) {
	var dflt *locEntry
	for i := range list {
		e := &list[i]
		if e.dflt {
			dflt = e
		} else if pc >= e.lo && pc < e.hi || atEntry && pc == e.lo && e.lo == e.hi {
			return e.expr, true
		}
	}
	if dflt != nil {
		return dflt.expr, true
	}
	return nil, false
}

// usable are the ranges of a list whose expressions give a value, merged.
func (e *exprEnv) usable(list []locEntry) []debuginfo.Range {
	var rs []debuginfo.Range
	for _, l := range list {
		if len(l.expr) == 0 || l.dflt || l.lo == l.hi || len(rs) > 10_000 {
			continue
		}
		if _, why := e.translate(l.expr); why == "" {
			rs = append(rs, debuginfo.Range{Lo: l.lo, Hi: l.hi})
		}
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].Lo < rs[j].Lo })
	out := rs[:0]
	for _, r := range rs {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}
