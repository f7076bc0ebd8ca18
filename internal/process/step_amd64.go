package process

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// kinds of instructions by what a step over them must heed.
var kinds = map[patch.Stepping]runcontrol.InsnKind{
	patch.StepCall: runcontrol.InsnCall, patch.StepPushes: runcontrol.InsnPushf, patch.StepPops: runcontrol.InsnPopf, patch.StepRepeat: runcontrol.InsnRep,
}

// classify decodes one instruction.
func classify(b []byte) runcontrol.Insn {
	in, err := patch.Decode(b, 0)
	if err != nil {
		return runcontrol.Insn{} // the processor will refuse it too
	}
	return runcontrol.Insn{Kind: kinds[in.Stepping()], Len: in.Len}
}

// fixStep takes our trap flag out of where an instruction has copied the flags to.
//
// Before popf the kernel forgets that the flag is ours (enable_single_step), and at
// the next single step it would take it for the program's: it stays for ever. It
// clears the state in between when the thread is resumed without a step.
func (p *stepper) fixStep(t *task, kind runcontrol.InsnKind) {
	if kind == runcontrol.InsnOther || kind == runcontrol.InsnRep {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil || regs.Eflags&sys.TrapFlag != 0 {
		return // dying, or it is the program's own
	}
	switch kind {
	case runcontrol.InsnCall:
		fixR11(t.TID, &regs)
		return
	case runcontrol.InsnPopf:
		if d := &t.dbg; d.Exclusive == nil { // signals that come now wait
			d.Exclusive = &runcontrol.Exclusive{}
			defer func() { d.Exclusive = nil }()
		}
		_ = p.world.settle(t) // an error: it is dying
		return
	}
	var b [2]byte
	if p.space.Read(regs.SP(), b[:]) != nil {
		return
	}
	f := binary.LittleEndian.Uint16(b[:])
	binary.LittleEndian.PutUint16(b[:], f&^sys.TrapFlag)
	_ = p.space.Write(regs.SP(), b[:]) // an error: it is dying
}

// trapFlag reports whether the program has set the trap flag: the kernel hides its own.
func trapFlag(regs *Regs) bool { return regs.Eflags&sys.TrapFlag != 0 }

// clearTrapFlag takes it out of a stopped thread's flags.
func clearTrapFlag(tid int) {
	var regs Regs
	if sys.GetRegs(tid, &regs) == nil {
		regs.Eflags &^= sys.TrapFlag
		_ = sys.SetRegs(tid, &regs) // ESRCH: dying
	}
}

// fixR11 clears it in r11, where syscall puts the flags.
func fixR11(tid int, regs *Regs) {
	if regs.R11&sys.TrapFlag != 0 && regs.R11 == regs.Eflags|sys.TrapFlag {
		regs.R11 &^= sys.TrapFlag
		_ = sys.SetRegs(tid, regs) // ESRCH: dying
	}
}
