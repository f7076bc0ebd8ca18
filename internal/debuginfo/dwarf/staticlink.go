package dwarf

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// A function within a function (GNU C) gets the frame of the one around it in a register; gcc describes by DW_AT_static_link how
// the frame base of that one, its canonical frame address, is found. The description is of the whole function. So it is right only where
// the function keeps the register in its own frame (opFbreg), and only behind the code that stores it: a register is used
// again in the function, and the description does not say where.

const (
	opFbreg        = 0x91
	opCallFrameCFA = 0x9c
)

// throughLink is where a variable of function fn, which is around the scope's function, is in the frame of fn.
func (s *scope) throughLink(fn, d die) (*debuginfo.Location, bool) {
	if s.f == nil || s.b == nil || s.b.owner().inlined || s.ending {
		return nil, false
	}
	if s.u.locationsValid() || s.pc < s.m.funcStart(s.f.entry()).PC { // optimised, or the register is not stored yet
		return nil, false
	}
	cur := s.f.d
	base, why := s.frameBase()
	for range maxDepth {
		link, ok := cur.attr(atStaticLink)
		if why != "" || !ok || !link.IsBlock() || len(link.B) == 0 || link.B[0] != opFbreg {
			return nil, false
		}
		next, ok := cur.context().function()
		if frame, has := next.attr(atFrameBase); !ok || !has || !frame.IsBlock() || string(frame.B) != string([]byte{opCallFrameCFA}) {
			return nil, false
		}
		expr := s.inFrame(link, base)
		if expr == nil {
			return nil, false
		}
		if base, cur = expr, next; cur.key() == fn.key() {
			break
		}
	}
	at, ok := d.attr(atLocation)
	if cur.key() != fn.key() || !ok || !at.IsBlock() || len(at.B) == 0 || at.B[0] != opFbreg {
		return nil, false
	}
	expr := s.inFrame(at, base)
	if expr == nil {
		return nil, false
	}
	return &debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: expr}}}, true
}

// inFrame is the address that an expression gives with a frame base; nil: it gives none.
func (s *scope) inFrame(v val, base []debuginfo.Op) []debuginfo.Op {
	env := s.env(v.u)
	env.FrameBase = func() ([]debuginfo.Op, string) { return base, "" }
	pieces, why := env.Translate(v.B)
	if why != "" || len(pieces) != 1 || pieces[0].Kind != debuginfo.InMemory {
		return nil
	}
	return pieces[0].Expr
}

// function is the innermost function around an entry.
func (d declContext) function() (die, bool) {
	around := d.blocks()
	for i := len(around) - 1; i >= 0; i-- {
		if around[i].ab.tag == tagSubprogram {
			return around[i], true
		}
	}
	return d.die, false
}
