package runcontrol

import "github.com/jalon-trace/jalon/internal/process/threads"

// Op is what the driver does about an event.
type Op uint8

// The operations. Those marked * may let the thread run, take reports, or ask the caller:
// behind one of them only Then may come.
const (
	SetPC          Op = iota // the pc := Addr
	Repair                   // * undo what the kernel did to raise SIGTRAP
	FixStep                  // * take our trap flag out of where the instruction, Insn, has copied the flags to
	ClearTrapFlag            // take our trap flag out of the flags: the popf was not executed
	ClearWatch               // take the notes of the debug registers away
	SetWatches               // give it the watchpoints that there are now
	Interrupt                // PTRACE_INTERRUPT
	SetInfo                  // what a handler is shown of the signal, Signal, that is to be delivered
	SendAgain                // send Signal to the thread; if it could be sent, note it in Thread.Sent
	AskBreak                 // * Verdict(the caller's about the breakpoint at Addr)
	AskStepped               // * Stepped(whether the caller requests one more)
	Emulate                  // execute the instruction at Addr if it is a simple one: Executed, else StepOver
	FlushFault               // * take a signal that waits behind a group-stop: HaltFlushed
	Report                   // * report Stop
	QueueExclusive           // have the exclusive steps made
	Then                     // the next event, Next
)

// Effect is one thing to do.
type Effect[T Entry] struct {
	Op     Op
	T      T
	Addr   uint64
	Insn   InsnKind
	Signal Signal
	Stop   Stop
	Next   func(t T) []Effect[T]
}

// Machine is the state of run control of a process.
type Machine[T Entry] struct {
	Table   *threads.Table[T]
	View    View[T]
	Options Options
	Breaks  map[uint64]bool // the caller's
	Removed map[uint64]bool // where a breakpoint was: a hit may be on its way still
	Watches [WatchSlots]Watch
	Gen     int  // counts changes of Watches
	Asks    bool // the caller is to be asked after internal steps
	Self    int  // the sender of signals that are sent again
}

// New makes a machine of a table of threads.
func New[T Entry](table *threads.Table[T], view View[T]) *Machine[T] {
	return &Machine[T]{Table: table, View: view, Breaks: map[uint64]bool{}, Removed: map[uint64]bool{}}
}

func one[T Entry](e Effect[T]) []Effect[T] { return []Effect[T]{e} }

// then has an event handled behind the effects.
func then[T Entry](do []Effect[T], t T, next func(t T) []Effect[T]) []Effect[T] {
	return append(do, Effect[T]{Op: Then, T: t, Next: next})
}

// Inside reports whether a thread is where it cannot be shown.
func (m *Machine[T]) Inside(t T) bool {
	if t.Core().Copy {
		return false
	}
	regs, ok := m.View.Regs(t)
	if !ok {
		return false
	}
	c := m.View.Where(regs.PC)
	return c.In && !c.Boundary
}

// Shown is a pc as the program has it.
func (m *Machine[T]) Shown(pc uint64) uint64 {
	if c := m.View.Where(pc); c.In && c.Boundary {
		return c.Orig
	}
	return pc
}

func (m *Machine[T]) needExclusive(t T) []Effect[T] {
	m.Table.NeedExclusive(t)
	return one(Effect[T]{Op: QueueExclusive, T: t})
}
