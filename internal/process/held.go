package process

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Held is a program that was started and is held before its first instruction, and that runs without a tracer
// once it is released: it is never stopped, and its signals, forks and system calls cost the same as in any
// other program.
type Held struct {
	pid     int
	release chan bool // true: run; false: end it
	freed   chan struct{}
	done    chan struct{} // closed at its end
	status  ExitStatus
	once    sync.Once
	entered func()
}

// StartHeld starts a program and holds it. Errors are of the environment.
func StartHeld(argv []string, opt StartOptions) (*Held, error) {
	path, attr, done, err := opt.prepare(argv)
	if err != nil {
		return nil, err
	}
	defer done()
	h := &Held{release: make(chan bool), freed: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan error)
	go h.serve(path, argv, attr, ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return h, nil
}

// serve starts the program and lets it go. ptrace requires that one thread does both,
// which ends with the goroutine.
//
//  1. The child asks to be traced and stops at its exec, before the new program's
//     first instruction. From now on it dies with us.
//  2. It is released: detached without a signal, it runs without a tracer. Before that it runs to its entry, if AtEntry was
//     called.
//  3. Its end is waited for.
func (h *Held) serve(path string, argv []string, attr *syscall.ProcAttr, ready chan<- error) {
	runtime.LockOSThread()
	pid, err := forkExec(path, argv, attr)
	if err != nil {
		ready <- &fail.Error{Op: fmt.Sprintf("start %s", argv[0]), Err: err}
		return
	}
	h.pid = pid
	ws, err := h.wait()
	if err == nil && !ws.Stopped() {
		err = errors.New("it ended before its first instruction")
	}
	if err == nil {
		err = sys.SetOptions(pid, unix.PTRACE_O_EXITKILL)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = h.wait()
		ready <- &fail.Error{Op: fmt.Sprintf("start %s", argv[0]), Err: err}
		return
	}
	ready <- nil
	if h.letGo(<-h.release) {
		h.end()
	}
	close(h.done)
}

// letGo lets the program run, or kills it. It reports whether the end is still to be waited for.
func (h *Held) letGo(run bool) (runs bool) {
	var sig unix.Signal
	if run && h.entered != nil {
		close(h.freed) // what is called may wait for the caller of Release
		if sig, runs = h.toEntry(); !runs {
			return false
		}
	} else {
		defer close(h.freed)
	}
	if !run || sys.Detach(h.pid, sig) != nil { // an error: it was killed
		_ = unix.Kill(h.pid, unix.SIGKILL)
	}
	return true
}

// end waits for the end.
func (h *Held) end() {
	for {
		ws, err := h.wait()
		if err != nil {
			h.status = ExitStatus{Detached: true} // another wait has taken its status
			return
		}
		if h.ended(ws) {
			return
		}
	}
}

// ended takes the status of a program that has ended.
func (h *Held) ended(ws unix.WaitStatus) bool {
	switch {
	case ws.Exited():
		h.status = ExitStatus{Code: ws.ExitStatus()}
	case ws.Signaled():
		h.status = ExitStatus{Signal: ws.Signal(), Core: ws.CoreDump()}
	default:
		return false
	}
	return true
}

func (h *Held) wait() (ws unix.WaitStatus, err error) {
	for {
		_, err := unix.Wait4(h.pid, &ws, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return ws, err
		}
	}
}

// Pid is the program's process.
func (h *Held) Pid() int { return h.pid }

// Release lets the program run. Later calls, and those after Kill, do nothing.
func (h *Held) Release() { h.free(true) }

// Kill ends a program that was not released.
func (h *Held) Kill() {
	h.free(false)
}

func (h *Held) free(run bool) {
	h.once.Do(func() { h.release <- run })
	<-h.freed
}

// Done is closed at the program's end.
func (h *Held) Done() <-chan struct{} { return h.done }

// Status is how the program ended; that it was let go while it runs.
func (h *Held) Status() ExitStatus {
	select {
	case <-h.done:
		return h.status
	default:
		return ExitStatus{Detached: true}
	}
}
