package threads

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Op is what the driver does about a report.
type Op uint8

// The operations. Those marked * may let the thread run and take reports of their own: they
// come last in what Report gives, and nothing that was known before them holds behind them.
const (
	ApplyPC         Op = iota // set the pc that was asked for while the thread could not be reached
	ReportBorn                // the thread was seen for the first time
	NumberBirth               // a clone child was
	NoteMask                  // remember its signal mask; Signal: the one that the kernel may have unblocked
	NoteFS                    // its registers can be read for the last time
	HandleSignal              // * Signal is about to be delivered
	HandleCall                // * it is at a system call
	FindChild                 // * it has created a thread or process: see Table.Birth
	RestoreCopy               // * take what is ours out of a clone child's copy of the memory
	ReleaseCopy               // * as RestoreCopy, then let it go
	HandleExec                // * it is another program
	Forget                    // let it go (it is out of the table)
	CloneChildExecs           // a clone child has left by exec
	ReportDied                // it executes no code of the program any more
	ReportExit                // it ends
	LetExit                   // let it go on to its end, also while the world is stopped
	ReportNoneRuns            // perhaps it was the last one that ran
	Reaped                    // it does not exist any more
	VforkDone                 // the child, Number, of the thread has left the shared memory
	Finish                    // the process has ended, with Status
	TakeMask                  // the new thread's mask is its creator's
	Requeue                   // a report, Report, that came before its creator's event, is to be handled now
	ReportCloned              // the new thread is to be shown
	HideInterrupt             // make the stop invisible to the call that it interrupted
	Resume                    // let it go on, if nothing holds it
)

// Effect is one thing to do.
type Effect[T Entry] struct {
	Op     Op
	T      T
	Signal unix.Signal
	Number int
	Clone  bool // of FindChild: the kernel reports a clone
	Status unix.WaitStatus
	Report Report
}

// Asks reports whether the TGID of a report's thread must be looked up before Report: it is a stop of an
// unknown thread.
func (tb *Table[T]) Asks(r Report) bool {
	var none T
	return r.Kind != Ended && tb.list[r.TID] == none
}

// Report handles a state change: it updates the thread and returns the effects, in order. t is the zero
// value if the thread is not in the table. After a stop the caller must call Handled when the effects have
// been executed.
func (tb *Table[T]) Report(r Report) (t T, do []Effect[T]) {
	var none T
	if t = tb.list[r.TID]; t == none {
		if r.Kind == Ended {
			if _, ok := tb.early[r.TID]; ok {
				delete(tb.early, r.TID)
				tb.endedUnborn[r.TID] = true
			}
			return none, nil
		}
		if r.Kind == ExecStop && r.TGID != tb.PID {
			// A thread of a process that was let go has become its leader by exec before it
			// could be let go itself. Nothing of ours is in the new program.
			t = tb.Add(Thread{TID: r.TID, TGID: r.TGID, State: Stopped})
			delete(tb.list, r.TID)
			return none, []Effect[T]{{Op: Forget, T: t}}
		}
		if t = tb.adopt(r); t == none {
			return none, nil
		}
	}
	if r.Kind == Ended {
		return t, tb.ended(t, r)
	}
	th := t.Core()
	first := th.State == Starting
	th.First, th.State, th.Sig, th.Asked, th.Stop = first, Stopped, 0, false, stops[r.Kind]
	th.VforkCopy = false
	do = make([]Effect[T], 0, 4)
	add := func(op Op) { do = append(do, Effect[T]{Op: op, T: t, Signal: r.Signal}) }
	add(ApplyPC)
	switch {
	case first && tb.Member(t):
		add(ReportBorn)
	case first && th.CloneChild:
		add(NumberBirth)
	case !first:
		do = append(do, Effect[T]{Op: NoteMask, T: t, Signal: forced(r)})
	}
	switch r.Kind {
	case SignalStop:
		add(HandleSignal)
	case CallStop:
		add(HandleCall)
	case TrapStop, GroupStop:
		// A thread that is resumed from a group-stop by SIGCONT is in TrapStop too.
		switch {
		case !th.Copy || th.Leaving || th.Offered:
		case th.CloneChild:
			add(RestoreCopy)
		default:
			add(ReleaseCopy)
		}
	case CloneStop, ForkStop:
		do = append(do, Effect[T]{Op: FindChild, T: t, Clone: r.Kind == CloneStop})
	case ExecStop:
		do = tb.exec(do, t)
	case ExitStop:
		// Registers and memory can be read for the last time. The thread continues even while the world is
		// stopped.
		th.State, th.Hold = Exiting, 0
		add(NoteFS)
		do = tb.died(do, t)
		add(ReportExit)
		add(LetExit)
		add(ReportNoneRuns)
	}
	return t, do
}

