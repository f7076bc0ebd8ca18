package agentexpr

import (
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// The state of the x87 is by far the dearest thing to store at a hit, and it and the
// upper halves of the ymm registers are more than half of what GDB's $regs is. Both are
// seldom in use: mostly the processor has them as they are initially, and knows it.
// Where it reports that (amd64.InUse), a record has them at its end, or is shorter.

// rarePart is what only the longer records of a site have; the zero rarePart: there
// is none.
type rarePart struct {
	at      int64 // where it begins; 0: not known yet
	present int   // RegSlot.Present of the registers of the x87
	x87     int
	upper   map[int]int // by register number
	end     int64
}

// reserve emits what makes room for the record.
func (rc *recorder) reserve(s *Site) {
	if !rc.opt.InUse || !rc.layRare(s) {
		rc.b.Emit(ir.Instr{Op: ir.Reserve})
		return
	}
	rc.x87 = rc.rare.x87
	long, short, x87 := rc.b.NewBlock("in use"), rc.b.NewBlock(""), rc.b.NewBlock("x87 in use")
	halves, on := rc.b.NewBlock("upper halves"), rc.b.NewBlock("")
	used := rc.b.Reg(int64(amd64.InUse))
	rc.b.BranchTo(used, ir.Edge{To: long}, ir.Edge{To: short}, true)
	rc.b.Start(short)
	rc.b.Emit(ir.Instr{Op: ir.Reserve})
	rc.b.Jump(on)

	rc.b.Start(long)
	rc.b.Emit(ir.Instr{Op: ir.Reserve, Imm: rc.rare.end})
	rc.b.Branch(rc.b.Bin(ir.And, 4, used, rc.b.Const(amd64.InUseX87)), x87, halves)
	rc.b.Start(x87)
	rc.b.Emit(ir.Instr{Op: ir.PutReg, Aux: amd64.X87, Imm: int64(rc.rare.x87)})
	rc.put(1, rc.rare.present, rc.b.Const(1))
	rc.b.Jump(halves)
	// They are stored in any case: where they go the x87 state leaves other bytes.
	rc.b.Start(halves)
	for n := range Registers {
		if at, ok := rc.rare.upper[n]; ok {
			rc.putVector(n, at)
		}
	}
	rc.b.Jump(on)
	rc.b.Start(on)
}

// layRare places what is rare behind all else; false: there is nothing of it.
func (rc *recorder) layRare(s *Site) bool {
	wanted := false
	upper := map[int]int{}
	for i := range s.Actions {
		if s.Actions[i].Kind != CollectRegs {
			continue
		}
		wanted = wanted || rc.wantsX87(s.Actions[i].Regs)
		for _, n := range s.Actions[i].Regs {
			if upperHalf(n) && rc.readable(n) {
				upper[n] = 0
			}
		}
	}
	if !wanted {
		return false
	}
	r := &rc.rare
	r.present = int(r.at)
	r.x87 = (r.present + x87Align) / x87Align * x87Align
	next := r.x87 + amd64.X87Bytes // in the rest of the x87's slot
	for n := range Registers {
		if _, ok := upper[n]; ok {
			upper[n] = next
			next += Registers[n].Size
		}
	}
	r.upper, r.end = upper, int64(max(next, r.x87+amd64.X87Slot)+x87Align-1)/x87Align*x87Align
	return true
}

// x87Align is that of the x87 state in the record, and of the sizes of such records. The
// processor stores at multiples of 16 only, and what it stores elsewhere in the slot is
// moved: records of other sites may have led to a place that is none.
const x87Align = 16

// upperHalf reports whether n is the upper half of a ymm register.
func upperHalf(n int) bool {
	return n >= 0 && n < len(Registers) && Registers[n].kind == regVector && Registers[n].ir >= amd64.UpperYMM && Registers[n].ir < amd64.MXCSR
}
