package process

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// A process that is attached to may have children that share its memory (CLONE_VM without
// CLONE_THREAD; vfork, posix_spawn, until their exec). They execute the code that is to be
// patched, so they are traced as those are that are created later: stopped with the world,
// let go at their exec. And a thread that has created a child by vfork sleeps
// uninterruptibly until the child's exec or end. If it is the only thread there is none to
// run system calls in; attaching waits for it for a while.

// parkedLimit is how long attaching waits for a thread that can be stopped.
var parkedLimit = 5 * time.Second

// parkedNap is how long the program runs between two looks.
const parkedNap = 20 * time.Millisecond

// freezeSharers is freeze for an attach: children that share the memory are stopped too, and
// a thread of the process itself is stopped.
func (p *attacher) freezeSharers() error {
	for start := time.Now(); ; {
		if err := p.world.freeze(); err != nil {
			return err
		}
		found, err := p.seizeSharers()
		switch {
		case err != nil:
			return err
		case !found && (p.ctl != nil || p.anyStopped()):
			return nil
		case p.interrupted.Load():
			return &fail.Error{Op: fmt.Sprintf("attach to process %d", p.pid), Err: errors.New("the end was asked for before a thread of it could be stopped")}
		case !found && time.Since(start) > parkedLimit:
			return p.allParked()
		}
		p.world.thaw()
		if !found {
			p.waits.sleep(parkedNap)
		}
	}
}

// seizeSharers seizes the children that share the memory and are not traced yet.
func (p *attacher) seizeSharers() (found bool, err error) {
	for _, t := range p.threads.All() {
		for _, pid := range sys.Children(t.TID) {
			if p.threads.Get(pid) != nil || !sys.SameMemory(pid, p.pid) {
				continue
			}
			tids, err := sys.ThreadsOf(pid)
			if err != nil {
				continue // it has ended
			}
			for _, tid := range tids {
				if p.threads.Get(tid) != nil {
					continue
				}
				switch _, err := p.seize(tid); {
				case err == nil:
					p.threads.Add(threads.Thread{TID: tid, TGID: pid, State: threads.Running, Creator: t.TID})
					found = true
				case p.foreign(tid):
					return found, &fail.Error{
						Op:  fmt.Sprintf("attach to process %d", p.pid),
						Err: fmt.Errorf("process %d shares its memory and is traced by another tracer", pid), Remedy: "end that tracer first",
					}
				}
			}
		}
	}
	return found, nil
}

// anyStopped reports whether a thread of the process itself is stopped.
func (p *attacher) anyStopped() bool {
	for _, t := range p.threads.All() {
		if p.threads.Member(t) && t.State == threads.Stopped {
			return true
		}
	}
	return false
}

// allParked is the error of a process of which no thread can be stopped.
func (p *attacher) allParked() error {
	e := &fail.Error{
		Op:     fmt.Sprintf("attach to process %d", p.pid),
		Err:    errors.New("all its threads sleep in the kernel, and cannot be stopped"),
		Remedy: "try again when their I/O is done",
	}
	for _, t := range p.threads.All() {
		if !p.threads.Member(t) || t.State != threads.Parked {
			continue
		}
		pids := sys.Children(t.TID)
		if nr, ok := sys.BlockedIn(t.TID); !ok || len(pids) == 0 || nr != unix.SYS_CLONE && nr != unix.SYS_CLONE3 && sys.PlainForks[nr]&unix.CLONE_VFORK == 0 {
			continue
		}
		child := pids[len(pids)-1]
		e.Err = fmt.Errorf("thread %d sleeps in the kernel until process %d (%s), which it has created by vfork, calls exec or ends", t.TID, child, sys.CommOf(child))
		e.Remedy = fmt.Sprintf("try again then; process %d can be traced meanwhile, and uprobes (--engine kernel) stop no thread", child)
	}
	return e
}
