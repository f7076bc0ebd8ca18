package inproc

import (
	"fmt"
	"time"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// copies lists where the displaced instructions are, for the tables.
func (p *placed) copies() (list []copied) {
	for i, pair := range p.pcs {
		c := copied{span: span{pair.Copy, pair.End}, Origin: process.Origin{PC: pair.Orig}}
		if p.plan.Tactic == patch.JumpMany {
			c.Lo, c.Hi = p.plan.Addr, p.end()
		}
		class := p.plan.Insts[i].Class
		c.pushed = class == patch.Call || class == patch.CallInd
		list = append(list, c)
	}
	return list
}

// InCode reports whether a signal may need the program's own code: there is code of
// ours, and no signal that ends the program has come before. It may be called on the
// tracer's goroutine.
func (e *Engine) InCode() bool { return len(e.tables.get().code) > 0 && !e.cleared.Load() }

// Clear makes the program's code its own for a signal: all of it when the program
// ends by it, else the instructions that a jump replaces, one of which the program
// is about to see as the place of the signal. Such a jump becomes an int3:
//
//  1. the world is stopped; the program's bytes are written back
//  2. the handler of int3s gets the site (jalon can be killed at any time)
//  3. the int3 is written. The trampoline is the same, copies of all the
//     instructions that the jump replaced included
//
// The pc of the held thread is still in the copy, where it faults again.
func (e *Engine) Clear(tid int) error {
	var dies, again bool
	err := e.stopped(func(st *process.Stopped) (err error) {
		var ok bool
		if dies, again, ok = st.Dying(tid); !ok {
			return nil
		}
		pc, err := pcOf(st, tid)
		if err != nil {
			return err
		}
		o, displaced := e.tables.get().back(pc)
		switch {
		case dies:
			return e.clearAll(st, tid, o, displaced && again)
		case displaced && o.Hi > o.Lo:
			return e.trapInstead(st, o.Lo)
		}
		return nil
	})
	if err != nil || !dies {
		return err
	}
	return e.lastStops(again)
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
func (e *Engine) trapInstead(st *process.Stopped, addr uint64) error {
	e.tables.restored(addr)
	p := e.placedAt(addr)
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
	e.placedMu.Lock()
	p.plan, p.edits = &plan, edits
	e.placedMu.Unlock()
	for _, x := range p.sites {
		x.tactic = plan.Tactic.String()
	}
	e.tables.add(&tables{trap: map[uint64]uint64{addr: p.at}})
	if err := e.installTraps(st, nil); err != nil {
		e.tables.forget(addr)
		return fmt.Errorf("the tracepoint at %#x ends: the program handles a signal of an instruction there, and no int3 can be put in the place of the jump: %w", addr, err)
	}
	if !enabled {
		return nil
	}
	for _, e := range edits {
		if err := st.WriteMem(e.Addr, e.New); err != nil {
			return err
		}
	}
	e.logf("%#x: int3 in the place of the jump, since the program handles a signal of an instruction under it", addr)
	return nil
}

// clearAll makes all code the program's own again: its core is that of a program
// that was not traced. What faulted faults again, at its own place.
func (e *Engine) clearAll(st *process.Stopped, tid int, o process.Origin, rewind bool) error {
	e.cleared.Store(true)
	if err := putBack(st, e.placed); err != nil {
		return err
	}
	if rewind {
		if err := st.Rewind(tid, o); err != nil {
			return err
		}
	}
	e.trouble("giving pages of code their protection back", e.unguard(st))
	return nil
}

// lastStops waits until the other threads have left our code, as detach does, and
// then takes away the handlers of signals. One thread is held; it must not take calls
// when it has its signal already.
func (e *Engine) lastStops(handlers bool) error {
	for try := 0; ; try++ {
		last := false
		err := e.stopped(func(st *process.Stopped) error {
			state, err := e.leave(st)
			last = state == nobody || state == sleeping && try >= 1 || try >= 5
			if handlers && err == nil && last {
				e.trouble("giving SIGTRAP its action back", st.EndTraps())
				e.trouble("giving SIGSEGV its action back", e.removeFaults(st))
			}
			return err
		})
		if err != nil || last {
			return err
		}
		time.Sleep(time.Millisecond << try) // for the threads inside; nothing depends on its length
	}
}
