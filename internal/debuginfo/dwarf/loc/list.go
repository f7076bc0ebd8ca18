package loc

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Entry is one entry of a location list: an expression and its range. An entry without extent, lo == hi, is
// valid before the instruction at lo, from which on the value is a different one. That matters at the entry
// of a function, for the passed values (Pick).
type Entry struct {
	Lo, Hi  uint64
	Expr    []byte
	Default bool // holds where no other entry does
}

// maxEntries bounds a location list.
const maxEntries = 1 << 18

// Lists reads the location lists of one unit.
type Lists struct {
	Data     []byte // the section: .debug_loc, .debug_loclists or .debug_loc.dwo
	Base     uint64 // the unit's lowest address
	AddrSize int
	Address  func(i uint64) (uint64, bool) // an entry of .debug_addr
}

// Version4 reads .debug_loc (DWARF 2 to 4).
func (r *Lists) Version4(off uint64) (out []Entry) {
	c := raw.At(r.Data, off)
	c.Pairs(r.Base, r.AddrSize, func(base, lo, hi uint64) bool {
		expr := c.Block(uint64(c.U16()))
		if !c.Bad && lo <= hi {
			out = append(out, Entry{Lo: base + lo, Hi: base + hi, Expr: expr})
		}
		return len(out) < maxEntries
	})
	return out
}

// GNU reads .debug_loc.dwo, the format before DWARF 5.
func (r *Lists) GNU(off uint64) []Entry {
	return r.list(off, raw.SplitEntries, func(c *raw.Cursor) uint64 { return uint64(c.U16()) })
}

// Version5 reads .debug_loclists (DWARF 5 section 7.7.3).
func (r *Lists) Version5(off uint64) []Entry {
	return r.list(off, raw.LocationEntries, (*raw.Cursor).ULEB)
}

// list reads a list whose expressions begin with their length.
func (r *Lists) list(off uint64, kinds []raw.ListEntry, length func(*raw.Cursor) uint64) (out []Entry) {
	c := raw.At(r.Data, off)
	addresses := raw.Addresses{Base: r.Base, Size: r.AddrSize, Indexed: r.Address}
	c.List(kinds, addresses, func(kind raw.ListEntry, lo, hi uint64, known bool) bool {
		e := Entry{Lo: lo, Hi: hi, Default: kind == raw.DefaultLocation}
		e.Expr = c.Block(length(&c))
		if known && !c.Bad && (e.Default || lo <= hi) {
			out = append(out, e)
		}
		return len(out) < maxEntries
	})
	return out
}

// Pick finds the expression for pc. An entry without extent counts only where
// pc is the function's entry (atEntry), as in GDB: gcc describes an argument so
// that is changed by code of the first line, before any instruction. In other
// places such entries are states between two source statements of one address.
func Pick(list []Entry, pc uint64, atEntry bool) (expr []byte, ok bool) {
	var dflt *Entry
	for i := range list {
		e := &list[i]
		if e.Default {
			dflt = e
		} else if pc >= e.Lo && pc < e.Hi || atEntry && pc == e.Lo && e.Lo == e.Hi {
			return e.Expr, true
		}
	}
	if dflt != nil {
		return dflt.Expr, true
	}
	return nil, false
}

// Usable are the ranges of a list whose expressions give a value, merged.
func (e *Env) Usable(list []Entry) []debuginfo.Range {
	var rs []debuginfo.Range
	for _, l := range list {
		if len(l.Expr) == 0 || l.Default || l.Lo == l.Hi || len(rs) > 10_000 {
			continue
		}
		if _, why := e.Translate(l.Expr); why == "" {
			rs = append(rs, debuginfo.Range{Lo: l.Lo, Hi: l.Hi})
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
