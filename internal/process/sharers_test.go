package process

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// TestAttachSharer: a child that was there before and shares the memory is stopped with the
// process; one with a memory of its own is not touched.
func TestAttachSharer(t *testing.T) {
	for flags, foreign := range map[string]int{"m": 1, "": 0} {
		f := launchFree(t, build(t, "borrows"), flags, "500", "stay")
		f.out.wait(t, "child")
		p := attach(t, f.cmd.Process.Pid, Config{})
		n := 0
		stop(t, p, func(s *Stopped) error {
			for _, th := range must(s.Threads()) {
				if th.Foreign {
					n++
				}
			}
			mustSyscall(t, s, unix.SYS_GETPID)
			return nil
		})
		if n != foreign {
			t.Errorf("%q: %d threads of children are stopped", flags, n)
		}
		f.out.wait(t, "status 700")
		must(0, p.Detach())
		fmt.Fprintln(f.in)
		if err := f.cmd.Wait(); err != nil {
			t.Errorf("%q: %v", flags, err)
		}
	}
}

// TestAttachVfork: attaching waits for the only thread, which sleeps until its child ends; if
// that takes too long, the error names both.
func TestAttachVfork(t *testing.T) {
	defer func(was time.Duration) { parkedLimit = was }(parkedLimit)
	for _, flags := range []string{"v", "vm"} {
		parkedLimit = testPatience
		f := launchFree(t, build(t, "borrows"), flags, "300", "stay")
		f.out.wait(t, "child")
		p := attach(t, f.cmd.Process.Pid, Config{})
		stop(t, p, func(s *Stopped) error { mustSyscall(t, s, unix.SYS_GETPID); return nil })
		f.out.wait(t, "status 700")
		must(0, p.Detach())

		parkedLimit = time.Millisecond
		f = launchFree(t, build(t, "borrows"), flags, "0")
		f.out.wait(t, "child")
		_, err := Attach(f.cmd.Process.Pid, Config{})
		fmt.Fprintln(f.in) // only now may the child end
		var e *fail.Error
		if !errors.As(err, &e) || !strings.Contains(e.Error(), "which it has created by vfork") || e.Remedy == "" {
			t.Errorf("%s: %v", flags, err)
		}
		if err := f.cmd.Wait(); err != nil || f.out.all() != "child\nstatus 700\n" {
			t.Errorf("%s: %v %q", flags, err, f.out.all())
		}
	}
}
