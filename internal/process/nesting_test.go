package process

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// TestNesting: signals that come while a thread is stopped again and again, in the middle of a handler that does not block
// its signal, do not fill a small stack with frames; none is lost, and none stays blocked.
func TestNesting(t *testing.T) {
	bin := build(t, "nested")
	for _, c := range []struct {
		how, way string
		sig      unix.Signal
		size     int
		frames   int // at once, at most
	}{
		{"setitimer", "returns", unix.SIGALRM, 6, 4},
		{"timer", "returns", sigRTMin + 1, 6, 4},
		{"timer", "returns", sigRTMin + 1, 2, 2}, // room for one and its handler
		{"disarm", "returns", sigRTMin + 1, 6, 4},
		{"plain", "returns", sigRTMin + 1, 6, 5},
		{"timer", "jumps", sigRTMin + 1, 6, 4},
		{"setitimer", "jumps", unix.SIGALRM, 6, 4},
		{"timer", "waits", sigRTMin + 1, 12, 10},
		{"timer", "execs", sigRTMin + 1, 12, 10},
		{"sent", "returns", unix.SIGUSR1, 6, 4},
		{"sent", "returns", sigRTMin + 1, 6, 4},
	} {
		t.Run(fmt.Sprint(c.how, "-", c.way, "-", int(c.sig), "-", c.size), func(t *testing.T) {
			untraced := launchFree(t, bin, c.how, c.way, "200")
			f := launchFree(t, bin, c.how, c.way, fmt.Sprint(c.size))
			pid := f.cmd.Process.Pid
			sent := c.how == "sent"
			ready := func(text string) {
				if !f.out.has(text) {
					skipInterrupted(t, untraced, c.way)
					t.Fatalf("output ended without %q:\n%s", text, f.out.all())
				}
			}
			if sent {
				waitCaught(t, pid, c.sig)
				_ = unix.Kill(pid, c.sig)
			}
			ready("ready")
			p := attach(t, pid, Config{})
			const rounds, queue = 200, 5
			n := 1
			for range rounds {
				if _, err := p.Stopped(func(*Stopped) error {
					if sent {
						for range queue {
							_ = unix.Kill(pid, c.sig)
							n++
						}
						return nil
					}
					return p.awaitTick(c.sig)
				}); err != nil {
					t.Fatal(err)
				}
			}
			if sent {
				awaitHandled(t, p, c.sig) // without jalon they would need a frame each
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			if !sent { // it still gets them
				_, _ = f.in.Write([]byte("."))
				ready("more")
			}
			frames, calls, err := f.nested()
			out := f.out.all()
			if err != nil || frames < 1 || frames > c.frames {
				skipInterrupted(t, untraced, c.way)
				t.Errorf("%v: %d frames at once after %d stops: %s", err, frames, rounds, out)
			}
			if sent && c.sig >= sigRTMin && calls != n {
				t.Errorf("%d calls of the handler, %d signals were sent", calls, n)
			}
			for line := range strings.Lines(out) {
				if mask, found := strings.CutPrefix(line, "SigBlk:"); found && strings.Trim(mask, "\t 0\n") != "" {
					t.Errorf("a child has blocked signals: %s", line)
				}
			}
		})
	}
}

// nested ends the program, and returns how many frames it had at once and how often its handler was called.
func (f *free) nested() (frames, calls int, err error) {
	_ = f.in.Close()
	err = f.cmd.Wait()
	f.out.end()
	out := f.out.all()
	if i := strings.Index(out, "frames"); i >= 0 {
		_, _ = fmt.Sscanf(out[i:], "frames %d calls %d", &frames, &calls)
	}
	return frames, calls, err
}

// skipInterrupted skips the test if the same program without a tracer had several frames at once: the machine is so busy
// that it often interrupts handlers, so the stacks of these tests would be too small without jalon.
func skipInterrupted(t *testing.T, untraced *free, way string) {
	t.Helper()
	usual := map[string]int{"returns": 1, "jumps": 1, "waits": 2, "execs": 2}[way] // the last two wait for a signal within a handler
	if frames, _, _ := untraced.nested(); frames > usual {
		t.Skipf("handlers are interrupted without a tracer, too: %d frames at once", frames)
	}
}

// TestAwaitQueued: the stop of a thread that is awaited may be in the queue already, and its signal left with the kernel, which
// reports it again. It is taken once: an entry that stayed would be taken for a later stop of the thread, while it runs.
func TestAwaitQueued(t *testing.T) {
	f := launchFree(t, build(t, "nested"), "setitimer", "returns", "64")
	f.out.wait(t, "ready")
	p := attach(t, f.cmd.Process.Pid, Config{})
	for range 50 {
		if err := p.do(func() error {
			k := p.threads.Get(p.pid)
			for start := time.Now(); !p.waits.hasReport(k); p.waits.collect() {
				if time.Since(start) > testPatience {
					return fmt.Errorf("the thread does not stop")
				}
			}
			ws, err := p.waits.await(k)
			if err != nil {
				return err
			}
			if p.waits.hasReport(k) || k.queued {
				return fmt.Errorf("the report %#x is still in the queue", ws)
			}
			p.driver.handleStop(k.TID, ws)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// sigRTMin is libc's.
const sigRTMin = unix.Signal(34)

// awaitTick waits until the timer of a stopped process has expired, unless a thread has the signal already.
func (p *Process) awaitTick(sig unix.Signal) error {
	for start := time.Now(); time.Since(start) < testPatience; {
		for _, t := range p.threads.All() {
			if t.Sig == sig {
				return nil
			}
		}
		if pendingShared(p.threads.Get(p.pid).TID)&sys.SigBit(sig) != 0 {
			return nil
		}
	}
	return fmt.Errorf("the timer does not expire")
}

// awaitHandled waits until no signal of a number waits for the process.
func awaitHandled(t *testing.T, p *Process, sig unix.Signal) {
	t.Helper()
	for start := time.Now(); time.Since(start) < testPatience; time.Sleep(time.Millisecond) {
		waits := false
		stop(t, p, func(*Stopped) error {
			k := p.threads.Get(p.pid)
			waits = pendingShared(k.TID)&sys.SigBit(sig) != 0 || k.Sig == sig
			return nil
		})
		if !waits {
			return
		}
	}
	t.Fatal("signals wait to be handled")
}

func waitCaught(t *testing.T, pid int, sig unix.Signal) {
	t.Helper()
	for start := time.Now(); time.Since(start) < testPatience; time.Sleep(time.Millisecond) {
		if st, err := sys.ReadStatus(pid); err == nil && st.Caught&sys.SigBit(sig) != 0 {
			return
		}
	}
	t.Fatalf("process %d does not catch signal %d", pid, sig)
}