// forced is the signal that the kernel may have unblocked to raise it.
func forced(r Report) unix.Signal {
	if r.Kind == SignalStop {
		return r.Signal
	}
	return 0
}

// Handled is called when the effects of a stop are executed. The thread runs again then,
// unless it is held or the world is stopped.
func (tb *Table[T]) Handled(t T) (do []Effect[T]) {
	if t.Core().First && t.Core().State == Stopped {
		do = append(do, Effect[T]{Op: ReportCloned, T: t})
	}
	if tb.Has(t) && t.Core().State == Stopped {
		do = append(do, Effect[T]{Op: HideInterrupt, T: t}, Effect[T]{Op: Resume, T: t})
	}
	return do
}

// adopt adds a thread whose creator's event has not been seen yet, if it belongs to the process; a new
// process must wait for that event, which shows whether it shares the memory.
func (tb *Table[T]) adopt(r Report) (t T) {
	var none T
	delete(tb.endedUnborn, r.TID) // of another one, whose creator died before its event
	if r.TGID != 0 && (r.TGID == tb.PID || tb.list[r.TGID] != none && r.TGID != r.TID) {
		return tb.Add(Thread{TID: r.TID, TGID: r.TGID, State: Starting, Adopted: true})
	}
	tb.early[r.TID] = r
	return none
}

// Unborn reports whether the end of a thread was seen before its creator's event, which names it now. On a
// busy machine the creator may stop only after the new thread has ended. If the number were added then,
// jalon would wait for ever for a thread that does not exist.
func (tb *Table[T]) Unborn(tid int) bool {
	was := tb.endedUnborn[tid]
	delete(tb.endedUnborn, tid)
	return was
}

// Birth records that t has created a thread or a process with this number, by a clone with these flags;
// clone: the kernel reports it as a clone. The kernel has attached the tracer to it already; it stops
// (PTRACE_EVENT_STOP) before its first instruction. asThread: a process that the kernel reports as a clone
// is shown as a thread. ok is false if its end was seen before.
func (tb *Table[T]) Birth(t T, tid int, flags uint64, clone, asThread bool) (c T, do []Effect[T], ok bool) {
	var none T
	c = tb.list[tid]
	if c == none && tb.Unborn(tid) {
		return none, nil, false
	}
	if c == none {
		c = tb.Add(Thread{TID: tid, State: Starting})
	}
	parent, child := t.Core(), c.Core()
	leaves := parent.Apart() // what it shares its memory with is let go as it is
	child.Creator = parent.TID
	do = append(do, Effect[T]{Op: TakeMask, T: c, Number: parent.TID})
	switch {
	case flags&unix.CLONE_THREAD != 0:
		child.TGID, child.Copy = parent.TGID, leaves
	case flags&unix.CLONE_VM != 0:
		child.TGID, child.Copy = tid, leaves
		if flags&unix.CLONE_VFORK != 0 && !leaves {
			// The kernel makes the parent wait in a way that cannot be stopped.
			// Held here instead, it can be.
			parent.Hold |= HoldVfork
			parent.VforkChild = tid
		}
	default:
		child.TGID, child.Copy = tid, true
		parent.VforkCopy = flags&unix.CLONE_VFORK != 0
	}
	switch {
	case !asThread:
	case flags&unix.CLONE_THREAD != 0:
		child.CloneChild = parent.CloneChild
	case clone && flags&unix.CLONE_VFORK == 0:
		child.CloneChild = true
	}
	if asThread && child.CloneChild && child.State != Starting { // its first stop came before
		do = append(do, Effect[T]{Op: NumberBirth, T: c})
	}
	if r, waits := tb.early[tid]; waits {
		delete(tb.early, tid)
		do = append(do, Effect[T]{Op: Requeue, T: c, Report: r})
	}
	return c, do, true
}

