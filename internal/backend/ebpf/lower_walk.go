package ebpf

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/unwind"
)

func init() { lower[ir.Walk] = (*gen).lowerWalk }

// Bounds of a walk, for the verifier. It follows each turn of the loops, so what leaves a loop comes before what goes on
// in it: then few ways wait to be followed at a time (it allows 8192).
const (
	maxWalkFrames  = 128
	maxWalkModules = unwind.SharedModules
	maxRowTurns    = 8 // of unwind.RowsAtOnce rows
)

// Offsets in areaWalk.
const (
	walkSP     = 8 * iota
	walkFP     // of the frame
	walkPC     // what a rule is looked up for
	walkCFA    // of the frame: the caller's stack pointer
	walkRule   // of the frame
	walkI      // bytes stored
	walkList   // where the modules are, of the shared area
	walkCount  // modules
	walkTurn   // of the inner loops
	walkRow    // of the table
	walkModule // the module of the last frame, as the area has it: ModuleRules is its last word
	walkBuf    = walkModule + unwind.ModuleRules + 8
	walkSize   = walkBuf + 4*unwind.RowsAtOnce
)

// walk is a walk along the program's stack being emitted: unwind.Walk by the area in the process, which is read like all
// of its memory, or by the shared area, which programs read by themselves. Nothing is kept from hit to hit.
type walk struct {
	*copies
	in   *ir.Instr
	at   int16 // of areaWalk
	end  label // with the flags in r0
	ends [unwind.Damaged + 1]label
	// take takes the caller's pc, which is in walkPC, and goes on with it. signal: it is no return address.
	take func(again label, signal bool)
	// listed, if not nil, is emitted where r1 has the word of the process's list (unwind.ProcessList), which it keeps.
	listed func()
}

func (g *gen) newWalk(in *ir.Instr) *walk {
	w := &walk{copies: g.copies, in: in, at: g.area(areaWalk), end: g.newLabel()}
	for e := range w.ends {
		w.ends[e] = g.newLabel()
	}
	return w
}

// walks reports why a walk cannot be made.
func (c *Config) walks(in *ir.Instr) error {
	switch {
	case c.Tables.Name != "":
		if err := c.Tables.check(); err != nil {
			return err
		}
	case c.Walk == 0 || c.Context != Regs:
		return fmt.Errorf("the stack: there are no tables to follow it at this place; copy it (--stack copy)")
	}
	if in.Aux > 8*maxWalkFrames {
		return fmt.Errorf("a stack of %d frames: the kernel's programs follow at most %d", in.Aux/8, maxWalkFrames)
	}
	return nil
}

func (g *gen) lowerWalk(in *ir.Instr) {
	w := g.newWalk(in)
	w.take = w.record
	w.begin()
	g.movImm(asm.R1, 8)
	w.keep(walkI, asm.R1)
	w.follow(func() {})
	w.finish()
}

// follow goes from frame to frame, behind what is done first.
func (w *walk) follow(first func()) {
	w.movImm(asm.R1, 0)
	w.keep(walkModule+unwind.ModuleLo, asm.R1)
	w.keep(walkModule+unwind.ModuleHi, asm.R1)
	if w.shared() {
		w.sharedList()
	} else {
		w.movImm(asm.R3, int64(w.c.Walk+unwind.AreaCount))
		w.read(walkCount, 8, unwind.Unknown)
	}
	first()
	again := w.here()
	w.module()
	w.row()
	w.canonical(again)
	w.caller()
	w.take(again, false)
}

// shared reports whether the tables are in the shared area.
func (w *walk) shared() bool { return w.c.Tables.Name != "" }

