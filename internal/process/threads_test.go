package process

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// stopEverywhere stops the world and injects a call into every thread in turn.
func stopEverywhere(t *testing.T, p *Process) {
	t.Helper()
	_, err := p.Stopped(func(s *Stopped) error {
		for _, k := range s.tasks() {
			if k.State != threads.Stopped || !p.threads.Member(k) || k.Hold&threads.HoldVfork != 0 {
				continue
			}
			r, err := p.injector.Run(k, p.space, unix.SYS_GETTID)
			if sys.Gone(err) {
				continue
			}
			if err != nil || int(r) != k.TID {
				return fmt.Errorf("gettid in %d: %d, %v", k.TID, r, err)
			}
		}
		return nil
	})
	if err != nil && err != ErrGone {
		t.Error(err)
	}
}

// TestBlockedCalls: threads sleep in every kind of call; stops, injected calls
// and ignored signals are not noticed by any. Calls that the kernel never
// restarts start their timeout again at a stop: fewer stops for these.
func TestBlockedCalls(t *testing.T) {
	for _, v := range []struct {
		args []string
		gap  time.Duration
	}{{[]string{"1500", "restarted"}, 2 * time.Millisecond}, {[]string{"3000"}, 70 * time.Millisecond}} {
		t.Run(v.gap.String(), func(t *testing.T) {
			r := start(t, Config{}, append([]string{build(t, "blocked")}, v.args...)...)
			if err := r.Resume(r.Pid()); err != nil {
				t.Fatal(err)
			}
			r.out.wait(t, "ready")
			n := 0
			for running := true; running; n++ {
				stopEverywhere(t, r.Process)
				if n%3 == 0 {
					// The program ignores them, and sleeps on: a tracer must not wake it.
					_, err := r.Stopped(func(*Stopped) error {
						_ = unix.Kill(r.Pid(), unix.SIGCHLD)
						return unix.Kill(r.Pid(), unix.SIGWINCH)
					})
					if err != nil && err != ErrGone {
						t.Error(err)
					}
				}
				select {
				case <-r.Done():
					running = false
				case <-time.After(v.gap):
				}
			}
			t.Logf("%d stops", n)
			if out, st := r.out.all(), r.wait(); st != (ExitStatus{}) || out != "ready\ndone\n" {
				t.Errorf("%v\n%s", st, out)
			}
		})
	}
}

