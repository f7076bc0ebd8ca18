package format

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// gaps are the parts of the whole value that have no value, seen from one of its parts.
type gaps struct {
	list []event.Gap
	why  string // in place of "optimised out"
	at   int64  // first bit of this part in the whole
}

func (g gaps) from(bit int64) gaps {
	g.at += bit
	return g
}

// hit reports whether any of the bits [lo, hi) of this part has no value.
func (g gaps) hit(lo, hi int64) bool {
	for _, x := range g.list {
		if x.From < g.at+hi && g.at+lo < x.To {
			return true
		}
	}
	return false
}

// covered reports whether none of the bits [lo, hi) of this part has a value.
func (g gaps) covered(lo, hi int64) bool {
	for _, x := range g.list {
		if x.From <= g.at+lo && g.at+hi <= x.To {
			return true
		}
	}
	return false
}

// ofBits are the gaps of a bit-field, whose bits are moved to the start of its type.
func (g gaps) ofBits(bit, n int64) gaps {
	if !g.hit(bit, bit+n) {
		return gaps{}
	}
	return gaps{list: everything, why: g.why}
}

// appendGap prints in place of a value that is missing.
func (g gaps) appendGap(b []byte) []byte {
	if g.why != "" {
		return append(append(append(b, '<'), g.why...), '>')
	}
	return append(b, "<optimised out>"...)
}

var everything = []event.Gap{{From: 0, To: 1 << 62}}

// missing reports whether a value of type s has a gap (a scalar) or nothing else (an aggregate).
func (g gaps) missing(s *ctype.Type) bool {
	if len(g.list) == 0 {
		return false
	}
	size := 8 * s.Size
	switch {
	case s.Kind == ctype.Struct || s.Kind == ctype.Union || s.Kind == ctype.Array || s.Kind == ctype.Complex:
		return size > 0 && g.covered(0, size)
	case s.Kind == ctype.Float && s.Size == 16 && s.Name == "long double":
		size = 80
	}
	return g.hit(0, size)
}
