package engine

import (
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Absences are the items of collect lists that cannot be collected at a site, with the names of the lists: places may share
// one.
type Absences map[item]bool

// item is a part of a collect list, by its position in the text.
type item struct {
	text   string
	lo, hi int
}

// Of reports whether a diagnostic is of one of the items.
func (a Absences) Of(d *lang.Diagnostic) bool {
	for it := range a {
		if it.text == d.Text && it.lo <= d.Span.Lo && d.Span.Lo <= it.hi {
			return true
		}
	}
	return false
}

// AbsencesOf are those of the programs of a tracepoint that was compiled with Compiling.Lenient: at all sites that they have.
func AbsencesOf(tp *tracepoint.Tracepoint, list []*Program) Absences {
	var all []Absences
	for _, p := range list {
		of := Absences{}
		for _, i := range p.Absent {
			it := &tp.Collect[i]
			of[item{it.From.Whole, it.Span.Lo, it.Span.Hi}] = true
		}
		all = append(all, of)
	}
	return Everywhere(all)
}

// Everywhere are the items that are in all lists; nil: none.
func Everywhere(lists []Absences) Absences {
	var out Absences
	if len(lists) == 0 {
		return nil
	}
	for it := range lists[0] {
		has := true
		for _, l := range lists[1:] {
			has = has && l[it]
		}
		if has {
			if out == nil {
				out = Absences{}
			}
			out[it] = true
		}
	}
	return out
}
