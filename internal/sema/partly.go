package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
)

// takePartly takes an aggregate of which some fragments have a value here and others have none; nil if all
// have one, or none, or if the fragments cannot be stored one by one.
func (co *collector) takePartly(e expr) *plan {
	ref, ok := wholeOf(e)
	if k := e.Type().Strip().Kind; !ok || !isRecord(e.Type()) && k != ctype.Array && k != ctype.Complex {
		return nil
	}
	if len(ref.loc.Pieces) == 0 || len(ref.loc.Pieces) == 1 && ref.loc.Pieces[0].BitSize == 0 {
		return nil
	}
	s := shapeOf(e)
	if s.mem {
		return nil
	}
	for _, p := range s.pieces {
		missing := p.Kind == debuginfo.IsMissing && p.Why == "" // the compiler says so
		if !missing && co.try(func() { co.needPiece(e, ref, p) }) != nil {
			return nil // it has a value, which cannot be had here: that is the reason, and an int3 may have it
		}
	}
	have, gaps := gapsOf(s.pieces, s.lo, bitsOf(e))
	if !have || len(gaps) == 0 {
		return nil
	}
	part := *ref
	part.loc.Pieces = s.pieces
	x := &sub{typed: typed{e.Type(), e.Span()}, x: &part, bitOff: s.lo}
	if n := bitsOf(e); n > 64 && storable(shapeOf(x), n) != "" {
		return nil
	}
	p := plain(asBytes, x, e.Type())
	p.Gaps = gaps
	return p
}

// wholeOf is the variable that object e is a part of, at a fixed place.
func wholeOf(e expr) (*varRef, bool) {
	for {
		switch x := e.(type) {
		case *varRef:
			return x, true
		case *sub:
			e = x.x
		default:
			return nil, false
		}
	}
}

// gapsOf are the missing fragments of bits [lo, lo+n); have: some fragment there is the compiler's and has a
// value.
func gapsOf(list []debuginfo.Piece, lo, n int64) (have bool, gaps []event.Gap) {
	window(list, lo, n, func(p debuginfo.Piece, _, at, bits int64) {
		switch last := len(gaps) - 1; {
		case p.Kind != debuginfo.IsMissing:
			have = have || p.Why != padding
		case last >= 0 && gaps[last].To == at:
			gaps[last].To += bits
		default:
			gaps = append(gaps, event.Gap{From: at, To: at + bits})
		}
	})
	return have, gaps
}
