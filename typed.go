package jalon

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A signal that is typed at the terminal (Ctrl-C, Ctrl-\) reaches every process of the foreground group:
// jalon, and the program that it has started. The program handles the signal as it would without jalon, and
// is traced to its end. `kill -INT` of jalon only ends the tracing.

// typed counts the signals that the program received from its terminal.
type typed struct {
	seen, answered atomic.Int32
	armed          atomic.Bool
}

// typedLimit bounds the sleeps of a millisecond until the kernel reports a typed signal to the tracer. It
// reports the signal at once unless the program blocks it. A busy machine sleeps longer, and so has more time.
const typedLimit = 100

// typedWait bounds the sleeps while the signal is on its way: to a program that does not block it but gets no CPU, or
// to the tracer that gets none.
const typedWait = 3000

// typedSignals are the signals of Ctrl-C and Ctrl-\, as a mask.
const typedSignals = 1<<(unix.SIGINT-1) | 1<<(unix.SIGQUIT-1)

// ErrUntyped is the cause with which a caller of [Start] cancels the context for a signal that no terminal sends (SIGTERM,
// SIGHUP): then [Trace.Running] does not wait to see whether the program has received it too.
var ErrUntyped = errors.New("ended by a signal that was not typed")

// passedOn waits until the tracer has seen a typed signal. pending reports whether the program will still get one.
func (t *typed) passedOn(pending func() bool) bool {
	for slept, all := 0, 0; slept < typedLimit && all < typedWait; all++ {
		if n := t.seen.Load(); n != t.answered.Load() {
			t.answered.Store(n)
			return true
		}
		time.Sleep(time.Millisecond)
		if !pending() {
			slept++
		}
	}
	return false
}

// inForeground reports whether signals typed at the terminal reach jalon's process group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// PassedOn reports whether a signal that this process has just received was typed at the terminal and has
// reached the program of [Command] too. Then the program decides what to do with it.
func (t *Trace) PassedOn() bool {
	switch {
	case !t.launched || !t.typed.armed.Load():
		return false
	case t.untraced: // jalon does not see its signals
		return inForeground()
	}
	return t.typed.passedOn(func() bool { return t.s.Undelivered(typedSignals) })
}

// Running returns the process id of the program that the trace has started, if it still runs. After the end
// of the trace it continues without jalon.
func (t *Trace) Running() (pid int, ok bool) {
	pid = t.s.Pid()
	if !t.launched || pid == 0 {
		return 0, false
	}
	for slept, all := 0, 0; ; all++ {
		var si unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &si, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil || si.Signo != 0 {
			return 0, false // the program has ended
		}
		if !t.stopped() || slept == typedLimit || all == typedWait {
			return pid, true
		}
		time.Sleep(time.Millisecond)
		if !t.s.Undelivered(typedSignals) {
			slept++
		}
		// A signal has ended the trace. If it was typed, it may have ended the program as well.
	}
}
