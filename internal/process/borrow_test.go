package process

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// borrowAll borrows threads until the process is gone, and runs lists of calls in them. It returns how often
// that worked.
func borrowAll(t *testing.T, p *Process) (n int) {
	t.Helper()
	for {
		_, err := p.Borrow(func(b *Borrowed) error {
			for range 3 { // the thread's process may call exec between two
				results, err := b.Syscalls([]Call{SystemCall(unix.SYS_GETPID), SystemCall(unix.SYS_CLOSE, ^uint64(0)), SystemCall(unix.SYS_GETPPID)})
				if err != nil {
					return err
				}
				if pid := results[0]; pid.Err != nil || int(pid.Value) != p.Pid() || results[1].Err != unix.EBADF {
					t.Errorf("results %v", results)
				}
			}
			n++
			return nil
		})
		switch {
		case errors.Is(err, ErrGone):
			if p.Ended() {
				<-p.Done()
				return n
			}
		case err != nil && !errors.Is(err, ErrNoThread):
			t.Fatal(err)
		}
	}
}

// TestBorrow: threads are borrowed while others come and go.
func TestBorrow(t *testing.T) {
	const rounds = 100
	r := start(t, Config{}, build(t, "storm"), fmt.Sprint(rounds))
	must(0, r.Resume(r.Pid()))
	n := borrowAll(t, r.Process)
	st := r.wait()
	if out := r.out.all(); st != (ExitStatus{}) || out != fmt.Sprintf("%d\n", 16*rounds) {
		t.Errorf("%v %q", st, out)
	}
	if w, _ := r.Work(); w.Stops != 0 {
		t.Errorf("all threads were stopped %d times", w.Stops)
	}
	t.Logf("%d times", n)
}

// TestBorrowExec: a thread is borrowed while another one calls exec.
func TestBorrowExec(t *testing.T) {
	for _, caller := range []string{"l", "t", "x"} {
		t.Run(caller, func(t *testing.T) {
			var execs atomic.Int64
			r := start(t, Config{OnExec: func(int) bool { execs.Add(1); return false }}, build(t, "execs"), "6", caller)
			must(0, r.Resume(r.Pid()))
			n := borrowAll(t, r.Process)
			st := r.wait()
			if out := r.out.all(); st.Code != 3 || execs.Load() != 6 {
				t.Errorf("%v %q after %d execs", st, out, execs.Load())
			}
			t.Logf("%d times", n)
		})
	}
}
