package process

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

// launched is a program stopped at its first instruction.
func launched(t *testing.T, o stub.Options, args ...string) (*Target, stub.ThreadID) {
	t.Helper()
	target, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() }) // it may have ended
	target.SetOptions(o)
	stop, err := target.Launch(stub.LaunchOptions{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return target, stop.Thread
}

func nextStop(t *testing.T, target *Target) stub.Stop {
	t.Helper()
	select {
	case s := <-target.Events():
		return s
	case <-time.After(5 * time.Minute):
		t.Fatal("nothing happens")
		return stub.Stop{}
	}
}

func goOn(t *testing.T, target *Target, id stub.ThreadID) {
	t.Helper()
	if err := target.Resume([]stub.Resumption{{Thread: id}}); err != nil {
		t.Fatal(err)
	}
}

// TestDetachedChild: a child that was let go has not exited.
func TestDetachedChild(t *testing.T) {
	o := stub.Options{ForkEvents: true, VForkEvents: true}
	target, id := launched(t, o, "/bin/sh", "-c", "(exit 1); /bin/true; exit 3")
	children := 0
	for {
		goOn(t, target, id)
		s := nextStop(t, target)
		switch s.Kind {
		case stub.StopForked, stub.StopVForked:
			children++
			if err := target.Detach(s.Child.PID); err != nil {
				t.Fatal(err)
			}
		case stub.StopSignal: // SIGCHLD
		case stub.StopVForkDone:
		case stub.StopExited:
			if s.Thread.PID != id.PID || s.Code != 3 || children != 2 {
				t.Errorf("%+v after %d children", s, children)
			}
			return
		default:
			t.Fatalf("%+v", s)
		}
	}
}

// TestTracerThread: the thread that Options.Go chooses is the tracer.
func TestTracerThread(t *testing.T) {
	tids := make(chan int, 1)
	target, err := New(Options{Go: func(f func()) {
		go func() {
			runtime.LockOSThread()
			tids <- unix.Gettid()
			f()
		}()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	stop, err := target.Launch(stub.LaunchOptions{Args: []string{"/bin/true"}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", stop.Thread.PID))
	if want := fmt.Sprintf("\nTracerPid:\t%d\n", <-tids); err != nil || !strings.Contains(string(status), want) {
		t.Errorf("no %q in %s, %v", want, status, err)
	}
}
