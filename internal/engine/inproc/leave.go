package inproc

import (
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/process"
)

// remover removes everything that the engine has added to the process.
type remover struct {
	*target
	patches   *patches
	tables    *tableRef
	guard     *pageGuard
	handlers  *handlers
	codeSpace *codeSpace
	buffers   *buffers
	walks     *walks
	altered   *altered
}

// free unmaps code and buffers. No thread may be in them, or come to them.
func (r *remover) free(st callable) error {
	return st.FreeAll(slices.Concat(r.codeSpace.release(), r.walks.release(), r.buffers.release()))
}

// takeBack removes everything from the process:
//
//  1. Stop; restore the bytes: no thread enters a trampoline any more.
//     Threads that are stopped before a displaced copy are moved back to the original instruction. Find out
//     whether a thread is in jalon's code or will return to it. Continue.
//  2. If none is, none will be: unmap code and buffers, while all threads but one run.
//  3. Otherwise stop and look again, several times. Threads leave the code by themselves within
//     microseconds, unless a displaced system call sleeps in it. Then the memory stays mapped without effect.
//  4. Trip the dead man's switch.
//
// The caller may detach from the process afterwards.
func (r *remover) takeBack() error {
	var state occupancy
	start := time.Now()
	r.buffers.noWaits()
	for try := 0; ; try++ {
		err := r.stopped(func(st *process.Stopped) (err error) {
			if try == 0 {
				r.altered.look(st, 0)
				if err := putBack(st, r.patches.list()); err != nil {
					return err
				}
			}
			if state, err = r.leave(st); err != nil {
				return err
			}
			if try == 0 {
				r.trouble("giving SIGTRAP its action back", r.handlers.removeTraps(st))
			}
			if state == empty {
				r.trouble("giving SIGSEGV its action back", r.handlers.removeFaults(st))
				r.tables.clear() // from here on an int3 at a site belongs to the program
				return st.LeaveSequences(r.codeSpace.has)
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = r.borrowing(func(c callable) error {
			if try == 0 {
				r.trouble("giving pages of code their protection back", r.guard.unguard(c))
			}
			if state == empty {
				r.trouble("freeing the memory of the trampolines", r.free(c))
				r.trouble("freeing a handler of memory faults", r.handlers.dropPrepared(c))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if state == empty || state == sleeping && try >= 4 || time.Since(start) > leaveLimit {
			break
		}
		time.Sleep(min(2*time.Millisecond<<try, 50*time.Millisecond)) // gives the threads time to leave; nothing depends on its length
	}
	if state != empty {
		r.logf("a thread sleeps in displaced code: the trampolines stay mapped in the process")
	}
	return r.buffers.disarm(r.p)
}

// leaveLimit is how long to wait for a thread in a hit program. The program needs microseconds, but on a
// busy machine the thread must first be scheduled.
const leaveLimit = 2 * time.Second

// occupancy describes the threads in jalon's code.
type occupancy uint8

const (
	empty    occupancy = iota
	sleeping           // threads in a displaced system call, or that return from signal handlers
	busy               // a thread in a hit program
)

// leave moves threads that are stopped at an instruction boundary in a trampoline back to the program, and
// reports which threads remain in jalon's code.
func (r *remover) leave(st *process.Stopped) (occupancy, error) {
	threads, err := st.Threads()
	if err != nil {
		return busy, err
	}
	tab := r.tables.get()
	state, stacks := empty, st.Stacks()
	for _, t := range threads {
		// The frame of a running signal handler, or of an interrupted one, may lead back into jalon's code,
		// wherever the thread itself is.
		if tab.returnsToCode(stacks.WithRedZone(t.Regs.SP())) {
			state = max(state, sleeping)
		}
		if !tab.inCode(t.Regs.PC()) {
			continue
		}
		if to, ok := r.patches.wayBack(t.Regs.PC()); !ok {
			state = busy
		} else if st.SetPC(t.TID, to) != nil {
			state = max(state, sleeping)
		}
	}
	return state, nil
}
