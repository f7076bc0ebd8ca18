package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/unwind"
)

func init() { lower[ir.Walk] = (*gen).lowerWalk }

// walk is a walk along the stack being emitted: unwind.Walk by the process's area.
type walk struct {
	*gen
	sp, fp, pc, cache Reg
	rule, t           Reg
	bounded           bool // pcs have at most unwind.AddressBits

	loop, have, cfa label
	ends            [unwind.Damaged + 1]label
	// take emits what is done with a caller's pc, up to the jump to loop. At loop pc is that of the call, or of the
	// instruction that a signal interrupted. rule and t are free.
	take func(signal bool)
}

// newWalk begins a walk from the registers that in has. t is the register for intermediate results.
func (g *gen) newWalk(in *ir.Instr, t Reg) *walk {
	w := &walk{
		gen: g, sp: g.scratch(), fp: g.scratch(), pc: g.scratch(), cache: g.scratch(), rule: g.scratch(), t: t,
		loop: g.a.newLabel(), have: g.a.newLabel(), cfa: g.a.newLabel(),
	}
	for e := range w.ends {
		w.ends[e] = g.a.newLabel()
	}
	g.move(w.sp, 8, g.val(in.A, 8))
	g.move(w.fp, 8, g.val(in.B, 8))
	w.loadCache()
	return w
}

// loadCache makes cache the address of the cache.
func (w *walk) loadCache() {
	w.movImm(w.cache, int64(w.cfg.Walk))
	w.rmo(iMOV, 8, w.cache, memOpd(at(w.cache, unwind.AreaCache)))
}

// stored is a walk whose pcs go to the record.
type stored struct {
	*walk
	dst mem // the slot's bytes
	max int64
	i   Reg   // bytes stored
	end label // with the flags in t
}

func (g *gen) lowerWalk(in *ir.Instr) {
	rec := g.rec()
	w := &stored{dst: at(rec, int32(in.Imm)).plus(slotBytes), max: in.Aux, i: g.scratch(), end: g.a.newLabel()}
	w.walk = g.newWalk(in, g.scratch())
	w.walk.take = w.take
	g.sitePC(w.pc, pcItself, &g.cfg)
	g.mr(iMOV, 8, rmMem(w.dst), w.pc)
	g.movImm(w.i, 8)
	w.frame()
	g.later(w.rare)
	g.a.bind(w.end)
	g.mr(iMOV, 4, rmMem(at(rec, int32(in.Imm)).plus(slotLen)), w.i)
	g.mr(iMOV, 4, rmMem(at(rec, int32(in.Imm)).plus(slotFlags)), w.t)
}

// take stores the caller's pc.
func (w *stored) take(signal bool) {
	w.mr(iTEST, 8, rmReg(w.pc), w.pc)
	w.a.jcc(ccE, w.ends[unwind.Whole])
	w.mi(iCMP, 4, rmReg(w.i), w.max)
	w.a.jcc(ccAE, w.ends[unwind.Deep])
	w.mr(iMOV, 8, rmMem(w.dst.indexed(w.i)), w.pc)
	w.mi(iADD, 4, rmReg(w.i), 8)
	if !signal {
		w.mi(iSUB, 8, rmReg(w.pc), 1) // in the call
	}
	w.a.jmp(w.loop)
}

// rare are the ends.
func (w *stored) rare() {
	for e, l := range w.ends {
		flags := int64(e) * ir.WalkEnd
		if unwind.End(e) == unwind.Deep {
			flags |= ir.FlagTruncated
		}
		w.a.bind(l)
		w.movImm(w.t, flags)
		w.a.jmp(w.end)
	}
}

// load loads a word of the stack.
func (w *walk) load(r Reg, m mem) {
	o := memOpd(m)
	o.fix = w.ends[unwind.Unreadable]
	w.rmo(iMOV, 8, r, o)
}

