package dwarf

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// fn is a concrete function: a DW_TAG_subprogram with addresses.
type fn struct {
	d      die
	ranges []debuginfo.Range // in the file's order: ranges[0] holds the entry
	block  *block            // built on first use
}

// entry is the address that GDB takes for the function's start.
func (f *fn) entry() uint64 { return f.ranges[0].Lo }

// end is the highest address of the function, exclusive.
func (f *fn) end() (hi uint64) {
	for _, r := range f.ranges {
		hi = max(hi, r.Hi)
	}
	return hi
}

// inlinedCopy is a DW_TAG_inlined_subroutine and the function that contains it.
type inlinedCopy struct {
	d      die
	origin uint64 // section offset of the abstract entry, ^0 when unknown
	alt    bool   // the abstract entry is in the supplementary file
	fn     int    // index in unitBody.fns, -1 when outside any
}

// unitBody is what one walk over a whole unit yields.
type unitBody struct {
	fns      []*fn
	byAddr   []fnRange
	copies   []inlinedCopy
	hasLists bool            // a variable has a location list
	origins  map[uint64]bool // abstract functions that have code of their own here
}

type fnRange struct {
	lo, hi uint64
	fn     int
}

// functions walks the unit once.
func (u *unit) functions() *unitBody {
	w := u.whole()
	w.bodyOnce.Do(func() {
		w.body = &unitBody{origins: map[uint64]bool{}}
		if root, ok := w.rootDie(); ok {
			w.body.fill(root)
		}
	})
	return w.body
}

func (b *unitBody) fill(root die) {
	var open []struct{ fn, depth int } // functions around the current entry
	root.walk(func(e die, depth int) bool {
		for len(open) > 0 && open[len(open)-1].depth >= depth {
			open = open[:len(open)-1]
		}
		switch e.ab.tag {
		case tagSubprogram:
			r := e.pcRanges()
			if r == nil {
				return false // a declaration or an abstract instance: no code below
			}
			open = append(open, struct{ fn, depth int }{len(b.fns), depth})
			b.fns = append(b.fns, &fn{d: e, ranges: r})
			if off, alt := originOf(e); !alt && e.ab.has(atAbstractOrigin) {
				b.origins[off] = true
			}
		case tagInlinedSubroutine:
			cur := -1
			if len(open) > 0 {
				cur = open[len(open)-1].fn
			}
			off, alt := originOf(e)
			b.copies = append(b.copies, inlinedCopy{e, off, alt, cur})
		case tagVariable, tagFormalParameter:
			if !b.hasLists {
				b.hasLists = hasLocList(e)
			}
		}
		return true
	})
	for i, f := range b.fns {
		for _, r := range f.ranges {
			b.byAddr = append(b.byAddr, fnRange{r.Lo, r.Hi, i})
		}
	}
	sort.SliceStable(b.byAddr, func(i, j int) bool { return b.byAddr[i].lo < b.byAddr[j].lo })
}

func originOf(e die) (off uint64, alt bool) {
	v, ok := e.attr(atAbstractOrigin)
	if !ok {
		return ^uint64(0), false
	}
	switch v.Form {
	case raw.FormRef1, raw.FormRef2, raw.FormRef4, raw.FormRef8, raw.FormRefUdata:
		return e.u.off + v.N, false
	case raw.FormRefAddr:
		return v.N, false
	case raw.FormRefSup4, raw.FormRefSup8, raw.FormGNURefAlt:
		return v.N, true
	}
	return ^uint64(0), false
}

// inlinesOthers reports whether inlined copies in this unit may be of functions of other units (link-time
// optimisation, dwz).
func (u *unit) inlinesOthers() bool {
	for _, a := range u.abbrevTable().dense {
		if a.tag == tagInlinedSubroutine {
			switch a.form(atAbstractOrigin) {
			case raw.FormRefAddr, raw.FormRefSup4, raw.FormRefSup8, raw.FormGNURefAlt:
				return true
			}
		}
	}
	for _, a := range u.abbrevTable().sparse {
		if a.tag == tagInlinedSubroutine {
			return true
		}
	}
	return false
}

// hasLocList reports whether the entry's own location is a list.
func hasLocList(e die) bool {
	switch e.ab.form(atLocation) {
	case raw.FormSecOffset, raw.FormLoclistx:
		return true
	case raw.FormData4, raw.FormData8:
		return e.u.f.Version < 4
	}
	return false
}

// at finds the innermost function whose ranges hold pc (nested functions of GNU
// C lie inside their parents' entries, not inside their ranges).
func (b *unitBody) at(pc uint64) *fn {
	i := sort.Search(len(b.byAddr), func(i int) bool { return b.byAddr[i].lo > pc })
	for n := 0; i > 0 && n < 16; n++ {
		i--
		if pc < b.byAddr[i].hi {
			return b.fns[b.byAddr[i].fn]
		}
	}
	return nil
}
