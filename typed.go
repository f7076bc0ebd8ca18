package jalon

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

// passedOn waits until the tracer has seen a signal that was typed.
func (t *typed) passedOn() bool {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if n := t.seen.Load(); n != t.answered.Load() {
			t.answered.Store(n)
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

// PassedOn reports whether a signal that this process was just sent was typed at the terminal
// and has reached the program of [Command] too: then the program decides what becomes of it.
func (t *Trace) PassedOn() bool {
	switch {
	case !t.launched || !t.typed.armed.Load():
		return false
	case t.untraced: // its signals are not seen
		return inForeground()
	}
	return t.typed.passedOn()
}

// Running gives the program that the trace has started if it is there: after the end of the
// trace it runs on by itself.
func (t *Trace) Running() (pid int, ok bool) {
	pid = t.s.Pid()
	if !t.launched || pid == 0 {
		return 0, false
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		var si unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &si, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil || si.Signo != 0 {
			return 0, false // it has ended
		}
		if !t.stopped() || time.Since(start) > typedLimit {
			return pid, true
		}
		// A signal has ended the trace; typed, it may have ended the program as well.
	}
}
