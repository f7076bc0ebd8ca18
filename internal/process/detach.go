package process

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Detach leaves the process as it was: sleeping system calls continue, a group-stop remains, pending signals
// are delivered. Sites must have been removed before.
func (p *Process) Detach() error {
	err := p.do(p.detacher.detach)
	if err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *detacher) detach() error {
	if err := p.world.freeze(); err != nil {
		p.world.thaw()
		return err
	}
	if err := p.unparked(); err != nil {
		p.world.thaw()
		return err
	}
	p.nesting.leave()
	p.awaitForks()
	p.children.releaseChildren()
	if p.handovers.leftBorrowed != nil {
		p.leaveBorrowed()
		return nil
	}
	p.linker.modulesDisarm(p.space)
	p.debugger.endControl()
	p.dispositions.trap.sites = nil
	_ = (&Stopped{p: p.tracer, sp: p.space}).setTrapHandler() // an error: it is dying
	p.injector.FreeScratch(p.space, nil)
	p.orphansKeep()
	_ = p.injector.End()
	for _, t := range p.threads.All() {
		if t.State == threads.Stopped {
			p.children.forget(t)
		}
	}
	p.threads.Frozen--
	p.driver.finish(ExitStatus{Detached: true})
	return nil
}

// awaitForks releases children that were just created with a copy of the memory: the copies contain patches
// that cannot be restored after the detach.
func (p *detacher) awaitForks() {
	for _, t := range p.threads.All() {
		if t.Copy && t.State == threads.Starting {
			if ws, err := p.waits.firstStop(t); err == nil {
				p.driver.handleStop(t.TID, ws)
			}
		}
	}
}

// unparked waits for threads that sleep uninterruptibly: a thread can only be let
// go while it is stopped.
func (p *detacher) unparked() error {
	for range 50 {
		n := 0
		for _, t := range p.threads.All() {
			if t.State == threads.Parked {
				n++
			}
		}
		if n == 0 {
			return nil
		}
		p.waits.sleep(nap)
		p.waits.pump()
	}
	return &fail.Error{
		Op:     fmt.Sprintf("detach from process %d", p.pid),
		Err:    errors.New("a thread sleeps in the kernel and cannot be interrupted"),
		Remedy: "try again when its I/O is done; the end of jalon lets it go in any case",
	}
}

// orphansKeep marks children that share the memory to be released like threads: the code is the original
// again, so nothing has to be restored for them.
func (p *detacher) orphansKeep() {
	for _, tid := range p.threads.DropEarly() {
		p.children.letGo(&task{Thread: threads.Thread{TID: tid}})
	}
}

// abandon undoes a launch that failed.
func (p *tracer) abandon() {
	p.waits.notify(false)
	if p.space != nil {
		p.space.Close()
	}
	p.threads.Finished = true
	close(p.done)
}

// releaseAll detaches from all threads that were seized before an error.
func (p *detacher) releaseAll() {
	if p.threads.Frozen == 0 {
		if err := p.world.freeze(); err != nil {
			p.threads.Frozen--
			return // it ended, or its threads go when this one does
		}
		p.threads.Frozen--
	}
	for _, t := range p.threads.All() {
		if t.State == threads.Stopped {
			p.children.forget(t)
		}
	}
}
