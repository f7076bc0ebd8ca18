package threads

import (
	"slices"
)

// Entry is what a table holds of a thread: a Thread, and what its driver adds to it.
type Entry interface {
	comparable
	Core() *Thread
}

// Table is the threads of a process, and of the children that run in its memory or pass
// through the tracer's hands. Its methods are the rules; they make no system call.
type Table[T Entry] struct {
	PID      int  // the process
	Frozen   int  // depth of stop-the-world: no thread is resumed while it is not 0
	Finished bool // the process has ended, or was let go
	New      func() T

	list        map[int]T
	early       map[int]Report // stops of children whose creator's event was not seen yet
	endedUnborn map[int]bool   // see Unborn
	exclusive   []T            // threads that wait for their exclusive step
}

// NewTable makes an empty table; alloc makes an entry.
func NewTable[T Entry](alloc func() T) *Table[T] {
	return &Table[T]{New: alloc, list: map[int]T{}, early: map[int]Report{}, endedUnborn: map[int]bool{}}
}

// Get returns the entry of a number; the zero value if there is none.
func (tb *Table[T]) Get(tid int) T { return tb.list[tid] }

// Has reports whether t is in the table: it was not removed, nor has another thread its number.
func (tb *Table[T]) Has(t T) bool {
	var none T
	return t != none && tb.list[t.Core().TID] == t
}

// All are the entries by number. Entries may be removed and added while they are ranged over.
func (tb *Table[T]) All() map[int]T { return tb.list }

// where lists the entries for which a condition holds, by number.
func (tb *Table[T]) where(want func(t T) bool) (list []T) {
	for _, t := range tb.list {
		if want(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b T) int { return a.Core().TID - b.Core().TID })
	return list
}

// Len is the number of entries.
func (tb *Table[T]) Len() int { return len(tb.list) }

// Add makes an entry for a thread.
func (tb *Table[T]) Add(th Thread) T {
	t := tb.New()
	*t.Core() = th
	tb.list[th.TID] = t
	return t
}

// Remove removes a thread that is detached. If its creator's event is still to come, that event must not
// add it again: the thread will never stop.
func (tb *Table[T]) Remove(tid int) {
	var none T
	if t := tb.list[tid]; t != none {
		if th := t.Core(); th.Adopted && th.Creator == 0 {
			tb.endedUnborn[tid] = true
		}
		delete(tb.list, tid)
	}
}

// Numbers returns the threads to wait for by wait(2), in order: those of the table, and children whose
// creator's event was not seen yet.
func (tb *Table[T]) Numbers() []int {
	tids := make([]int, 0, len(tb.list)+len(tb.early))
	for tid := range tb.list {
		tids = append(tids, tid)
	}
	for tid := range tb.early {
		tids = append(tids, tid)
	}
	slices.Sort(tids)
	return tids
}

// Knows reports whether a number was seen before.
func (tb *Table[T]) Knows(tid int) bool {
	var none T
	_, waits := tb.early[tid]
	return waits || tb.list[tid] != none
}

// Member reports whether t is a thread of the process itself.
func (tb *Table[T]) Member(t T) bool { return t.Core().TGID == tb.PID }

// Listed reports whether t is shown as a thread of the process.
func (tb *Table[T]) Listed(t T) bool { return tb.Member(t) || t.Core().CloneChild }

// AnyMember reports whether a thread of the process exists.
func (tb *Table[T]) AnyMember() bool {
	for _, t := range tb.list {
		if tb.Member(t) {
			return true
		}
	}
	return false
}

// Lives reports whether a thread of the process may still execute its code.
func (tb *Table[T]) Lives() bool {
	for _, t := range tb.list {
		if tb.Member(t) && t.Core().State != Exiting {
			return true
		}
	}
	return false
}

// MayResume reports whether a thread may continue: it is stopped, nothing holds it, and the world is not
// stopped.
func (tb *Table[T]) MayResume(t T) bool {
	th := t.Core()
	return th.State == Stopped && th.Hold == 0 && tb.Frozen == 0
}

// Resumed records that a thread was resumed: its signal is delivered.
func (tb *Table[T]) Resumed(t T) {
	th := t.Core()
	th.State, th.Sig = Running, 0
}

// Interrupt records that a thread must stop, and reports whether that needs a PTRACE_INTERRUPT: a thread
// that was interrupted before, or that is starting, stops anyway.
func (tb *Table[T]) Interrupt(t T) bool {
	th := t.Core()
	if th.Asked || th.State == Stopped || th.State == Exiting {
		return false
	}
	th.Asked = true
	return th.State == Running || th.State == Parked
}

// Awaited are the threads whose stop a stopped world still waits for: all that can execute
// code in the process's memory.
func (tb *Table[T]) Awaited() (list []T) {
	for _, t := range tb.list {
		if th := t.Core(); !th.Apart() && (th.State == Running || th.State == Starting) {
			list = append(list, t)
		}
	}
	return list
}

// Sleeps records why an interrupted thread does not stop, by its state in /proc. A thread that sleeps
// uninterruptibly is parked: it stops before it returns to the program. A missing one was killed; its end,
// or its leader's, will be reported.
func (tb *Table[T]) Sleeps(t T, state byte) []Effect[T] {
	th := t.Core()
	if th.State != Running {
		return nil
	}
	switch state {
	case 'D':
		th.State = Parked
	case 0, 'Z', 'X':
		th.State = Exiting
		return tb.died(nil, t)
	}
	return nil
}

// Thaw ends one level of stop-the-world, and reports whether it was the last one: then
// threads are to be resumed. Parked ones run again as far as is known; they had not stopped.
func (tb *Table[T]) Thaw() bool {
	tb.Frozen--
	if tb.Frozen > 0 || tb.Finished {
		return false
	}
	for _, t := range tb.list {
		if th := t.Core(); th.State == Parked {
			th.State = Running
		}
	}
	return true
}

// NeedExclusive holds a thread until its exclusive step is made.
func (tb *Table[T]) NeedExclusive(t T) {
	t.Core().Hold |= HoldExclusive
	if !slices.Contains(tb.exclusive, t) {
		tb.exclusive = append(tb.exclusive, t)
	}
}

// ExclusiveDue reports whether threads wait for their exclusive step and it can be made: while the world is
// stopped for another reason, they wait until it continues.
func (tb *Table[T]) ExclusiveDue() bool {
	return tb.Frozen == 0 && !tb.Finished && len(tb.exclusive) > 0
}

// NextExclusive takes the next thread that waits for its exclusive step, and is still
// stopped.
func (tb *Table[T]) NextExclusive() (t T, ok bool) {
	for !tb.Finished && len(tb.exclusive) > 0 {
		t, tb.exclusive = tb.exclusive[0], tb.exclusive[1:]
		if tb.Has(t) && t.Core().State == Stopped {
			return t, true
		}
	}
	var none T
	return none, false
}

// PostponeExclusive gives up the exclusive steps that wait, and lists their threads.
func (tb *Table[T]) PostponeExclusive() []T {
	list := tb.exclusive
	tb.exclusive = nil
	for _, t := range list {
		t.Core().Hold &^= HoldExclusive
	}
	return list
}

// Waiting is the number of exclusive steps that wait.
func (tb *Table[T]) Waiting() int { return len(tb.exclusive) }
