package inproc

import (
	"time"

	"github.com/jalon-trace/jalon/internal/process"
)

// remover takes what the engine has put into the process out of it.
type remover struct {
	*target
	patches  *patches
	tables   *tableRef
	guard    *pageGuard
	handlers *handlers
	rooms    *rooms
	buffers  *buffers
}

// free unmaps code and buffers.
func (r *remover) free(st *process.Stopped) error {
	if err := st.LeaveSequences(r.rooms.has); err != nil {
		return err
	}
	if err := r.rooms.free(st); err != nil {
		return err
	}
	return r.buffers.free(st)
}

// takeBack takes everything out of the process:
//
//  1. stop; restore the bytes, then the protection of their pages: no thread enters a
//     trampoline any more. Threads that are stopped before a displaced copy go back to
//     the original instruction. Go on.
//  2. until no thread is in our code or will come back to it (a few tries, the
//     process runs meanwhile): they leave by themselves within microseconds,
//     unless a displaced system call sleeps there.
//  3. the dead man's switch falls; stop; unmap code and buffers if no thread is
//     there, else leave them mapped: they are inert.
//
// The caller may let the process go then.
func (r *remover) takeBack() error {
	err := r.stopped(func(st *process.Stopped) error {
		if err := putBack(st, r.patches.list()); err != nil {
			return err
		}
		r.trouble("giving pages of code their protection back", r.guard.unguard(st))
		return nil
	})
	if err != nil {
		return err
	}
	var state emptiness
	start := time.Now()
	for try := 0; ; try++ {
		err := r.stopped(func(st *process.Stopped) (err error) {
			if state, err = r.leave(st); err != nil {
				return err
			}
			if try == 0 {
				r.trouble("giving SIGTRAP its action back", r.handlers.removeTraps(st))
			}
			if state == nobody {
				r.trouble("giving SIGSEGV its action back", r.handlers.removeFaults(st))
				err := r.free(st)
				r.trouble("freeing the memory of the trampolines", err)
				if err == nil {
					r.tables.clear() // an int3 at a site is the program's own from here on
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if state == nobody || state == sleeping && try >= 4 || time.Since(start) > leaveLimit {
			break
		}
		time.Sleep(min(2*time.Millisecond<<try, 50*time.Millisecond)) // for the threads inside; nothing depends on its length
	}
	if state != nobody {
		r.logf("a thread sleeps in displaced code: the trampolines stay mapped in the process")
	}
	return r.buffers.disarm(r.p)
}

// leaveLimit is how long a thread within a hit program is waited for: it needs
// microseconds, but on a busy machine also its turn.
const leaveLimit = 2 * time.Second

// emptiness is which threads are in our code.
type emptiness uint8

const (
	nobody   emptiness = iota
	sleeping           // threads in a displaced system call, or that return from signal handlers
	busy               // a thread within a hit program
)

// leave sends threads that are stopped at an instruction boundary in a trampoline back
// to the program, and reports which are left in our code.
func (r *remover) leave(st *process.Stopped) (emptiness, error) {
	threads, err := st.Threads()
	if err != nil {
		return busy, err
	}
	back := r.patches.wayBack()
	tab := r.tables.get()
	state, stacks := nobody, st.Stacks()
	for _, t := range threads {
		// The frame of a signal handler that runs, or of one it interrupted, may
		// lead back into our code, wherever the thread itself is.
		if tab.returnsToCode(stacks.WithRedZone(t.Regs.SP())) {
			state = max(state, sleeping)
		}
		if !tab.inCode(t.Regs.PC()) {
			continue
		}
		if to, ok := back[t.Regs.PC()]; !ok {
			state = busy
		} else if st.SetPC(t.TID, to) != nil {
			state = max(state, sleeping)
		}
	}
	return state, nil
}
