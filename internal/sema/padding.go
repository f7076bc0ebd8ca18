package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// fillPadding gives missing pieces that hold nothing but padding of t the value
// zero: compilers leave the holes of a struct in registers out of its location.
func fillPadding(list []debuginfo.Piece, t *ctype.Type) {
	at := int64(0)
	for i := range list {
		p := &list[i]
		if p.Kind == debuginfo.IsMissing && p.BitSize <= maxPadding && !holdsValue(t, at, at+p.BitSize, 0) {
			*p = debuginfo.Piece{Kind: debuginfo.IsBytes, BitSize: p.BitSize, Bytes: make([]byte, (p.BitSize+7)/8), Why: padding}
		}
		at += p.BitSize
	}
}

// padding marks a piece that fillPadding has made.
const padding = "padding"

// maxPadding bounds a hole, in bits: alignment makes none larger.
const maxPadding = 8 * 64

// holdsValue reports whether any of the bits [lo, hi) of a t belongs to its value.
func holdsValue(t *ctype.Type, lo, hi int64, depth int) bool {
	s := t.Strip()
	size := 8 * s.Size
	switch {
	case depth > 16:
		return true
	case s.Kind == ctype.Float && s.Size == 16 && s.Name == "long double":
		size = 80
	case s.Kind == ctype.Struct || s.Kind == ctype.Union:
		if s.Incomplete || len(s.Fields()) == 0 || s.Variants() != nil {
			break
		}
		for _, f := range s.Fields() {
			switch {
			case f.Virtual:
				return true // it may be anywhere in the object
			case f.BitSize > 0:
				if f.Name != "" && f.BitOffset < hi && f.BitOffset+f.BitSize > lo {
					return true
				}
			case holdsValue(f.Type, lo-f.BitOffset, hi-f.BitOffset, depth+1):
				return true
			}
		}
		return false
	case s.Kind == ctype.Array && s.Count > 0 && s.Elem != nil:
		elem := 8 * s.Elem.Strip().Size
		if elem <= 0 || lo >= size || hi <= 0 {
			break
		}
		for i := max(lo, 0) / elem; i < s.Count && i*elem < hi; i++ {
			if holdsValue(s.Elem, lo-i*elem, hi-i*elem, depth+1) {
				return true
			}
		}
		return false
	}
	return lo < size && hi > 0
}
