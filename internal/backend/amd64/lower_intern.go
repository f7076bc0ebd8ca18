package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
)

func init() { lower[ir.Intern] = (*gen).lowerIntern }

// interned is a walk whose pcs are entered into the table of stacks, by the writer protocol of ring/stacks.go. Between
// two frames nothing depends on the words of the table: a node's number is its place, and the comparison with
// the word there is only expected to succeed.
type interned struct {
	*walk
	node Reg // the frame's place
	left Reg // frames that may follow

	probe   label // rule is the word that the frame has at this place
	entered label
	end     label // with the upper bits of the number in t
	full    label
}

func (g *gen) lowerIntern(in *ir.Instr) {
	g.take(RAX)
	g.clobber(item(RAX)) // lock cmpxchg has it as an operand
	w := &interned{
		node: g.scratch(), left: g.scratch(),
		probe: g.a.newLabel(), entered: g.a.newLabel(), end: g.a.newLabel(), full: g.a.newLabel(),
	}
	w.walk = g.newWalk(in, RAX)
	w.walk.take, w.walk.bounded = w.take, ring.StackPCBits <= unwind.AddressBits
	g.movImm(w.left, in.Aux/8-1)
	g.sitePC(w.node, pcHome, &g.cfg)
	g.sitePC(w.rule, pcWord, &g.cfg)
	g.sitePC(w.pc, pcBehind, &g.cfg) // not a call
	g.a.jmp(w.probe)
	w.frame()
	done := g.a.newLabel()
	g.later(func() {
		for e, l := range w.ends {
			g.a.bind(l)
			g.movImm(RAX, ring.StackKnown+int64(e)*ring.StackEnd)
			g.a.jmp(w.end)
		}
		g.a.comment("; no place")
		g.a.bind(w.full)
		g.movImm(RAX, int64(g.cfg.Layout.Stacks))
		g.m(iLOCKINC, 8, memOpd(at(RAX, 0)))
		g.zero(RAX)
		g.a.jmp(done)
	})
	g.a.bind(w.end)
	g.rmo(iOR, 4, RAX, regOpd(w.node))
	g.a.bind(done)
	d := g.dst(in.Dst)
	g.moveAny(d, 8, regOpd(RAX))
	g.setDst(in.Dst, d)
}

// place is the memory of the node. It makes base the address of the nodes.
func (w *interned) place(base Reg) mem {
	w.movImm(base, int64(w.cfg.Layout.Stacks+ring.StacksNodes))
	return atIdx(base, w.node, 8, 0)
}

// take enters the caller's pc.
func (w *interned) take(signal bool) {
	w.mr(iTEST, 8, rmReg(w.pc), w.pc)
	w.a.jcc(ccE, w.ends[unwind.Whole])
	w.mi(iSUB, 4, rmReg(w.left), 1)
	w.a.jcc(ccB, w.ends[unwind.Deep])
	w.rmo(iMOV, 8, w.rule, regOpd(w.pc))
	w.mi(iSHR, 8, rmReg(w.rule), ring.StackPCBits)
	w.a.jcc(ccNE, w.ends[unwind.Damaged])
	w.effects(iIMULI, RAX, false)
	w.a.rmi(4, RAX, rmReg(w.pc), ring.StackMix)
	w.mi(iSHR, 4, rmReg(RAX), ring.StackMixShift)
	w.lea(4, w.node, atIdx(w.node, w.node, ring.StackParent-1, 0))
	w.rmo(iADD, 4, w.node, regOpd(RAX))
	w.mi(iAND, 4, rmReg(w.node), ring.StackNodes-1)
	w.rmo(iMOV, 8, w.rule, regOpd(w.pc))
	w.mi(iSHL, 8, rmReg(w.rule), ring.StackShift)
	w.mi(iADD, 8, rmReg(w.rule), 1)
	if signal {
		w.mi(iADD, 8, rmReg(w.pc), 1) // not a call
		w.a.jmp(w.probe)
		return
	}
	w.a.bind(w.probe)
	w.rmo(iCMP, 8, w.rule, memOpd(w.place(RAX)))
	slow := w.a.newLabel()
	w.a.jcc(ccNE, slow)
	w.a.bind(w.entered)
	w.mi(iSUB, 8, rmReg(w.pc), 1) // in the call
	w.a.jmp(w.loop)
	w.later(func() { w.a.bind(slow); w.collision() })
}

// collision tries the next place, or enters a new node.
func (w *interned) collision() {
	free, again := w.a.newLabel(), w.a.newLabel()
	place := w.place(w.cache)
	w.mi(iCMP, 8, rmMem(place), 0)
	w.a.jcc(ccE, free)
	w.mi(iADD, 4, rmReg(w.node), 1)
	w.mi(iAND, 4, rmReg(w.node), ring.StackNodes-1)
	w.mi(iADD, 8, rmReg(w.rule), 1)
	w.rmo(iMOV, 4, RAX, regOpd(w.rule))
	w.mi(iAND, 4, rmReg(RAX), 1<<ring.StackShift-1)
	w.mi(iCMP, 4, rmReg(RAX), ring.StackProbes)
	w.a.jcc(ccA, w.full)
	w.a.bind(again)
	w.loadCache()
	w.a.jmp(w.probe)
	w.a.bind(free)
	w.zero(RAX)
	w.mr(iCMPXCHG, 8, rmMem(place), w.rule)
	w.a.jcc(ccNE, again) // another thread was faster
	w.loadCache()
	w.a.jmp(w.entered)
}
