package session

import (
	"time"

	"github.com/jalon-trace/jalon/internal/process"
)

// subject is the process that a session is about; without one it is about all. At most
// one of the fields is set.
type subject struct {
	p       *process.Process // traced by ptrace
	held    *process.Held    // started, where only the kernel engine traces it
	watched *process.Watched // whose hits the kernel engine is to show
}

// life is what all three are.
type life interface {
	Pid() int
	Done() <-chan struct{}
}

// life is the process; nil: the session is about all.
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

// done is closed at the end of the process.
func (x *subject) done() <-chan struct{} {
	if l := x.life(); l != nil {
		return l.Done()
	}
	return nil
}

// resume lets a thread go on that waits for a session's answer; 0: none does.
func (x *subject) resume(tid int) {
	if tid != 0 {
		_ = x.p.Resume(tid) // it may be gone, or let go already
	}
}

// release lets a program run that was held at its first instruction and is not traced by
// ptrace.
func (x *subject) release() {
	if x.held != nil {
		x.held.Release()
	}
}

// kill ends the program that was started.
func (x *subject) kill() {
	if x.held != nil {
		x.held.Kill()
		return
	}
	_ = x.p.Kill()
}

// awaitEnd waits until a process on its way out is gone and its status is known: a
// core may be written meanwhile, but not for ever.
func (x *subject) awaitEnd() {
	select {
	case <-x.p.Done():
	case <-time.After(10 * time.Second):
	}
}

// outcome is how the process ended, also in words; Detached: it runs on.
func (x *subject) outcome() (status process.ExitStatus, text string) {
	status.Detached = true // or our end will do it
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
