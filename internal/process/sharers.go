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

// A process that is attached to may have children that share its memory (CLONE_VM without CLONE_THREAD;
// vfork, posix_spawn, until their exec). They execute the code that is to be patched, so they are traced as
// those are that are created later: stopped with the world, let go at their exec. And a thread that has
// created a child by vfork sleeps uninterruptibly until the child's exec or end. If it is the only thread,
// there is no thread in which to run system calls; attaching waits for a limited time.

// parkedLimit is how long attaching waits for a thread that can be stopped.
var parkedLimit = 5 * time.Second

// parkedNap is how long the program runs between two looks.
const parkedNap = 20 * time.Millisecond

// freezeSharers is freeze for an attach: children that share the memory are stopped too, and
// a thread of the process itself is stopped. They are seized while the program runs: the
// kernel may have a seize wait for an exec of the child (see seize).
func (p *attacher) freezeSharers() error {
	for start := time.Now(); ; {
		if err := p.seizeSharers(); err != nil {
			p.threads.Frozen++ // as freeze leaves it, for thaw
			return err
		}
		if err := p.world.freeze(); err != nil {
			return err
		}
		found := len(p.sharers()) > 0
		switch {
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

// sharers are the threads of children that share the memory and are not traced yet.
func (p *attacher) sharers() (list []threads.Thread) {
	for _, t := range p.threads.All() {
		for _, pid := range sys.Children(t.TID) {
			if p.threads.Knows(pid) || !sys.SameMemory(pid, p.pid) {
				continue
			}
			for _, tid := range sys.ThreadList(pid) {
				if !p.threads.Knows(tid) && !p.attached(tid) {
					list = append(list, threads.Thread{TID: tid, TGID: pid, State: threads.Running, Creator: t.TID})
				}
			}
		}
	}
	return list
}

func (p *attacher) seizeSharers() error {
	for _, th := range p.sharers() {
		_, err := p.seize(th.TID)
		switch {
		case p.unwanted.Load():
			return errInExec(th.TGID)
		case err == nil && p.attached(th.TID):
			p.threads.Add(th)
		case p.foreign(th.TID):
			return &fail.Error{
				Op:  fmt.Sprintf("attach to process %d", p.pid),
				Err: fmt.Errorf("process %d shares its memory and is traced by another tracer", th.TGID), Remedy: "end that tracer first",
			}
		}
	}
	return nil
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
