package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// gen makes the code of one program with one allocation of registers.
type gen struct {
	code
	an *analysis
	l  *liveness
	c  *Config
	p  *ir.Program
	al *allocation
	// behind says what is needed behind each load, where loads may look again.
	behind map[*ir.Instr]valueSet

	second  bool // secondScratch may be used
	lacking bool // it was wanted and might not

	blocks []label
	place  []section
	order  []ir.BlockID
	later  []func() // code for the cold section, written when the blocks are done
	areas  [numAreas]int
	stack  int // bytes used

	// At the present instruction:
	id  ir.BlockID
	pos int32
	// result is the value of a late Result, None before it.
	result ir.Value
}

// area is a part of the stack that is not a spilled value.
type area int

const (
	areaWord   area = iota // what a helper reads
	areaSave               // r1 to r5 around a call in the cold section
	areaLoop               // the state of a loop over pages
	areaText               // a piece of memory to compare
	areaResult             // of Result
	areaPid                // the numbers of a thread and its process, and the way to them
	numAreas
)

var areaSizes = [numAreas]int{areaWord: 8, areaSave: 40, areaLoop: 16, areaText: textPiece, areaResult: 8, areaPid: 24}

// area gives the offset from the frame pointer.
func (g *gen) area(a area) int16 {
	if g.areas[a] == 0 {
		g.stack += areaSizes[a]
		g.areas[a] = g.stack
	}
	return -int16(g.areas[a])
}

func (g *gen) run() {
	g.stack = 8 * g.al.slots
	for range g.p.Blocks {
		g.blocks = append(g.blocks, g.newLabel())
	}
	g.chooseOrder()
	g.prologue()
	for n, id := range g.order {
		next := ir.NoBlock
		if n+1 < len(g.order) && g.place[g.order[n+1]] == g.place[id] {
			next = g.order[n+1]
		}
		g.block(id, next)
	}
	g.cur = cold
	for len(g.later) > 0 {
		f := g.later[0]
		g.later = g.later[1:]
		f()
	}
}

// rare leaves f to be called when the blocks are done; it writes to the cold
// section and sees the position as it is now.
func (g *gen) rare(f func()) {
	id, pos, result := g.id, g.pos, g.result
	g.later = append(g.later, func() {
		g.id, g.pos, g.result = id, pos, result
		f()
	})
}

func (g *gen) prologue() {
	switch at := g.al.loc[g.an.context()]; at.kind {
	case locReg:
		g.mov(at.r, asm.R1)
	case locSpill:
		g.emit(asm.StoreMem(asm.R10, slotOffset(at.slot), asm.R1, asm.DWord))
	}
	if g.an.slotResult {
		g.storeImm(asm.R10, g.area(areaResult), 8, int64(g.c.Return))
	}
}

func (g *gen) block(id, next ir.BlockID) {
	b := g.p.Blocks[id]
	g.cur, g.id, g.result = g.place[id], id, ir.None
	g.bind(g.blocks[id])
	g.note = b.Note
	for k := 0; k <= len(b.Instrs); k++ {
		g.pos = g.l.At(id, k)
		if id == g.an.zeroBlock && k == g.an.zeroIndex {
			g.makeZero()
		}
		if k == len(b.Instrs) {
			break
		}
		if in := &b.Instrs[k]; g.an.emitted(in) {
			if g.note == "" {
				g.note = g.p.InstrString(in)
			}
			lower[in.Op](g, in)
		}
	}
	g.term(&b.Term, next)
}

// lower is the table of operations; each family registers its own.
var lower [ir.NumOps]func(*gen, *ir.Instr)

// makeZero makes a pointer to address 0, from which, plus any number, the
// program may load: faults give 0.
func (g *gen) makeZero() {
	g.movImm(asm.R1, 0)
	g.movImm(asm.R2, 0)
	g.emit(asm.Instruction{
		OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call),
		Src:    asm.PseudoKfuncCall, Constant: int64(g.c.Features.RdonlyCast),
	})
	g.store(g.an.zero(), asm.R0)
}

// mov copies a register.
func (g *gen) mov(d, s asm.Register) {
	if d != s {
		g.emit(asm.Mov.Reg(d, s))
	}
}

// movImm puts a number into a register.
func (g *gen) movImm(d asm.Register, k int64) {
	switch {
	case k == int64(int32(k)):
		g.emit(asm.Mov.Imm(d, int32(k)))
	case k >= 0 && k <= math.MaxUint32:
		g.emit(asm.Mov.Imm32(d, int32(uint32(k))))
	default:
		g.emit(asm.LoadImm(d, k, asm.DWord))
	}
}

// addImm adds a number to the number in d; tmp may be used. It subtracts: see sum.
func (g *gen) addImm(d asm.Register, k int64, tmp asm.Register) {
	switch {
	case k == 0:
	case -k == int64(int32(-k)):
		g.emit(asm.Sub.Imm(d, int32(-k)))
	default:
		g.movImm(tmp, k)
		g.emit(asm.Add.Reg(d, tmp))
	}
}

// storeImm stores a number of w bytes; k must fit 32 bits with sign when w is 8.
func (g *gen) storeImm(base asm.Register, off int16, w uint8, k int64) {
	g.emit(asm.Instruction{OpCode: asm.StoreImmOp(sizeOf(w)), Dst: base, Offset: off, Constant: int64(int32(k))})
}

func sizeOf(w uint8) asm.Size {
	switch w {
	case 1:
		return asm.Byte
	case 2:
		return asm.Half
	case 4:
		return asm.Word
	}
	return asm.DWord
}

func (g *gen) call(f asm.BuiltinFunc) { g.emit(f.Call()) }
