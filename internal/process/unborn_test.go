package process

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// TestEndedUnborn: a thread whose whole life was seen before the event of its creator is
// not awaited when that event comes.
func TestEndedUnborn(t *testing.T) {
	tids, err := sys.ThreadsOf(os.Getpid())
	i := slices.IndexFunc(tids, func(tid int) bool { return tid != os.Getpid() })
	if err != nil || i < 0 {
		t.Fatalf("threads of this process: %v, %v", tids, err)
	}
	tid := tids[i]
	p := &Process{pid: os.Getpid(), tasks: map[int]*task{}, early: map[int]unix.WaitStatus{}, masks: map[int]uint64{}}
	p.tasks[p.pid] = &task{tid: p.pid, tgid: p.pid, state: running} // the creator
	for _, seen := range []string{"its stop", "nothing"} {
		if seen == "its stop" {
			c := p.adopt(tid, 0)
			if c == nil || p.tasks[tid] != c {
				t.Fatal("a thread of the process is not taken in")
			}
			p.reaped(c, 0)
		} else {
			p.early[tid] = 0     // the stop of a process, which waits for its creator's event
			p.handleStop(tid, 9) // killed
		}
		if p.tasks[tid] != nil {
			t.Errorf("%s: the thread is still there", seen)
		}
		if !p.unborn(tid) {
			t.Errorf("%s: its creator's event would bring it back", seen)
		}
		if p.unborn(tid) {
			t.Errorf("%s: another one of that number is not awaited", seen)
		}
	}
}
