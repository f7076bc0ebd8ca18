package convention

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Param is a parameter of a function.
type Param struct {
	Type *ctype.Type
	// ByReference: an object of a class whose address is passed, as its copy constructor must know it.
	ByReference bool
	// Unknown: it is not certain how it is passed.
	Unknown bool
}

// Place is where a parameter is at the function's first instruction.
type Place struct {
	Loc debuginfo.Location // in registers
	// OnStack: it is above the return address. Which bytes these are depends on the parameters before it.
	OnStack bool
	Known   bool // one of the two
}

// vectorArgs is how many vector registers pass arguments.
const vectorArgs = 8

// passing are the registers that the parameters so far leave.
type passing struct {
	general []arch.Reg
	vector  []arch.Reg
	// The next registers are not certain.
	noGeneral, noVector bool
}

// Params says where parameters are passed. result is the function's, void or nil for none; memory: the caller passes the
// address of the result, whatever its type is.
func Params(list []Param, result *ctype.Type, memory bool) []Place {
	p := passing{general: amd64.Processor.Args}
	for i := range vectorArgs {
		p.vector = append(p.vector, amd64.Processor.Vector0+arch.Reg(i))
	}
	p.result(result, memory)
	places := make([]Place, len(list))
	for i, x := range list {
		places[i] = p.next(x)
	}
	return places
}

// result passes over the address of the result.
func (p *passing) result(t *ctype.Type, memory bool) {
	if !memory {
		if t == nil || t.Strip().Kind == ctype.Void {
			return
		}
		s := t.Strip()
		if s.Kind == ctype.Array && s.Vector {
			return // in a vector register
		}
		if s.Size <= 0 || s.Incomplete {
			p.lose()
			return
		}
		switch _, why := classify(s); {
		case why == "" || s.Kind == ctype.Complex && !s.Quad(): // in registers, or in those of the x87
			return
		case why != inMemory:
			p.noGeneral = true
			return
		}
	}
	p.general = p.general[1:]
}

// lose: nothing is certain from here on.
func (p *passing) lose() { p.noGeneral, p.noVector = true, true }

// next is the place of the next parameter.
func (p *passing) next(x Param) Place {
	if x.Unknown || x.Type == nil {
		p.lose()
		return Place{}
	}
	s := x.Type.Strip()
	if x.ByReference {
		at := p.take(1, 0, func(r []arch.Reg, _ []arch.Reg) []debuginfo.Piece {
			return []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(r[0])}}}}
		})
		return at
	}
	switch {
	case s.Incomplete || s.Size < 0 || s.Size == 0 && !s.IsAggregate():
		p.lose()
		return Place{}
	case s.Size == 0: // an empty structure of C
		return Place{Known: true, Loc: debuginfo.Location{Unavailable: "it has no bytes"}}
	case s.Kind == ctype.Array && s.Vector:
		if s.Size != 8 && s.Size != 16 {
			p.noVector = true // in one register or in memory, by the options of the compiler
			return Place{}
		}
		return p.take(0, 1, oneVector(s.Size))
	case s.Kind == ctype.Int && s.Size == 16 && len(p.general) == 1:
		p.noGeneral = true // clang before version 18 takes the last register for one half
		return Place{}
	}
	switch c, why := classify(s); {
	case why == inMemory, why == "" && c.x87():
		return Place{OnStack: true, Known: true}
	case why == "":
		return p.classified(c, s.Size)
	}
	p.lose()
	return Place{}
}

// oneVector is a value of size bytes in one vector register.
func oneVector(size int64) func(_, v []arch.Reg) []debuginfo.Piece {
	return func(_, v []arch.Reg) []debuginfo.Piece {
		return []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: int(v[0]), BitSize: size * 8}}
	}
}

// classified passes a value of up to 16 bytes: all in registers, or all on the stack.
func (p *passing) classified(c classes, size int64) Place {
	var general, vector int
	for _, k := range c {
		switch k {
		case integer:
			general++
		case sse:
			vector++
		}
	}
	if general+vector == 0 { // an empty class of C++
		return Place{Known: true, Loc: debuginfo.Location{Unavailable: "it has no bytes"}}
	}
	return p.take(general, vector, func(g, v []arch.Reg) []debuginfo.Piece { return c.pieces(size, g, v) })
}

// take takes registers, if there are enough.
func (p *passing) take(general, vector int, pieces func(g, v []arch.Reg) []debuginfo.Piece) Place {
	if p.noGeneral && general > 0 || p.noVector && vector > 0 {
		p.noGeneral, p.noVector = p.noGeneral || general > 0, p.noVector || vector > 0
		return Place{}
	}
	if len(p.general) < general || len(p.vector) < vector {
		return Place{OnStack: true, Known: true}
	}
	at := pieces(p.general, p.vector)
	p.general, p.vector = p.general[general:], p.vector[vector:]
	return Place{Loc: debuginfo.Location{Pieces: slices.Clone(at)}, Known: true}
}