// exec: the thread, now the only one, is another program. Its id is that of
// the process, whatever it was before.
func (tb *Table[T]) exec(do []Effect[T], t T) []Effect[T] {
	th := t.Core()
	if !tb.Member(t) {
		// A vfork child that leaves the process's memory.
		tb.Remove(th.TID)
		do = append(do, Effect[T]{Op: Forget, T: t})
		do = append(do, tb.LeavesMemory(th.TGID)...)
		return append(do, Effect[T]{Op: CloneChildExecs, T: t})
	}
	for _, o := range tb.where(func(o T) bool { return o != t && tb.Member(o) }) {
		do = tb.died(do, o)
		do = append(do, Effect[T]{Op: Reaped, T: o})
		delete(tb.list, o.Core().TID) // its creator has no event any more
	}
	// Died: the old leader, whose id the caller of exec took over.
	th.Died, th.Hold, th.VforkChild = false, 0, 0
	return append(do, Effect[T]{Op: HandleExec, T: t})
}

// LeavesMemory releases parents whose child, the process tgid, has left the shared memory.
func (tb *Table[T]) LeavesMemory(tgid int) (do []Effect[T]) {
	waits := func(t T) bool { return t.Core().Hold&HoldVfork != 0 && t.Core().VforkChild == tgid }
	for _, t := range tb.where(waits) {
		th := t.Core()
		th.Hold &^= HoldVfork
		th.VforkChild = 0
		do = append(do, Effect[T]{Op: VforkDone, T: t, Number: tgid}, Effect[T]{Op: Resume, T: t})
	}
	return do
}

// ended: the thread does not exist any more.
func (tb *Table[T]) ended(t T, r Report) (do []Effect[T]) {
	th := t.Core()
	tb.Remove(th.TID)
	do = append(do, Effect[T]{Op: Reaped, T: t})
	if !tb.Member(t) {
		if th.TID == th.TGID {
			do = append(do, tb.LeavesMemory(th.TGID)...)
		}
		return do
	}
	do = tb.died(do, t)
	if th.TID == tb.PID || !tb.AnyMember() {
		// The leader's end is reported when all others are gone.
		do = append(do, Effect[T]{Op: Finish, T: t, Status: r.Status})
	}
	return do
}

func (tb *Table[T]) died(do []Effect[T], t T) []Effect[T] {
	if th := t.Core(); !th.Died {
		th.Died = true
		do = append(do, Effect[T]{Op: ReportDied, T: t})
	}
	return do
}

// Early removes and returns the children whose creator's event was not seen, when the program has ended:
// their creators have died, or are children too whose event is still to come. They have a copy of the
// memory. Their stops must be handled.
func (tb *Table[T]) Early() (stops []Report) {
	creators := len(tb.where(func(t T) bool { return !tb.Member(t) && t.Core().State != Exiting })) > 0
	for _, tid := range slices.Sorted(maps.Keys(tb.early)) {
		r := tb.early[tid]
		delete(tb.early, tid)
		tb.Add(Thread{TID: tid, TGID: tid, Copy: true, State: Starting, Adopted: creators})
		stops = append(stops, r)
	}
	return stops
}

// Expect adds children whose first stop is still to come, of creators that an exec has killed before their
// event: no event will name them.
func (tb *Table[T]) Expect(tids []int) {
	for _, tid := range tids {
		if !tb.Knows(tid) {
			tb.Add(Thread{TID: tid, TGID: tid, Copy: true, State: Starting})
		}
	}
}

// DropEarly takes them out to be let go at once, since there is nothing of ours in the
// memory any more.
func (tb *Table[T]) DropEarly() (tids []int) {
	tids = slices.Sorted(maps.Keys(tb.early))
	clear(tb.early)
	return tids
}

// Orphans are the children that shared the memory of a program that is no more. It is their
// own now, as if it were a copy: they are to be released, those that are stopped at once.
func (tb *Table[T]) Orphans() (list []T) {
	list = tb.where(func(t T) bool { return !tb.Member(t) && t.Core().State != Exiting })
	for _, t := range list {
		th := t.Core()
		th.Copy, th.CloneChild = true, false
		if th.State == Stopped {
			th.Hold, th.Offered = 0, false
		}
	}
	return list
}
