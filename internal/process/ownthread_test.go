package process

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwnThread: a tracer's thread is never the main one, which does not end with its goroutine; and when a start fails,
// the thread has ended, so the kernel has detached what could not be stopped.
func TestOwnThread(t *testing.T) {
	failed := errors.New("the test's")
	for range 300 {
		tid := 0
		_, err := launch(Config{}, func(p *Process) error {
			tid = unix.Gettid()
			return failed
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if tid == os.Getpid() {
			t.Fatal("the tracer is the main thread")
		}
		if unix.Tgkill(os.Getpid(), tid, 0) == nil {
			t.Fatalf("thread %d still is there", tid)
		}
	}
}
