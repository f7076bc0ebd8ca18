package convention

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Result is where a function of C or C++ returns a value of type t. memory: it is returned in memory
// whatever its members are.
func Result(t *ctype.Type, memory bool) debuginfo.Location {
	s := t.Strip()
	switch {
	case s.Size <= 0 || s.Incomplete || s.Kind == ctype.Invalid:
		return debuginfo.Location{Unavailable: "its type is not known"}
	case memory:
		return behindResult()
	case s.Kind == ctype.Array && s.Vector:
		if s.Size == 16 {
			return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: int(amd64.DwarfXMM0), BitSize: 128}}}
		}
		if s.Size != 8 {
			return debuginfo.Location{Unavailable: "only the low 16 bytes of vector registers are taken"}
		}
	}
	if onX87(s) {
		// The state of the x87 has st1 behind st0: the parts of a complex number.
		return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: dwarfST0, BitSize: s.Size * 8}}}
	}
	var c classes
	switch why := c.add(s, 0, 0); {
	case why == inMemory:
		return behindResult()
	case why != "":
		return debuginfo.Location{Unavailable: why}
	}
	vector := amd64.Processor.Vector0
	return debuginfo.Location{Pieces: c.pieces(s.Size, amd64.Processor.Results, []arch.Reg{vector, vector + 1})}
}

// behindResult: the caller has passed the address of the result, and a register has it at the return.
func behindResult() debuginfo.Location {
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(amd64.Processor.LargeResult)}}}}}
}

// dwarfST0 is the number of the top of the x87's stack.
const dwarfST0 = 33

// onX87 reports whether a result is returned on the stack of the x87: a long double, also as the only member of a
// structure, or a complex number of them.
func onX87(s *ctype.Type) bool {
	switch {
	case s.Quad():
		return false
	case s.Size == 16 && (s.Kind == ctype.Struct || s.Kind == ctype.Array && !s.Vector && s.Count == 1):
		inner := only(s)
		return inner != nil && inner.Kind != ctype.Complex && onX87(inner)
	case s.Kind == ctype.Float:
		return s.Size == 16
	}
	return s.Kind == ctype.Complex && s.Size == 32
}

// pieces assigns registers to the eightbytes of a value of size bytes.
func (c *classes) pieces(size int64, general, vector []arch.Reg) (list []debuginfo.Piece) {
	for i := int64(0); i*8 < size; i++ {
		p := debuginfo.Piece{Kind: debuginfo.InRegister, BitSize: min(size-i*8, 8) * 8}
		switch c[i] {
		case integer:
			p.Reg, general = int(general[0]), general[1:]
		case sse:
			p.Reg, vector = int(vector[0]), vector[1:]
		default:
			p.Kind = debuginfo.IsMissing
		}
		list = append(list, p)
	}
	return list
}
