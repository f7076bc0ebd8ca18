package dwarf

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// maxRanges bounds the ranges of one entry.
const maxRanges = 1 << 20

// pcRanges returns the addresses an entry covers: DW_AT_low_pc/high_pc or
// DW_AT_ranges, in the file's order. Code that the linker discarded (address 0
// or a tombstone) gives none.
func (d die) pcRanges() []debuginfo.Range {
	if hv, ok := d.attr(atHighPC); ok {
		lv, ok := d.attr(atLowPC)
		if !ok {
			return nil
		}
		lo, ok := lv.addr()
		if !ok {
			return nil
		}
		hi, isAddr := hv.addr()
		if !isAddr {
			hi = lo + hv.N
		}
		if hi <= lo || !plausible(lo) {
			return nil
		}
		return []debuginfo.Range{{Lo: lo, Hi: hi}}
	}
	v, ok := d.attr(atRanges)
	if !ok {
		return nil
	}
	return d.u.rangeList(v, d.ab.tag)
}

// plausible refuses the addresses linkers give to discarded code: 0, 1 and the
// tombstones -1 and -2.
func plausible(lo uint64) bool { return lo > 1 && lo < ^uint64(1) }

func (l *unitLists) rangeList(v val, tag uint16) []debuginfo.Range {
	if l.u.f.Version >= 5 {
		off := v.N
		if v.Form == raw.FormRnglistx {
			var ok bool
			if off, ok = l.listx(secRnglists, l.u.head().rnglistsBase, v.N); !ok {
				return nil
			}
		}
		return l.rnglist(off)
	}
	off := v.N
	if tag != tagCompileUnit && tag != tagSkeletonUnit {
		off += l.u.head().rangesBase
	}
	return l.oldRanges(off)
}

// listx turns an index of a DWARF 5 list table into a section offset.
func (l *unitLists) listx(s section, base, i uint64) (uint64, bool) {
	size := uint64(4)
	if l.u.f.Is64 {
		size = 8
	}
	if i > 1<<32 {
		return 0, false
	}
	c := raw.At(l.u.d.sec(s), base+i*size)
	off := c.Offset(l.u.f.Is64)
	return base + off, !c.Bad
}

// oldRanges reads .debug_ranges (DWARF 2 to 4).
func (l *unitLists) oldRanges(off uint64) []debuginfo.Range {
	d := l.u.d
	if l.u.skel != nil {
		d = l.u.skel.d // .dwo files of version 4 keep their ranges in the executable
	}
	c := raw.At(d.sec(secRanges), off)
	var out []debuginfo.Range
	c.Pairs(l.u.head().low, int(l.u.f.AddrSize), func(base, lo, hi uint64) bool {
		if hi > lo && plausible(base+lo) {
			out = append(out, debuginfo.Range{Lo: base + lo, Hi: base + hi})
		}
		return len(out) < maxRanges
	})
	return out
}

// rnglist reads .debug_rnglists (DWARF 5 section 7.25).
func (l *unitLists) rnglist(off uint64) (out []debuginfo.Range) {
	c := raw.At(l.u.d.sec(secRnglists), off)
	addresses := raw.Addresses{Base: l.u.head().low, Size: int(l.u.f.AddrSize), Indexed: l.u.Address}
	c.List(raw.RangeEntries, addresses, func(_ raw.ListEntry, lo, hi uint64, known bool) bool {
		if known && !c.Bad && hi > lo && plausible(lo) {
			out = append(out, debuginfo.Range{Lo: lo, Hi: hi})
		}
		return len(out) < maxRanges
	})
	return out
}

// pcs returns the addresses of the whole unit: those of the root entry or, if it has none, the ranges of
// its functions.
func (l *unitLists) pcs() []debuginfo.Range {
	l.rangeOnce.Do(func() {
		if root, ok := l.u.rootDie(); ok {
			l.ranges = root.pcRanges()
		}
		if l.ranges == nil && l.u.head().tag == tagCompileUnit {
			if root, ok := l.u.rootDie(); ok && root.ab.children {
				for _, f := range l.u.functions().fns {
					l.ranges = append(l.ranges, f.ranges...)
				}
			}
		}
	})
	return l.ranges
}

func inRanges(rs []debuginfo.Range, pc uint64) bool {
	for _, r := range rs {
		if pc >= r.Lo && pc < r.Hi {
			return true
		}
	}
	return false
}
