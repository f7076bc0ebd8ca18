package process

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// attachOptions are the options of threads until all are seized: see seize.
const attachOptions = sys.Options &^ unix.PTRACE_O_TRACEEXIT

// Limits of a PTRACE_SEIZE that the kernel keeps waiting.
const (
	stallAfter  = 20 * time.Millisecond
	reapEvery   = 2 * time.Millisecond
	attachLimit = 10 * time.Second
	// stopGrace is how long an attachment goes on after the user has asked for its end.
	stopGrace = 300 * time.Millisecond
)

// stalled are threads that were reaped while a seize was kept waiting.
type stalled struct {
	mu     sync.Mutex
	reaped []int
}

// seize is PTRACE_SEIZE, the one request of ptrace that blocks: the kernel has it wait
// while another thread of the process is inside execve.
//
//  1. That thread may itself wait for jalon: exec kills the other threads and waits until their tracer has
//     reaped those that are traced. The two would wait for each other without end. So another thread of jalon
//     reaps them if a seize takes long: wait(2) works for the tracees of all threads of a process.
//  2. It can reap a thread only if that has ended by itself. A stop at PTRACE_EVENT_EXIT
//     can be left only by the tracer's own thread, which waits here; so that stop is asked
//     for later, when all threads are seized and stopped (attachOptions, meet).
//  3. After exec the caller of execve has the process's id, and is the only thread. If it is
//     the one that was seized, seized is that id.
//
// execve can also wait for something else, such as a file system; that ends with launch's
// limits.
func (p *attacher) seize(tid int) (seized int, err error) {
	var s stalled
	known := p.seized // appended to only: these elements stay
	over := make(chan struct{})
	watch := time.AfterFunc(stallAfter, func() { s.reap(known, over) })
	p.requests++
	p.seizing.Store(p.requests)
	defer p.seizing.Store(0)
	err = sys.SeizeBlocking(tid, attachOptions)
	close(over)
	watch.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.reaped {
		p.threads.Remove(t)
	}
	if err != nil {
		return tid, err
	}
	if len(s.reaped) > 0 && !slices.Contains(sys.ThreadList(p.pid), tid) && p.attached(p.pid) {
		tid = p.pid
	}
	return tid, nil
}

// reap takes the ends of threads until over is closed.
func (s *stalled) reap(known []int, over <-chan struct{}) {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		s.mu.Lock()
		select {
		case <-over: // the tracer looks after its threads again
			s.mu.Unlock()
			return
		default:
		}
		for _, tid := range known {
			if sys.ReapEnded(tid) {
				s.reaped = append(s.reaped, tid)
			}
		}
		s.mu.Unlock()
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// errInExec is the error of an attachment that the kernel keeps waiting.
func errInExec(pid int) error {
	return &fail.Error{
		Op:     fmt.Sprintf("attach to process %d", pid),
		Err:    errors.New("a thread of it is inside execve, and the kernel lets no tracer in before that is over"),
		Remedy: "try again when the file that it executes can be read",
	}
}