// begin keeps the registers, and makes the pc the first frame.
func (w *walk) begin() {
	slot := int32(w.in.Imm + ir.CountedHeader)
	if w.shared() {
		w.arguments(argument{asm.R1, w.in.A}, argument{asm.R2, w.in.B})
		w.keep(walkSP, asm.R1)
		w.keep(walkFP, asm.R2)
		w.load(asm.R1, w.an.record())
		w.emit(asm.Add.Imm(asm.R1, slot))
		w.emit(asm.LoadMem(asm.R3, asm.R1, 0, asm.DWord))
		w.keep(walkPC, asm.R3)
		return
	}
	pc, _ := w.c.processor().PtRegs(arch.Reg(ir.RegPC))
	w.arguments(argument{asm.R1, w.in.A}, argument{asm.R2, w.in.B}, argument{asm.R3, w.an.context()})
	w.keep(walkSP, asm.R1)
	w.keep(walkFP, asm.R2)
	w.emit(asm.LoadMem(asm.R3, asm.R3, int16(pc), asm.DWord))
	w.keep(walkPC, asm.R3)
	w.load(asm.R1, w.an.record())
	w.emit(asm.Add.Imm(asm.R1, slot))
	w.emit(asm.StoreMem(asm.R1, 0, asm.R3, asm.DWord))
}

// table reads n bytes of the tables at the address in r3, or at the offset in the shared area.
func (w *walk) table(to, n int16) {
	if w.shared() {
		w.pointShared()
		w.copyShared(to, n)
		return
	}
	w.read(to, int64(n), unwind.Unknown)
}

// word loads a word of the state, keep stores one.
func (w *walk) word(r asm.Register, off int16) { w.emit(asm.LoadMem(r, asm.R10, w.at+off, asm.DWord)) }

func (w *walk) keep(off int16, r asm.Register) { w.emit(asm.StoreMem(asm.R10, w.at+off, r, asm.DWord)) }

func (w *walk) half(r asm.Register, off int16) { w.emit(asm.LoadMem(r, asm.R10, w.at+off, asm.Word)) }

func (w *walk) count(off int16, n, most int32, over label) {
	w.word(asm.R1, off)
	w.emit(asm.Add.Imm(asm.R1, n))
	w.keep(off, asm.R1)
	w.jumpIfImm(asm.JGE, 8, asm.R1, most, over)
}

// read reads n bytes at the address in r3, or ends the walk. The helper that waits for memory which is not there takes twice
// as long, and calling it where this one fails makes the verifier follow twice as much: a stack or a table that is
// paged out ends the walk.
func (w *walk) read(off int16, n int64, end unwind.End) {
	w.pointTo(asm.R1, asm.R10, int64(w.at+off))
	w.movImm(asm.R2, n)
	w.call(asm.FnProbeReadUser)
	w.jumpIfImm(asm.JNE, 8, asm.R0, 0, w.ends[end])
}

// module finds the module of the pc, mostly that of the last frame.
func (w *walk) module() {
	find, again, next, found := w.newLabel(), w.newLabel(), w.newLabel(), w.newLabel()
	// One branch for both bounds: one of the differences is negative outside, because addresses are below 1<<63 in
	// modules.
	within := func(other label) {
		w.word(asm.R1, walkPC)
		w.word(asm.R2, walkModule+unwind.ModuleHi)
		w.emit(asm.Sub.Imm(asm.R2, 1))
		w.emit(asm.Sub.Reg(asm.R2, asm.R1))
		w.word(asm.R3, walkModule+unwind.ModuleLo)
		w.emit(asm.Sub.Reg(asm.R1, asm.R3))
		w.emit(asm.Or.Reg(asm.R1, asm.R2))
		w.jumpIfImm(asm.JSLT, 8, asm.R1, 0, other)
	}
	within(find)
	w.bind(found)
	w.rare(func() {
		w.bind(find)
		if w.shared() {
			w.search()
			within(w.ends[unwind.Unknown])
			w.jump(found)
			return
		}
		w.movImm(asm.R1, 0)
		w.keep(walkTurn, asm.R1)
		w.bind(again)
		w.word(asm.R1, walkTurn)
		w.word(asm.R2, walkCount)
		w.jumpIf(asm.JGE, 8, asm.R1, asm.R2, w.ends[unwind.Unknown])
		w.movImm(asm.R3, int64(w.c.Walk+unwind.AreaModules))
		w.emit(asm.Mul.Imm(asm.R1, unwind.ModuleSize))
		w.emit(asm.Add.Reg(asm.R3, asm.R1))
		w.table(walkModule, unwind.ModuleRules+8)
		within(next)
		w.jump(found)
		w.bind(next)
		w.count(walkTurn, 1, maxWalkModules, w.ends[unwind.Unknown])
		w.jump(again)
	})
}

