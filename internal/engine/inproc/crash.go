package inproc

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// crashes restores the program's code when a signal needs it.
type crashes struct {
	*remover
	cleared atomic.Bool // a signal ends the program: its own code is restored
}

// clear restores the program's code for a signal. If the signal ends the program, all code is restored.
// Otherwise these are the instructions under a jump of which the program will see one as the address of the
// signal. Such a jump is replaced by an int3:
//
//  1. The world is stopped; the program's bytes are restored.
//  2. The handler of int3s learns the site, because jalon can be killed at any time.
//  3. The int3 is written. The trampoline stays the same, with copies of all instructions that the jump
//     replaced.
//
// The pc of the held thread is still in the copy, where the thread faults again.
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
			if c.tables.get().inCode(pc) && !executable(st, pc) {
				c.trouble("tracing in the process", errTaken)
			}
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

// errTaken is reported where the signal will not come again when jalon's code is out of the way.
var errTaken = errors.New("the program has made jalon's code inaccessible: its sites are removed, and hits from now on are not counted")

func executable(st *process.Stopped, pc uint64) bool {
	maps, err := st.Maps()
	return err != nil || slices.ContainsFunc(maps, func(m process.Mapping) bool { return m.Contains(pc) && m.Prot&unix.PROT_EXEC != 0 })
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
		return nil // it was removed: the program's bytes are restored
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
		return fmt.Errorf("the tracepoint at %#x is removed: the program handles a signal of an instruction there, and the jump cannot be replaced by an int3: %w", addr, err)
	}
	if !enabled {
		return nil
	}
	code := codePages{st: st, write: st.WriteMem}
	if err := errors.Join(p.jump(&code), code.flush()); err != nil {
		return err
	}
	c.logf("%#x: int3 instead of the jump, because the program handles a signal of an instruction under it", addr)
	return nil
}

// clearAll restores all code of the program, so that its core dump is that of an untraced program. The
// faulting instruction faults again at its original address.
func (c *crashes) clearAll(st *process.Stopped, tid int, o process.Origin, rewind bool) error {
	c.cleared.Store(true)
	c.altered.look(st, 0)
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

// lastStops waits until the other threads have left jalon's code, as detach does, and then removes the
// handlers of signals. One thread is held; no call can be injected into it once its signal has been
// delivered.
func (c *crashes) lastStops(handlers bool) error {
	for try := 0; ; try++ {
		last := false
		err := c.stopped(func(st *process.Stopped) error {
			state, err := c.leave(st)
			last = state == empty || state == sleeping && try >= 1 || try >= 5
			if handlers && err == nil && last {
				c.trouble("giving SIGTRAP its action back", st.EndTraps())
				c.trouble("giving SIGSEGV its action back", c.handlers.removeFaults(st))
			}
			return err
		})
		if err != nil || last {
			return err
		}
		time.Sleep(time.Millisecond << try) // gives the threads time to leave; nothing depends on its length
	}
}
