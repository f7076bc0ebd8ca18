package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// sum makes d = v + k, where d is not v's own register; a large k needs tmp when v lies on the stack. To the
// verifiers of newer kernels registers are linked when one is made from the other by a copy and an added
// constant: comparing one gives information about the other. The verifier of Linux 6.12 derives wrong facts
// about their low halves, and later verifiers must track too many states of an address. So the copy is added to
// the constant, and not the other way round.
func (g *gen) sum(d asm.Register, v ir.Value, k int64, tmp asm.Register) {
	if at := g.at(v); at.kind == locReg {
		g.movImm(d, k)
		g.emit(asm.Add.Reg(d, at.r))
		return
	}
	g.load(d, v)
	g.emit(asm.Or.Imm(d, 0)) // nothing but the end of the link
	g.addImm(d, k, tmp)
}

// extra is the second scratch register.
func (g *gen) extra() asm.Register {
	if !g.second {
		g.lacking = true
	}
	return secondScratch
}

// reg gives a register that holds v, tmp if v has none of its own.
func (g *gen) reg(v ir.Value, tmp asm.Register) asm.Register {
	if at := g.at(v); at.kind == locReg {
		return at.r
	}
	g.load(tmp, v)
	return tmp
}

// load puts v into register d.
func (g *gen) load(d asm.Register, v ir.Value) {
	if k, ok := g.number(v); ok {
		g.movImm(d, int64(k))
		return
	}
	switch at := g.at(v); at.kind {
	case locReg:
		g.mov(d, at.r)
	case locSpill:
		g.emit(asm.LoadMem(d, asm.R10, slotOffset(at.slot), asm.DWord))
	default:
		panic("BUG: ebpf: a value without a place in " + g.p.Name)
	}
}

// number is that of a constant; hidden values are none.
func (g *gen) number(v ir.Value) (uint64, bool) {
	if int(v) >= len(g.p.Classes) {
		return 0, false
	}
	return g.an.number(v)
}

// small gives v as the number in an instruction of width w.
func (g *gen) small(v ir.Value, w uint8) (int32, bool) {
	k, ok := g.number(v)
	if !ok {
		return 0, false
	}
	if w < 8 {
		return int32(uint32(k)), true
	}
	return int32(k), int64(k) == int64(int32(k))
}

func (g *gen) at(v ir.Value) loc {
	if _, ok := g.number(v); ok {
		return loc{}
	}
	return g.al.loc[v]
}

// dest is the register to compute v in; store must follow.
func (g *gen) dest(v ir.Value) asm.Register {
	if at := g.al.loc[v]; at.kind == locReg {
		return at.r
	}
	return scratch
}

// store puts register s where v lives.
func (g *gen) store(v ir.Value, s asm.Register) {
	switch at := g.al.loc[v]; at.kind {
	case locReg:
		g.mov(at.r, s)
	case locSpill:
		g.emit(asm.StoreMem(asm.R10, slotOffset(at.slot), s, asm.DWord))
	}
}

func slotOffset(slot int) int16 { return -8 * int16(slot+1) }

// argument is a value wanted in a register for a call.
type argument struct {
	r asm.Register
	v ir.Value
}

// arguments loads several registers at once.
func (g *gen) arguments(as ...argument) {
	var ms []move
	for _, a := range as {
		m := move{to: loc{kind: locReg, r: a.r}, from: g.at(a.v)}
		if k, ok := g.number(a.v); ok {
			m.number = k
		}
		ms = append(ms, m)
	}
	g.moves(ms)
}