// row finds the rule: the last row of the table that starts at or before the pc. r1 is the pc less the table's start.
func (w *walk) row() {
	again := w.newLabel()
	w.word(asm.R1, walkPC)
	w.word(asm.R2, walkModule+unwind.ModuleBase)
	w.emit(asm.Sub.Reg(asm.R1, asm.R2))
	w.keep(walkRow, asm.R1)
	w.emit(asm.RSh.Imm(asm.R1, unwind.BucketShift))
	w.emit(asm.LSh.Imm(asm.R1, 2))
	w.word(asm.R3, walkModule+unwind.ModuleFirst)
	w.emit(asm.Add.Reg(asm.R3, asm.R1))
	w.emit(asm.Add.Imm(asm.R3, 4)) // that at the start of the next bucket, or one before it
	w.table(walkBuf, 4)
	w.half(asm.R4, walkBuf)
	w.word(asm.R5, walkRow)
	w.keep(walkCFA, asm.R5) // the offset, for now
	w.keep(walkRow, asm.R4)
	w.movImm(asm.R1, 0)
	w.keep(walkTurn, asm.R1)
	w.bind(again) // rows are sorted, so those behind the one looked for are counted, without branches
	w.word(asm.R3, walkRow)
	w.emit(asm.Sub.Imm(asm.R3, unwind.RowsAtOnce-1))
	w.mov(asm.R1, asm.R3)
	w.emit(asm.ArSh.Imm(asm.R1, 63))
	w.emit(asm.Xor.Imm(asm.R1, -1))
	w.emit(asm.And.Reg(asm.R3, asm.R1)) // not before the first
	w.keep(walkRow, asm.R3)
	w.emit(asm.LSh.Imm(asm.R3, 2))
	w.word(asm.R1, walkModule+unwind.ModuleStarts)
	w.emit(asm.Add.Reg(asm.R3, asm.R1))
	w.table(walkBuf, 4*unwind.RowsAtOnce)
	w.word(asm.R1, walkCFA)
	w.word(asm.R3, walkRow)
	w.emit(asm.Sub.Imm(asm.R3, 1))
	for k := range int16(unwind.RowsAtOnce) {
		w.half(asm.R2, walkBuf+4*k)
		w.mov(asm.R4, asm.R1)
		w.emit(asm.Sub.Reg(asm.R4, asm.R2))
		w.emit(asm.RSh.Imm(asm.R4, 63))
		w.emit(asm.Xor.Imm(asm.R4, 1))
		w.emit(asm.Add.Reg(asm.R3, asm.R4))
	}
	w.word(asm.R2, walkRow)
	less := w.newLabel()
	w.jumpIf(asm.JSLT, 8, asm.R3, asm.R2, less) // all are behind it
	w.rare(func() {
		w.bind(less)
		w.keep(walkRow, asm.R3)
		w.count(walkTurn, 1, maxRowTurns, w.ends[unwind.Unknown])
		w.jump(again)
	})
	w.emit(asm.LSh.Imm(asm.R3, 2))
	w.word(asm.R1, walkModule+unwind.ModuleRules)
	w.emit(asm.Add.Reg(asm.R3, asm.R1))
	w.table(walkBuf, 4)
	w.half(asm.R1, walkBuf)
	w.keep(walkRule, asm.R1)
}

// distance makes r the distance of the rule, or the other one.
func (w *walk) distance(r asm.Register, saved bool) {
	w.word(r, walkRule)
	if saved {
		w.emit(asm.RSh.Imm(r, unwind.SavedShift))
	}
	w.emit(asm.And.Imm(r, unwind.FieldMask))
}

