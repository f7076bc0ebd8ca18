package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// planner has the information collected before code is generated.
type planner struct {
	an *analysis
	l  *liveness
	c  *Config
	p  *ir.Program
	al *allocation

	order []ir.BlockID
	place []section
}

// stubs is code for the cold section, written when the blocks are done.
type stubs struct {
	later  []func()
	blocks []label

	// At the present instruction:
	id  ir.BlockID
	pos int32
	// result is the value of a late Result, None before it.
	result ir.Value
}

// operands finds where values are, and brings them into registers.
type operands struct {
	*planner
	*emitter
	second  bool // secondScratch may be used
	lacking bool // it was wanted and might not
}

// sum makes d = v + k, where d is not v's own register; a large k needs tmp when v lies on the stack. To the
// verifiers of newer kernels registers are linked when one is made from the other by a copy and an added
// constant: comparing one gives information about the other. The verifier of Linux 6.12 derives wrong facts
// about their low halves, and later verifiers must track too many states of an address. So the copy is added to
// the constant, and not the other way round.
func (od *operands) sum(d asm.Register, v ir.Value, k int64, tmp asm.Register) {
	if at := od.at(v); at.kind == locReg {
		od.movImm(d, k)
		od.emit(asm.Add.Reg(d, at.r))
		return
	}
	od.load(d, v)
	od.emit(asm.Or.Imm(d, 0)) // nothing but the end of the link
	od.addImm(d, k, tmp)
}

// extra is the second scratch register.
func (od *operands) extra() asm.Register {
	if !od.second {
		od.lacking = true
	}
	return secondScratch
}

// reg gives a register that holds v, tmp if v has none of its own.
func (od *operands) reg(v ir.Value, tmp asm.Register) asm.Register {
	if at := od.at(v); at.kind == locReg {
		return at.r
	}
	od.load(tmp, v)
	return tmp
}

// load puts v into register d.
func (od *operands) load(d asm.Register, v ir.Value) {
	if k, ok := od.number(v); ok {
		od.movImm(d, int64(k))
		return
	}
	switch at := od.at(v); at.kind {
	case locReg:
		od.mov(d, at.r)
	case locSpill:
		od.emit(asm.LoadMem(d, asm.R10, slotOffset(at.slot), asm.DWord))
	default:
		panic("BUG: ebpf: a value without a place in " + od.p.Name)
	}
}

// number is that of a constant; hidden values are none.
func (pl *planner) number(v ir.Value) (uint64, bool) {
	if int(v) >= len(pl.p.Classes) {
		return 0, false
	}
	return pl.an.number(v)
}

// small gives v as the number in an instruction of width w.
func (pl *planner) small(v ir.Value, w uint8) (int32, bool) {
	k, ok := pl.number(v)
	if !ok {
		return 0, false
	}
	if w < 8 {
		return int32(uint32(k)), true
	}
	return int32(k), int64(k) == int64(int32(k))
}

func (pl *planner) at(v ir.Value) loc {
	if _, ok := pl.number(v); ok {
		return loc{}
	}
	return pl.al.loc[v]
}

// dest is the register to compute v in; store must follow.
func (od *operands) dest(v ir.Value) asm.Register {
	if at := od.al.loc[v]; at.kind == locReg {
		return at.r
	}
	return scratch
}

// store puts register s where v lives.
func (od *operands) store(v ir.Value, s asm.Register) {
	switch at := od.al.loc[v]; at.kind {
	case locReg:
		od.mov(at.r, s)
	case locSpill:
		od.emit(asm.StoreMem(asm.R10, slotOffset(at.slot), s, asm.DWord))
	}
}

func slotOffset(slot int) int16 { return -8 * int16(slot+1) }

// argument is a value that a call needs in a register.
type argument struct {
	r asm.Register
	v ir.Value
}

// arguments loads several registers at once.
func (od *operands) arguments(as ...argument) {
	var ms []move
	for _, a := range as {
		m := move{to: loc{kind: locReg, r: a.r}, from: od.at(a.v)}
		if k, ok := od.number(a.v); ok {
			m.number = k
		}
		ms = append(ms, m)
	}
	od.moves(ms)
}

// signExtend makes 64 bits of the low w bytes of d.
func (od *operands) signExtend(d asm.Register, w uint8) {
	if w == 8 {
		return
	}
	if od.c.Features.V4 {
		op := map[uint8]asm.ALUOp{1: asm.MovSX8, 2: asm.MovSX16, 4: asm.MovSX32}[w]
		od.emit(op.Reg(d, d))
		return
	}
	n := 64 - 8*int32(w)
	od.emit(asm.LSh.Imm(d, n))
	od.emit(asm.ArSh.Imm(d, n))
}

// pointTo makes d = base + off.
func (od *operands) pointTo(d, base asm.Register, off int64) {
	od.mov(d, base)
	if off != 0 {
		od.emit(asm.Add.Imm(d, int32(off)))
	}
}

// rest writes what rare has left, in the present section.
func (st *stubs) rest() {
	for len(st.later) > 0 {
		f := st.later[0]
		st.later = st.later[1:]
		f()
	}
}

// rare leaves f to be called when the blocks, or the function, are done; it writes to the cold
// section (behind the function) and sees the position as it is now.
func (st *stubs) rare(f func()) {
	id, pos, result := st.id, st.pos, st.result
	st.later = append(st.later, func() {
		st.id, st.pos, st.result = id, pos, result
		f()
	})
}
