package runcontrol

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Exclusive is an exclusive step that a thread is making, while all others that share the
// memory are stopped:
//
//   - a step over a breakpoint: its byte is the original one meanwhile, and another
//     thread would run past it
//   - the way out of generated code, by int3s at the boundaries before it, or by steps
//
// The driver resumes the thread as ExclusiveGo says and gives what comes to ExclusiveStopped,
// until that says that the step is made, or failed.
type Exclusive struct {
	Temps map[uint64]bool // int3s for the time being
	Done  bool

	how     sys.How
	until   Until
	at      uint64 // of OffInsn
	armed   bool   // a single step of this one was begun
	grouped bool   // the thread is in a group-stop: it goes on nevertheless until the step is made
	tries   int
}

// Until returns when an exclusive step is complete, if nothing else shows it.
type Until uint8

// The conditions.
const (
	OffInsn Until = iota // the pc is another one
	InCall               // the thread is at a system call
	OutOfCode
)

// Progress is the continuation after a stop of an exclusive step.
type Progress uint8

// The kinds of progress.
const (
	GoOn   Progress = iota
	Made            // the step is made
	Failed          // it was interrupted before
)

// maxStops bounds the stops of one exclusive step.
const maxStops = 100

// Exclude begins an exclusive step of a thread in a frozen world. Nil: it is dying.
func (m *Machine[T]) Exclude(t T, how sys.How, until Until, temps map[uint64]bool) *Exclusive {
	regs, ok := m.View.Regs(t)
	if !ok {
		return nil
	}
	x := &Exclusive{Temps: temps, how: how, until: until, at: regs.PC}
	t.Control().Exclusive = x
	return x
}

// ExclusiveGo returns how the thread is resumed and with which signal. patient: the next stop is for the
// signal of an instruction that has been executed; an interrupt would come before it.
func (m *Machine[T]) ExclusiveGo(t T) (how sys.How, sig unix.Signal, patient bool, do []Effect[T]) {
	d := t.Control()
	x := d.Exclusive
	how, sig = x.how, t.Core().Sig
	t.Core().Sig = 0
	if m.View.Waits(t) {
		return sys.Free, sig, true, nil // see Go
	}
	d.Armed.On = false
	if how != sys.ByStep {
		return how, sig, false, nil
	}
	a := m.armed(t)
	if d.Marked || a.Insn == InsnPopf && sig != 0 { // see Go
		t.Core().Asked, d.Marked = true, false
		return sys.Free, sig, false, one(Effect[T]{Op: Interrupt, T: t})
	}
	d.Armed, x.armed = a, true
	return how, sig, false, nil
}

// ExclusiveStopped looks at a stop of an exclusive step, when it is handled; late: the thread
// was interrupted.
func (m *Machine[T]) ExclusiveStopped(t T, late bool) Progress {
	th, x := t.Core(), t.Control().Exclusive
	regs, ok := m.View.Regs(t)
	if !m.Table.Has(t) || th.State != threads.Stopped || !ok {
		return Failed
	}
	x.grouped = x.grouped || th.Stop == threads.StopGroup
	x.tries++
	switch {
	case m.View.Waits(t): // the kernel reports the interrupt before the trap
		if x.tries < maxStops {
			return GoOn
		}
		return Failed
	case x.Done || m.moved(t, regs):
		return Made
	case th.Stop == threads.StopCall || late || x.tries >= maxStops:
		return Failed
	}
	return GoOn
}

func (m *Machine[T]) moved(t T, regs Regs) bool {
	switch x := t.Control().Exclusive; x.until {
	case InCall:
		return t.Core().Stop == threads.StopCall
	case OutOfCode:
		c := m.View.Where(regs.PC)
		return !c.In || c.Boundary
	default:
		return regs.PC != x.at
	}
}

// Grouped reports whether the thread must go back to its group-stop.
func (x *Exclusive) Grouped() bool { return x.grouped }

// Include ends an exclusive step.
func (m *Machine[T]) Include(t T) { t.Control().Exclusive = nil }

// PutOff gives up a step over a breakpoint: the thread stays before it, and reaches the same hit again when
// it continues.
func (m *Machine[T]) PutOff(t T) {
	d := t.Control()
	if regs, ok := m.View.Regs(t); d.Over != 0 && ok {
		d.Again = Again{d.Over, regs.SP}
	}
	d.Over = 0
}

// Overstepped ends the step over a breakpoint, with ok if the instruction was executed, or the
// system call entered.
func (m *Machine[T]) Overstepped(t T, kind InsnKind, ok bool) {
	d, th := t.Control(), t.Core()
	switch {
	case !m.Table.Has(t) || th.State != threads.Stopped:
	case !ok:
		m.PutOff(t)
	case kind != InsnCall && d.Kept == nil && th.Sig == 0:
		d.Made = true
	}
	d.Over = 0
}