// tag makes r the part of an address in pc that a word of the cache has.
func (w *walk) tag(r Reg) {
	w.rmo(iMOV, 8, r, regOpd(w.pc))
	w.mi(iSHR, 8, rmReg(r), unwind.CacheBits)
	w.mi(iSHL, 8, rmReg(r), unwind.TagShift)
}

// slot makes r the index in the cache of the address in pc.
func (w *walk) slot(r Reg) {
	w.rmo(iMOV, 4, r, regOpd(w.pc))
	w.mi(iAND, 4, rmReg(r), 1<<unwind.CacheBits-1)
}

// distance makes t the distance of the rule.
func (w *walk) distance() {
	w.rmo(iMOV, 4, w.t, regOpd(w.rule))
	w.mi(iAND, 4, rmReg(w.t), unwind.FieldMask)
}

// frame finds a caller by a rule of the cache, if it is of one of the common kinds.
func (w *walk) frame() {
	miss, byFP, other, same := w.a.newLabel(), w.a.newLabel(), w.a.newLabel(), w.a.newLabel()
	w.a.bind(w.loop)
	if !w.bounded {
		w.rmo(iMOV, 8, w.t, regOpd(w.pc))
		w.mi(iSHR, 8, rmReg(w.t), unwind.AddressBits) // the cache has no room for more
		w.a.jcc(ccNE, w.ends[unwind.Unknown])
	}
	w.slot(w.t)
	w.rmo(iMOV, 8, w.rule, memOpd(atIdx(w.cache, w.t, 8, 0)))
	w.tag(w.t)
	w.rmo(iXOR, 8, w.rule, regOpd(w.t))
	w.rmo(iMOV, 8, w.t, regOpd(w.rule))
	w.mi(iSHR, 8, rmReg(w.t), unwind.TagShift)
	w.a.jcc(ccNE, miss)
	w.a.bind(w.have)
	w.rmo(iMOV, 4, w.t, regOpd(w.rule))
	w.mi(iAND, 4, rmReg(w.t), unwind.KindMask)
	w.mi(iCMP, 4, rmReg(w.t), int64(unwind.BySP))
	w.a.jcc(ccNE, byFP)
	w.distance()
	w.rmo(iADD, 8, w.t, regOpd(w.sp))
	w.a.bind(w.cfa)
	w.rmo(iCMP, 8, w.t, regOpd(w.sp))
	w.a.jcc(ccBE, w.ends[unwind.Damaged])
	w.mi(iSHR, 4, rmReg(w.rule), unwind.SavedShift)
	w.mi(iAND, 4, rmReg(w.rule), unwind.FieldMask)
	w.a.jcc(ccE, same)
	w.m(iNEG, 8, regOpd(w.rule))
	w.load(w.fp, atIdx(w.t, w.rule, 1, 0))
	w.a.bind(same)
	w.load(w.pc, at(w.t, -8))
	w.rmo(iMOV, 8, w.sp, regOpd(w.t))
	w.take(false)
	w.a.bind(byFP)
	w.mi(iCMP, 4, rmReg(w.t), int64(unwind.ByFP))
	w.a.jcc(ccNE, other)
	w.distance()
	w.rmo(iADD, 8, w.t, regOpd(w.fp))
	w.a.jmp(w.cfa)
	w.later(func() {
		w.a.bind(other)
		w.kinds()
		w.a.bind(miss)
		w.find()
	})
}