// canonical computes the frame's CFA.
func (w *walk) canonical(again label) {
	byFP, savedByFP, rest, have := w.newLabel(), w.newLabel(), w.newLabel(), w.newLabel()
	is := func(k unwind.Kind, other label) {
		w.word(asm.R1, walkRule)
		w.emit(asm.And.Imm(asm.R1, unwind.KindMask))
		w.jumpIfImm(asm.JNE, 8, asm.R1, int32(k), other)
	}
	above := func(k unwind.Kind, base int16, other label) {
		is(k, other)
		w.distance(asm.R1, false)
		w.word(asm.R2, base)
		w.emit(asm.Add.Reg(asm.R1, asm.R2))
		w.keep(walkCFA, asm.R1)
		w.jump(have)
	}
	above(unwind.BySP, walkSP, byFP)
	w.bind(byFP)
	above(unwind.ByFP, walkFP, savedByFP)
	w.bind(savedByFP)
	is(unwind.SavedByFP, rest)
	w.distance(asm.R1, false)
	w.word(asm.R3, walkFP)
	w.emit(asm.Sub.Reg(asm.R3, asm.R1))
	w.read(walkCFA, 8, unwind.Unreadable)
	w.word(asm.R3, walkFP)
	w.read(walkFP, 8, unwind.Unreadable)
	w.bind(have)
	w.rare(func() {
		w.bind(rest)
		w.others(again)
	})
}

// others are the frames of signals, and the rules that end a walk; the kind is in r1.
func (w *walk) others(again label) {
	ended := w.newLabel()
	w.jumpIfImm(asm.JNE, 8, asm.R1, int32(unwind.Signal), ended)
	for _, x := range []struct {
		to  int16
		off uint64
	}{{walkCFA, unwind.SignalSP}, {walkFP, unwind.SignalFP}, {walkPC, unwind.SignalPC}} {
		w.word(asm.R3, walkSP)
		w.emit(asm.Add.Imm(asm.R3, int32(x.off)))
		w.read(x.to, 8, unwind.Unreadable)
	}
	w.word(asm.R1, walkCFA)
	w.keep(walkSP, asm.R1)
	w.take(again, true)
	w.bind(ended)
	w.jumpIfImm(asm.JEq, 8, asm.R1, int32(unwind.Outermost), w.ends[unwind.Whole])
	w.jumpIfImm(asm.JEq, 8, asm.R1, int32(unwind.None), w.ends[unwind.Unknown])
	w.jump(w.ends[unwind.Special])
}

// caller finds the caller's registers.
func (w *walk) caller() {
	same := w.newLabel()
	w.word(asm.R1, walkCFA)
	w.word(asm.R2, walkSP)
	w.jumpIf(asm.JLE, 8, asm.R1, asm.R2, w.ends[unwind.Damaged])
	w.distance(asm.R2, true)
	w.jumpIfImm(asm.JEq, 8, asm.R2, 0, same)
	w.mov(asm.R3, asm.R1)
	w.emit(asm.Sub.Reg(asm.R3, asm.R2))
	w.read(walkFP, 8, unwind.Unreadable)
	w.bind(same)
	w.word(asm.R3, walkCFA)
	w.keep(walkSP, asm.R3)
	w.emit(asm.Sub.Imm(asm.R3, 8))
	w.read(walkPC, 8, unwind.Unreadable)
}

// record stores the caller's pc in the record.
func (w *walk) record(again label, signal bool) {
	w.word(asm.R3, walkPC)
	w.jumpIfImm(asm.JEq, 8, asm.R3, 0, w.ends[unwind.Whole])
	w.word(asm.R2, walkI)
	w.jumpIfImm(asm.JGE, 8, asm.R2, int32(w.in.Aux), w.ends[unwind.Deep])
	w.load(asm.R1, w.an.record())
	w.emit(asm.Add.Imm(asm.R1, int32(w.in.Imm+ir.CountedHeader)))
	w.emit(asm.Add.Reg(asm.R1, asm.R2))
	w.emit(asm.StoreMem(asm.R1, 0, asm.R3, asm.DWord))
	w.emit(asm.Add.Imm(asm.R2, 8))
	w.keep(walkI, asm.R2)
	if !signal {
		w.emit(asm.Sub.Imm(asm.R3, 1)) // in the call
		w.keep(walkPC, asm.R3)
	}
	w.jump(again)
}

// finish writes the length and the flags.
func (w *walk) finish() {
	w.bind(w.end)
	w.word(asm.R2, walkI)
	w.emit(asm.Or.Reg(asm.R0, asm.R2))
	w.counted(w.in, asm.R0)
	w.rare(func() {
		for e, l := range w.ends {
			flags := int64(e) * ir.WalkEnd
			if unwind.End(e) == unwind.Deep {
				flags |= ir.FlagTruncated
			}
			w.bind(l)
			w.movImm(asm.R0, flags<<32)
			w.jump(w.end)
		}
	})
}
