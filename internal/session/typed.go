package session

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A signal that is typed at the terminal (Ctrl-C, Ctrl-\) reaches every process of the
// foreground group: jalon, and the program that it has started. The program takes it as
// it would without jalon, and its end is traced; `kill -INT` of jalon alone ends the
// tracing.

// typed counts the signals that came to the program from its terminal.
type typed struct {
	seen, answered atomic.Int32
	armed          atomic.Bool
}

// typedLimit is how long a program may take to be given a signal that was typed: it
// is shown to the tracer at once, unless the program blocks it.
const typedLimit = 100 * time.Millisecond

// PassedOn reports whether a signal that jalon was sent was typed at the terminal and
// has reached the program that it started: then the program decides what becomes of it.
// It may be called from any goroutine.
func (s *Session) PassedOn() bool {
	if !s.launched || !s.typed.armed.Load() {
		return false
	}
	if s.subject.held != nil { // its signals are not seen
		return inForeground()
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) { // until the tracer has seen it
		if n := s.typed.seen.Load(); n != s.typed.answered.Load() {
			s.typed.answered.Store(n)
			return true
		}
		if time.Since(start) > typedLimit {
			return false
		}
	}
}

// inForeground reports whether signals typed at the terminal come to jalon's group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Ended is closed when Run is over.
func (s *Session) Ended() <-chan struct{} { return s.post.ended }

// RunsOn gives the pid of the program that the session has started, if it is still
// there when Run is over.
func (s *Session) RunsOn() (pid int, ok bool) {
	if !s.launched || s.subject.life() == nil {
		return 0, false
	}
	return s.subject.runsOn(s.ctx.Err() != nil)
}