// TestCloneStorm: threads are born and die all the time while the world is stopped.
func TestCloneStorm(t *testing.T) {
	var born, died atomic.Int64
	cfg := Config{OnThread: func(ev ThreadEvent) {
		switch ev.Kind {
		case ThreadBorn:
			born.Add(1)
			if ev.FSBase == 0 && born.Load() > 1 {
				t.Errorf("thread %d has no thread pointer", ev.TID)
			}
		case ThreadDied:
			died.Add(1)
		}
	}}
	const rounds = 100
	r := start(t, cfg, build(t, "storm"), fmt.Sprint(rounds))
	if err := r.Resume(r.Pid()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		_, err := r.Stopped(func(s *Stopped) error {
			ths, err := s.Threads()
			if err != nil {
				return err
			}
			if k := len(ths); k > 33 {
				return fmt.Errorf("%d threads", k)
			}
			_, err = s.Syscall(unix.SYS_GETPID)
			return err
		})
		if errors.Is(err, ErrGone) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	st := r.wait()
	if out := r.out.all(); st != (ExitStatus{}) || out != fmt.Sprintf("%d\n", 16*rounds) {
		t.Errorf("%v %q", st, out)
	}
	if b, d := born.Load(), died.Load(); b != 16*rounds+17 || d != b {
		t.Errorf("%d born, %d died, want %d", b, d, 16*rounds+17)
	}
	t.Logf("%d stops", n)
}

// TestVforkCopies: a process is stopped, and runs calls, while it creates children that it
// waits for in the kernel. (An injected call waited for the child, and the child for it.)
func TestVforkCopies(t *testing.T) {
	const rounds = 100
	r := start(t, Config{}, build(t, "vforkcopy"), fmt.Sprint(rounds))
	if err := r.Resume(r.Pid()); err != nil {
		t.Fatal(err)
	}
	stops, calls := 0, 0
	over := make(chan error, 1)
	go func() {
		for {
			_, err := r.Stopped(func(s *Stopped) error {
				stops++
				if _, err := s.Syscall(unix.SYS_GETPID); err == nil {
					calls++
				} else if sys.Gone(err) || errors.Is(err, ErrGone) {
					return ErrGone
				} // else its only thread waits for a child
				return nil
			})
			if err != nil {
				over <- err
				return
			}
		}
	}()
	select {
	case err := <-over:
		if !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	case <-time.After(testPatience):
		_ = unix.Kill(r.Pid(), unix.SIGKILL) // Process.Kill would wait for the stop
		t.Fatal("a stop hangs")
	}
	st := r.wait()
	if out := r.out.all(); st != (ExitStatus{}) || out != fmt.Sprintf("%d\n", rounds) {
		t.Errorf("%v %q", st, out)
	}
	if calls == 0 {
		t.Errorf("no call in %d stops", stops)
	}
	t.Logf("%d stops, %d calls", stops, calls)
}

// TestStopsWithoutSignals: a stop does not depend on SIGCHLD, which the Go runtime hands on
// in a thread that may have to wait for its turn.
func TestStopsWithoutSignals(t *testing.T) {
	f := launchFree(t, build(t, "busy"), "4")
	f.out.wait(t, "ready")
	p := attach(t, f.cmd.Process.Pid, Config{})
	if err := p.do(func() error { p.waits.notify(false); return nil }); err != nil {
		t.Fatal(err)
	}
	shortest := time.Hour
	for end := time.Now().Add(time.Minute); shortest >= nap && time.Now().Before(end); {
		start := time.Now()
		stopEverywhere(t, p) // ten state changes are awaited
		shortest = min(shortest, time.Since(start))
	}
	if shortest >= nap {
		t.Errorf("the shortest stop took %v", shortest)
	}
	if err := p.do(func() error { p.waits.notify(true); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
}

// TestAttachBusy attaches to a running program, works on it, detaches, attaches again.
func TestAttachBusy(t *testing.T) {
	f := launchFree(t, build(t, "busy"), "8")
	f.out.wait(t, "ready")
	for range 5 {
		born := map[int]bool{}
		p := attach(t, f.cmd.Process.Pid, Config{OnThread: func(ev ThreadEvent) { born[ev.TID] = true }})
		var pauses []time.Duration
		for range 20 {
			pauses = append(pauses, stop(t, p, func(s *Stopped) error {
				ths, err := s.Threads()
				if err == nil && len(ths) != 9 {
					err = fmt.Errorf("%d threads", len(ths))
				}
				return err
			}))
		}
		stop(t, p, func(s *Stopped) error { exercise(t, s); return nil })
		stopEverywhere(t, p)
		t.Logf("pauses %v", pauses)
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		if len(born) != 9 {
			t.Errorf("%d threads reported", len(born))
		}
		if st := p.Wait(); !st.Detached {
			t.Errorf("status %v", st)
		}
		for _, tid := range must(sys.ThreadsOf(f.cmd.Process.Pid)) {
			if st, err := sys.ReadStatus(tid); err != nil || st.Tracer != 0 {
				t.Errorf("thread %d is still traced: %v", tid, err)
			}
		}
	}
	fmt.Fprintln(f.in, "x")
	if err := f.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if out := f.out.all(); out != "ready\nread 1 bad 0\n" {
		t.Errorf("%q", out)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestKill: SIGKILL at any moment is an end, not an error.
func TestKill(t *testing.T) {
	prog := build(t, "busy")
	for i := range 30 {
		r := start(t, Config{}, prog, "6")
		if err := r.Resume(r.Pid()); err != nil {
			t.Fatal(err)
		}
		r.out.wait(t, "ready")
		killer := make(chan struct{})
		_, err := r.Stopped(func(s *Stopped) error {
			for k := range 200 {
				if k == i {
					go func() { _ = unix.Kill(r.Pid(), unix.SIGKILL); close(killer) }()
				}
				if _, err := s.Syscall(unix.SYS_GETPID); err != nil {
					return err
				}
				if _, err := s.Threads(); err != nil {
					return err
				}
			}
			return nil
		})
		<-killer
		if err != nil && err != ErrGone {
			t.Errorf("killed at call %d: %v", i, err)
		}
		if st := r.wait(); st.Signal != unix.SIGKILL {
			t.Errorf("status %v", st)
		}
		if _, err := r.Stopped(func(*Stopped) error { return nil }); err != ErrGone {
			t.Errorf("Stopped after the end: %v", err)
		}
	}
}

// TestSignalStorm: no signal is lost or doubled by stops and injected calls.
func TestSignalStorm(t *testing.T) {
	r := start(t, Config{}, build(t, "sigstorm"), "1000")
	if err := r.Resume(r.Pid()); err != nil {
		t.Fatal(err)
	}
	r.out.wait(t, "ready")
	for done := false; !done; {
		stopEverywhere(t, r.Process)
		select {
		case <-r.Done():
			done = true
		case <-time.After(time.Millisecond):
		}
	}
	if out, st := r.out.all(), r.wait(); st != (ExitStatus{}) || out != "ready\nrt ok sum ok usr ok alarms ok\n" {
		t.Errorf("%v %q", st, out)
	}
}

// stateOf waits until the process is in a state (the kernel needs a moment).
func stateOf(pid int, want string) byte {
	deadline := time.Now().Add(testPatience)
	for {
		s := sys.ThreadState(pid)
		if strings.IndexByte(want, s) >= 0 || time.Now().After(deadline) {
			return s
		}
		runtime.Gosched()
	}
}

// TestGroupStop: SIGSTOP and SIGCONT work as without us, a stopped process can be
// worked on and stays stopped, and is left stopped by Detach.
func TestGroupStop(t *testing.T) {
	f := launchFree(t, build(t, "groupstop"))
	pid := f.cmd.Process.Pid
	f.out.wait(t, "ready")
	p := attach(t, pid, Config{})
	check := func(n int) {
		t.Helper()
		fmt.Fprintf(f.in, "number %d\n", n)
		f.out.wait(t, fmt.Sprintf("conts %d line number %d\n", n, n))
	}
	check(0)
	for n := 1; n <= 10; n++ {
		must(0, unix.Kill(pid, unix.SIGSTOP))
		waitStopped(t, pid)
		for range 3 {
			stop(t, p, func(s *Stopped) error { exercise(t, s); return nil })
			stopEverywhere(t, p)
			waitStopped(t, pid)
		}
		must(0, unix.Kill(pid, unix.SIGCONT))
		check(n)
	}
	must(0, unix.Kill(pid, unix.SIGSTOP))
	waitStopped(t, pid)
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(pid, "T"); s != 'T' {
		t.Errorf("state %c after Detach, want T", s)
	}
	// Attach to a stopped process, and leave it so again.
	p = attach(t, pid, Config{})
	stop(t, p, func(s *Stopped) error { exercise(t, s); return nil })
	waitStopped(t, pid)
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(pid, "T"); s != 'T' {
		t.Errorf("state %c after the second Detach, want T", s)
	}
	must(0, unix.Kill(pid, unix.SIGCONT))
	check(11)
}

// waitStopped waits until every thread is stopped (in a group-stop, which under
// trace shows as t), and looks that none runs.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for _, tid := range must(sys.ThreadsOf(pid)) {
		if s := stateOf(tid, "Tt"); s != 't' && s != 'T' {
			t.Fatalf("thread %d is in state %c", tid, s)
		}
	}
}

// TestIntruders: statuses of children that other parts of jalon wait for are left alone.
func TestIntruders(t *testing.T) {
	r := start(t, Config{}, build(t, "storm"), "50")
	if err := r.Resume(r.Pid()); err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		if _, err := native(t, "/bin/true"); err != nil {
			t.Fatalf("another child's status was taken: %v", err)
		}
		select {
		case <-r.Done():
			done = true
		default:
		}
	}
	if out := r.out.all(); out != "800\n" {
		t.Errorf("%q", out)
	}
}
