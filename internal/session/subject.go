package session

import (
	"time"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
)

// subject is the process of the session; without one, the session traces all processes. At most one field
// is set.
type subject struct {
	p       *process.Process // traced by ptrace
	held    *process.Held    // started by jalon, traced only by the kernel engine
	watched *process.Watched // the kernel engine shows its hits
}

// life has the common methods of the three.
type life interface {
	Pid() int
	Done() <-chan struct{}
}

// life returns the process; nil: the session traces all processes.
func (x *subject) life() life {
	switch {
	case x.p != nil:
		return x.p
	case x.held != nil:
		return x.held
	case x.watched != nil:
		return x.watched
	}
	return nil
}

// done is closed when the process has ended.
func (x *subject) done() <-chan struct{} {
	if l := x.life(); l != nil {
		return l.Done()
	}
	return nil
}

// resume resumes a thread that waits for the session; 0: none.
func (x *subject) resume(tid int) {
	if tid != 0 {
		_ = x.p.Resume(tid) // it may have ended or been detached already
	}
}

// followEarly lets the kernel engine follow the stacks of a program by call frame information from its first own instruction on. A program
// that the kernel engine alone traces is held once more, when it has its libraries; one that is traced by ptrace waits, and has
// them. call calls a function on the session's goroutine.
func (x *subject) followEarly(k arming.KernelEngine, call func(func() error)) {
	switch held := x.held; {
	case k == nil || !k.FollowsStacks():
	case held != nil:
		held.AtEntry(func() { call(func() error { k.Mapped(held.Pid()); return nil }) })
	case x.p != nil:
		k.Mapped(x.p.Pid())
	}
}

// release starts a program that was stopped at its first instruction and is not traced by ptrace.
func (x *subject) release() {
	if x.held != nil {
		x.held.Release()
	}
}

// kill kills the program that was started.
func (x *subject) kill() {
	if x.held != nil {
		x.held.Kill()
		return
	}
	_ = x.p.Kill()
}

// awaitEnd waits until an ending process is gone and its status is known. A core file may be written
// meanwhile, so the wait has a limit.
func (x *subject) awaitEnd() {
	select {
	case <-x.p.Done():
	case <-time.After(10 * time.Second):
	}
}

// outcome returns how the process ended, also in words. Detached: it still runs.
func (x *subject) outcome() (status process.ExitStatus, text string) {
	status.Detached = true // detached now, or when jalon ends
	switch {
	case x.p != nil:
		select {
		case <-x.p.Done():
			status = x.p.Wait()
		default:
		}
		text = status.String()
	case x.held != nil:
		status = x.held.Status()
		text = status.String()
	case x.watched != nil && x.watched.Ended():
		text = "the process has ended"
	}
	return status, text
}

func (x *subject) close() {
	if x.watched != nil {
		x.watched.Close()
	}
}

// fileOf is the file of the program that a process executes, "" if the process has ended.
func fileOf(pid int) string {
	exe, _ := procdir.Exe(pid)
	return exe
}
