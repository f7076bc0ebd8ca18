package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/memory"
)

// Detach leaves the process as it was: sleeping calls go on, a group-stop stays,
// signals that were under way arrive. Sites must have been removed before.
func (p *Process) Detach() error {
	err := p.do(p.detach)
	if err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *Process) detach() error {
	if err := p.freeze(); err != nil {
		p.thaw()
		return err
	}
	if err := p.unparked(); err != nil {
		p.thaw()
		return err
	}
	p.awaitForks()
	p.releaseChildren()
	if p.leftBorrowed != nil {
		p.leaveBorrowed()
		return nil
	}
	p.modulesDisarm(p.space)
	p.endControl()
	p.trap.sites = nil
	_ = (&Stopped{p: p, sp: p.space}).setTrapHandler() // an error: it is dying
	p.freeScratch(p.space, nil)
	p.orphansKeep()
	_ = p.endInjection()
	for _, t := range p.tasks {
		if t.state == stopped {
			p.forget(t)
		}
	}
	p.frozen--
	p.finish(ExitStatus{Detached: true})
	return nil
}

// awaitForks lets children with a copy of the memory go that were just born: their
// copies hold what is about to be forgotten.
func (p *Process) awaitForks() {
	for _, t := range p.tasks {
		if t.fork && t.state == starting {
			if ws, err := p.firstStop(t); err == nil {
				p.handleStop(t.tid, ws)
			}
		}
	}
}

// unparked waits for threads that sleep uninterruptibly: a thread can only be let
// go while it is stopped.
func (p *Process) unparked() error {
	for range 50 {
		n := 0
		for _, t := range p.tasks {
			if t.state == parked {
				n++
			}
		}
		if n == 0 {
			return nil
		}
		p.sleep(nap)
		p.pump()
	}
	return &fail.Error{
		Op:     fmt.Sprintf("detach from process %d", p.pid),
		Err:    errors.New("a thread sleeps in the kernel and cannot be interrupted"),
		Remedy: "try again when its I/O is done; the end of jalon lets it go in any case",
	}

}

// freeScratch takes out what injected calls use: the page of arguments, by a call, and
// the stub that they run in, when no thread is in it any more.
func (p *Process) freeScratch(sp *space, only *task) {
	if sp.scratch != 0 {
		if t, err := p.pick(sp, only); err == nil {
			if _, err := p.inject(t, sp, unix.SYS_MUNMAP, sp.scratch, memory.PageSize); err == nil {
				sp.scratch = 0
			}
		}
	}
	_ = p.endInjection() // an error: the thread is dying
	sp.dropStub()
}

// orphansKeep marks children that share the memory as ordinary threads to let go:
// the code is the original again, nothing need be restored for them.
func (p *Process) orphansKeep() {
	for tid := range p.early {
		delete(p.early, tid)
		p.forget(&task{tid: tid})
	}
}

// abandon undoes a launch that failed.
func (p *Process) abandon() {
	p.notify(false)
	if p.space != nil {
		p.space.Close()
	}
	p.finished = true
	close(p.done)
}

// releaseAll lets go of all that was seized before an error.
func (p *Process) releaseAll() {
	if p.frozen == 0 {
		if err := p.freeze(); err != nil {
			p.frozen--
			return // it ended, or its threads go when this one does
		}
		p.frozen--
	}
	for _, t := range p.tasks {
		if t.state == stopped {
			p.forget(t)
		}
	}
}
