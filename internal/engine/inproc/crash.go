package inproc

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// crashes makes the program's code its own where a signal needs it.
type crashes struct {
	*remover
	cleared atomic.Bool // a signal ends the program: its code is its own again
}

// clear makes the program's code its own for a signal: all of it when the program
// ends by it, else the instructions that a jump replaces, one of which the program
// is about to see as the place of the signal. Such a jump becomes an int3:
//
//  1. the world is stopped; the program's bytes are written back
//  2. the handler of int3s gets the site (jalon can be killed at any time)
//  3. the int3 is written. The trampoline is the same, copies of all the
//     instructions that the jump replaced included
//
// The pc of the held thread is still in the copy, where it faults again.
func (c *crashes) clear(tid int) error {
	var dies, again bool
	err := c.stopped(func(st *process.Stopped) (err error) {
		var ok bool
		if dies, again, ok = st.Dying(tid); !ok {
			return nil
		}
		pc, err := pcOf(st, tid)
		if err != nil {
			return err
		}
		o, displaced := c.tables.get().back(pc)
		switch {
		case dies:
			return c.clearAll(st, tid, o, displaced && again)
		case displaced && o.Hi > o.Lo:
			return c.trapInstead(st, o.Lo)
		}
		return nil
	})
	if err != nil || !dies {
		return err
	}
	return c.lastStops(again)
}

func pcOf(st *process.Stopped, tid int) (uint64, error) {
	threads, err := st.Threads()
	if err != nil {
		return 0, err
	}
	for _, t := range threads {
		if t.TID == tid {
			return t.Regs.PC(), nil
		}
	}
	return 0, process.ErrGone
}

// trapInstead replaces the jump at addr by an int3.
func (c *crashes) trapInstead(st *process.Stopped, addr uint64) error {
	c.tables.restored(addr)
	p := c.patches.at(addr)
	if p == nil || p.plan.Tactic != patch.JumpMany {
		return nil // it was removed: its bytes are the program's
	}
	enabled := ours(st, addr, p.edits[0].New)
	if err := putBack(st, []*placed{p}); err != nil {
		return err
	}
	plan := *p.plan
	plan.Tactic = patch.Trapping
	edits, err := plan.Edits(p.at)
	if err != nil {
		return err
	}
	c.patches.replan(p, &plan, edits)
	c.tables.add(&tables{trap: map[uint64]uint64{addr: p.at}})
	if err := c.handlers.install(st, c.patches.list(), nil); err != nil {
		c.tables.forget(addr)
		return fmt.Errorf("the tracepoint at %#x ends: the program handles a signal of an instruction there, and the jump cannot be replaced by an int3: %w", addr, err)
	}
	if !enabled {
		return nil
	}
	if err := p.jump(st); err != nil {
		return err
	}
	c.logf("%#x: int3 instead of the jump, because the program handles a signal of an instruction under it", addr)
	return nil
}

// clearAll makes all code the program's own again: its core is that of a program
// that was not traced. What faulted faults again, at its own place.
func (c *crashes) clearAll(st *process.Stopped, tid int, o process.Origin, rewind bool) error {
	c.cleared.Store(true)
	if err := putBack(st, c.patches.list()); err != nil {
		return err
	}
	if rewind {
		if err := st.Rewind(tid, o); err != nil {
			return err
		}
	}
	c.trouble("giving pages of code their protection back", c.guard.unguard(st))
	return nil
}

// lastStops waits until the other threads have left our code, as detach does, and
// then takes away the handlers of signals. One thread is held; it must not take calls
// when it has its signal already.
func (c *crashes) lastStops(handlers bool) error {
	for try := 0; ; try++ {
		last := false
		err := c.stopped(func(st *process.Stopped) error {
			state, err := c.leave(st)
			last = state == nobody || state == sleeping && try >= 1 || try >= 5
			if handlers && err == nil && last {
				c.trouble("giving SIGTRAP its action back", st.EndTraps())
				c.trouble("giving SIGSEGV its action back", c.handlers.removeFaults(st))
			}
			return err
		})
		if err != nil || last {
			return err
		}
		time.Sleep(time.Millisecond << try) // for the threads inside; nothing depends on its length
	}
}
