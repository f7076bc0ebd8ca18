package patch

// Budget of DeadAt: instructions looked at on all paths together.
const liveBudget = 64

// flagsBit represents the flags in a set of pending registers.
const flagsBit = 1 << 16

// DeadAt returns the general registers, and whether the arithmetic flags, that
// the program overwrites before reading them on every path from addr, so that
// code inserted before addr need not preserve them.
//
// It walks forward through the direct branches of the function. Whatever it
// cannot see ends a path with everything still pending alive: calls, returns,
// indirect jumps, system calls, traps, code outside the function and its other
// parts, instructions whose effects are unknown. No calling convention is assumed
// for registers (gcc's -fipa-ra breaks it); with opt.ABI the flags are dead at a call
// and at a return (psABI 3.2.1: they are not preserved across calls, and no
// compiler returns a value in them; hand-written assembly might). The stack pointer is
// never dead. A register is dead for the normal course of the program: a signal
// handler or an unwinder that starts at a fault in between could see it.
func DeadAt(c *Code, addr uint64, opt Options) (gpr RegSet, flags bool) {
	w := walker{c: c, opt: opt, seen: map[uint64]uint32{}, budget: liveBudget}
	w.walk(addr, uint32(AllGPR)|flagsBit)
	dead := (uint32(AllGPR) | flagsBit) &^ w.live &^ uint32(RSP)
	return RegSet(dead), dead&flagsBit != 0
}

// walker is one run of DeadAt.
type walker struct {
	c      *Code
	opt    Options
	live   uint32
	seen   map[uint64]uint32 // the pending registers at the last visit
	budget int
}

// walk follows the path from addr. pending are the registers of which the path
// has shown neither a read nor a write yet.
func (w *walker) walk(addr uint64, pending uint32) {
	for {
		pending &^= w.live
		if pending&^w.seen[addr] == 0 {
			return // nothing pending, or a walk from here answers it
		}
		in, ok := w.c.decodeAt(addr)
		if w.budget--; w.budget < 0 || !ok {
			w.live |= pending
			return
		}
		w.seen[addr] |= pending
		pending = w.step(&in, pending)
		switch in.Class {
		case Normal, Nop:
			addr = in.Next()
		case Jmp:
			addr = in.Target
		case Jcc, Loop:
			w.walk(in.Target, pending)
			addr = in.Next()
		default:
			w.live |= pending
			return
		}
	}
}

// step applies one instruction's effects to what is pending.
func (w *walker) step(in *Inst, pending uint32) uint32 {
	if in.Mem && w.c.AsyncEH {
		w.live |= pending
		return 0
	}
	if w.opt.ABI && (in.Class == Call || in.Class == CallInd || in.Class == Ret) {
		return pending &^ flagsBit
	}
	reads, writes := uint32(in.Reads), uint32(in.Writes)
	if in.FlagsRead {
		reads |= flagsBit
	}
	if in.FlagsWritten {
		writes |= flagsBit
	}
	w.live |= pending & reads
	return pending &^ (reads | writes)
}
