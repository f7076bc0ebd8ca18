package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/backend/regalloc"
	"github.com/jalon-trace/jalon/internal/ir"
)

type locKind = regalloc.Kind

const (
	locNone  = regalloc.Nowhere
	locReg   = regalloc.InRegister
	locSpill = regalloc.Spilled
)

// loc is where a value lives for its whole interval.
type loc struct {
	kind locKind
	r    asm.Register
	slot int // of the stack, in units of 8 bytes below the frame pointer, from 0
}

// r0 takes the results of calls and is scratch everywhere. When one scratch
// register is not enough for a program (a spilled operand and a spilled result),
// secondScratch is withheld from values, too.
const (
	scratch       = asm.R0
	secondScratch = asm.R5
	firstSaved    = asm.R6 // r6 to r9 survive calls
	lastRegister  = asm.R9
)

// preference is the order in which registers are allocated. r1 to r3 are the arguments of calls, so they
// are last among those that calls destroy.
var preference = []regalloc.Reg{
	regalloc.Reg(asm.R4), regalloc.Reg(asm.R5), regalloc.Reg(asm.R3), regalloc.Reg(asm.R2), regalloc.Reg(asm.R1),
	regalloc.Reg(asm.R6), regalloc.Reg(asm.R7), regalloc.Reg(asm.R8), regalloc.Reg(asm.R9),
}

// allocation is the result of the register allocator.
type allocation struct {
	loc   []loc
	slots int
}

// machineRegs is regalloc's Machine.
type machineRegs struct {
	l        *liveness
	withheld asm.Register // R0: none
}

// allocate gives each value a register or a stack slot.
func allocate(l *liveness, withheld asm.Register) *allocation {
	m := &machineRegs{l: l, withheld: withheld}
	res := regalloc.Allocate(l.Liveness, m, regalloc.Options{Registers: int(lastRegister) + 1, ShareSlots: true})
	out := &allocation{loc: make([]loc, len(res.Places)), slots: res.Slots}
	for v, at := range res.Places {
		out.loc[v] = loc{kind: at.Kind, r: asm.Register(at.Reg), slot: at.Slot}
	}
	return out
}

// Registers implements regalloc.Machine, as the methods below.
func (m *machineRegs) Registers(ir.Value) []regalloc.Reg { return preference }

// Wanted: the context is in r1 at the start.
func (m *machineRegs) Wanted(v ir.Value, hinted regalloc.Reg, ok bool) (regalloc.Reg, bool) {
	if v == m.l.an.context() {
		return regalloc.Reg(asm.R1), true
	}
	return hinted, ok
}

// Cost: the order decides.
func (m *machineRegs) Cost(regalloc.Reg, bool) int { return 0 }

// Destroyed: by calls.
func (m *machineRegs) Destroyed(r regalloc.Reg, iv regalloc.Interval) bool {
	return asm.Register(r) == m.withheld || asm.Register(r) < firstSaved && m.l.crosses(iv)
}

// Pinned: the record's address is read by all that follows it.
func (m *machineRegs) Pinned(v ir.Value) bool { return v == m.l.an.record() }