// kinds are the other rules; the kind is in t.
func (w *walk) kinds() {
	signal, ended := w.a.newLabel(), w.a.newLabel()
	w.mi(iCMP, 4, rmReg(w.t), int64(unwind.SavedByFP))
	w.a.jcc(ccNE, signal)
	w.distance()
	w.m(iNEG, 8, regOpd(w.t))
	w.load(w.t, atIdx(w.fp, w.t, 1, 0))
	w.load(w.fp, at(w.fp, 0))
	w.a.jmp(w.cfa)
	w.a.bind(signal)
	w.mi(iCMP, 4, rmReg(w.t), int64(unwind.Signal))
	w.a.jcc(ccNE, ended)
	w.load(w.t, at(w.sp, int32(unwind.SignalSP)))
	w.load(w.fp, at(w.sp, int32(unwind.SignalFP)))
	w.load(w.pc, at(w.sp, int32(unwind.SignalPC)))
	w.rmo(iMOV, 8, w.sp, regOpd(w.t))
	w.take(true)
	w.a.bind(ended)
	w.mi(iCMP, 4, rmReg(w.t), int64(unwind.Outermost))
	w.a.jcc(ccE, w.ends[unwind.Whole])
	w.mi(iCMP, 4, rmReg(w.t), int64(unwind.None))
	w.a.jcc(ccE, w.ends[unwind.Unknown])
	w.a.jmp(w.ends[unwind.Special])
}

// find looks in the tables for the rule at pc, and keeps it in the cache.
func (w *walk) find() {
	next, skip, found, scan, got := w.a.newLabel(), w.a.newLabel(), w.a.newLabel(), w.a.newLabel(), w.a.newLabel()
	module, end, array, row := w.t, w.rule, w.cache, w.rule
	w.movImm(array, int64(w.cfg.Walk))
	w.rmo(iMOV, 8, end, memOpd(at(array, unwind.AreaCount)))
	w.mi(iSHL, 8, rmReg(end), 6) // ModuleSize
	w.lea(8, module, at(array, unwind.AreaModules))
	w.rmo(iADD, 8, end, regOpd(module))
	w.a.bind(next)
	w.rmo(iCMP, 8, module, regOpd(end))
	w.a.jcc(ccAE, w.ends[unwind.Unknown])
	w.rmo(iCMP, 8, w.pc, memOpd(at(module, unwind.ModuleLo)))
	w.a.jcc(ccB, skip)
	w.rmo(iCMP, 8, w.pc, memOpd(at(module, unwind.ModuleHi)))
	w.a.jcc(ccB, found)
	w.a.bind(skip)
	w.mi(iADD, 8, rmReg(module), unwind.ModuleSize)
	w.a.jmp(next)

	// From here pc is the offset in the table, and again the address at the end.
	w.a.bind(found)
	w.rmo(iSUB, 8, w.pc, memOpd(at(module, unwind.ModuleBase)))
	w.rmo(iMOV, 8, row, regOpd(w.pc))
	w.mi(iSHR, 8, rmReg(row), unwind.BucketShift)
	w.rmo(iMOV, 8, array, memOpd(at(module, unwind.ModuleFirst)))
	w.rmo(iMOV, 4, row, memOpd(atIdx(array, row, 4, 4))) // that at the start of the next bucket, or one before it
	w.rmo(iMOV, 8, array, memOpd(at(module, unwind.ModuleStarts)))
	w.a.bind(scan)
	w.rmo(iCMP, 4, w.pc, memOpd(atIdx(array, row, 4, 0)))
	w.a.jcc(ccAE, got)
	w.mi(iSUB, 4, rmReg(row), 1)
	w.a.jmp(scan)
	w.a.bind(got)
	w.rmo(iADD, 8, w.pc, memOpd(at(module, unwind.ModuleBase)))
	w.rmo(iMOV, 8, array, memOpd(at(module, unwind.ModuleRules)))
	w.rmo(iMOV, 4, w.rule, memOpd(atIdx(array, row, 4, 0)))

	w.loadCache()
	w.tag(w.t)
	w.rmo(iOR, 8, w.rule, regOpd(w.t))
	w.slot(w.t)
	w.mr(iMOV, 8, rmMem(atIdx(w.cache, w.t, 8, 0)), w.rule)
	w.mi(iSHL, 8, rmReg(w.rule), 64-unwind.TagShift) // the rule without the address
	w.mi(iSHR, 8, rmReg(w.rule), 64-unwind.TagShift)
	w.a.jmp(w.have)
}
