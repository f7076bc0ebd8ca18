package amd64

import (
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
	r    Reg
	slot int // spill number
}

// allocation is the result of the register allocator.
type allocation struct {
	loc    []loc
	byItem [numRegisters][]regalloc.Interval // what each register holds, for scratch registers
	spills int
}

// numRegisters: the allocator's registers are the items below, general and xmm.
const numRegisters = 32

// machine is regalloc's Machine for one site.
type machine struct {
	l       *liveness
	dead    regSet
	avoid   regSet // read by the program
	used    regSet // destroyed anyhow
	gpr     []regalloc.Reg
	xmm     []regalloc.Reg
	exclude regSet
}

// allocate gives each value a register or a spill slot. Registers in exclude are left
// to scratch use.
func allocate(l *liveness, dead, used, exclude regSet) *allocation {
	m := &machine{l: l, dead: dead, avoid: l.an.regReads, used: used, exclude: exclude}
	m.gpr, m.xmm = m.list(allGPR), m.list(allXMM)
	res := regalloc.Allocate(l.Liveness, m, regalloc.Options{Registers: numRegisters})
	out := &allocation{loc: make([]loc, len(res.Places)), spills: res.Slots}
	for v, at := range res.Places {
		out.loc[v] = loc{kind: at.Kind, r: regOf(item(at.Reg)), slot: at.Slot}
	}
	for it, vs := range res.Holders {
		for _, v := range vs {
			out.byItem[it] = append(out.byItem[it], l.Lives[v])
		}
	}
	return out
}

// regOf is the number of the register that an item is.
func regOf(it item) Reg {
	if it >= itemXMM {
		return Reg(it - itemXMM)
	}
	return Reg(it)
}

func (m *machine) list(pool regSet) (list []regalloc.Reg) {
	(pool &^ m.exclude).each(func(it item) { list = append(list, regalloc.Reg(it)) })
	return list
}

// isXMM reports whether v is a number in an xmm register; hidden values are none.
func (m *machine) isXMM(v ir.Value) bool {
	return int(v) < len(m.l.an.p.Classes) && m.l.an.p.Classes[v] != ir.I64
}

// Registers implements regalloc.Machine, as the methods below.
func (m *machine) Registers(v ir.Value) []regalloc.Reg {
	if m.isXMM(v) {
		return m.xmm
	}
	return m.gpr
}

// Wanted is the register of the value from which v is made.
func (m *machine) Wanted(v ir.Value, hinted regalloc.Reg, ok bool) (regalloc.Reg, bool) {
	it := item(hinted)
	return hinted, ok && (it >= itemXMM) == m.isXMM(v) && !m.exclude.has(it)
}

// Cost ranks registers: dead ones, those that are destroyed anyhow, those that
// hold nothing the program reads; short encodings first among equals.
func (m *machine) Cost(r regalloc.Reg, used bool) int {
	it, c := item(r), 0
	used = used || m.used.has(it)
	switch {
	case m.dead.has(it) && !m.avoid.has(it):
	case used && !m.avoid.has(it):
		c = 100
	case !m.avoid.has(it):
		c = 200
	case used:
		c = 250
	default:
		c = 300
	}
	if it < itemXMM {
		return c + gprRank[it]
	}
	return c + int(it-itemXMM)
}

// gprRank: the registers of the record path first (they are saved there anyhow),
// then short encodings, then the rest.
var gprRank = [16]int{
	RAX: 0, RDX: 1, RCX: 2, RSI: 3, RDI: 4, R8: 6, R9: 7, R10: 8, R11: 9,
	RBX: 10, RBP: 11, R14: 12, R15: 13, R12: 14, R13: 15,
}

// Destroyed: by an instruction's hardware role.
func (m *machine) Destroyed(r regalloc.Reg, iv regalloc.Interval) bool {
	for _, f := range m.l.fixed {
		if f.regs.has(item(r)) && iv.From <= f.pos && f.pos <= iv.To {
			return true
		}
	}
	return false
}

// Pinned: the record's address is read by all that follows it.
func (m *machine) Pinned(v ir.Value) bool { return v == m.l.recPtr() }
