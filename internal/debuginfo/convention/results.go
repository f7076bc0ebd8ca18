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
	case s.Kind == ctype.Complex && s.Size == 32 && !s.Quad():
		// The state of the x87 has st1 behind st0: the parts of the number.
		return onX87(s.Size)
	}
	c, why := classify(s)
	switch {
	case why == inMemory:
		return behindResult()
	case why != "":
		return debuginfo.Location{Unavailable: why}
	case c.x87():
		return onX87(s.Size)
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

// onX87 is a value on the stack of the x87.
func onX87(size int64) debuginfo.Location {
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: dwarfST0, BitSize: size * 8}}}
}

// pieces assigns registers to the eightbytes of a value of size bytes.
func (c *classes) pieces(size int64, general, vector []arch.Reg) (list []debuginfo.Piece) {
	if c[1] == sseUp {
		return []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: int(vector[0]), BitSize: size * 8}}
	}
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
