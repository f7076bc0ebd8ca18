package process

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// Watched is a process that is not traced; only its end is waited for.
type Watched struct {
	pid  int
	fd   int
	quit [2]int // a pipe: closing its end lets the waiting goroutine go
	done chan struct{}
	left chan struct{} // the goroutine has
	once sync.Once
}

// Watch waits for the end of a process (pidfd_open, Linux 5.3). No permission is
// needed for that.
func Watch(pid int) (*Watched, error) {
	op := fmt.Sprintf("watch process %d", pid)
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, &fail.Error{Op: op, Err: errors.New("there is no such process")}
	case errors.Is(err, unix.EINVAL):
		return nil, &fail.Error{Op: op, Err: errors.New("this is a thread, not a process"), Remedy: "give the number of its process"}
	case err != nil:
		return nil, &fail.Error{Op: op, Err: err}
	}
	w := &Watched{pid: pid, fd: fd, done: make(chan struct{}), left: make(chan struct{})}
	if err := unix.Pipe2(w.quit[:], unix.O_CLOEXEC); err != nil {
		_ = unix.Close(fd)
		return nil, &fail.Error{Op: op, Err: err}
	}
	go w.wait()
	return w, nil
}

func (w *Watched) wait() {
	defer close(w.left)
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.quit[0]), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if err == nil || !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if fds[0].Revents != 0 {
		close(w.done)
	}
	_ = unix.Close(w.fd)
	_ = unix.Close(w.quit[0])
}

// Pid is the number of the process.
func (w *Watched) Pid() int { return w.pid }

// Done is closed when the process has ended.
func (w *Watched) Done() <-chan struct{} { return w.done }

// Ended reports whether the process has ended.
func (w *Watched) Ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// Close ends the waiting.
func (w *Watched) Close() {
	w.once.Do(func() { _ = unix.Close(w.quit[1]) })
	<-w.left
}
