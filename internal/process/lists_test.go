package process

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLists: lists of calls give the result of each call, and take one stop of the thread if the
// program leaves a signal for it. Signals of the program's own are not lost.
func TestLists(t *testing.T) {
	const urg, winch = int(unix.SIGURG), int(unix.SIGWINCH)
	for _, c := range []struct {
		signals []int // that the program catches, or blocks if negative
		listed  bool
	}{
		{nil, true},
		{[]int{urg}, true},
		{[]int{-urg}, true},
		{[]int{winch}, true},
		{[]int{urg, winch}, false},
		{[]int{-urg, -winch}, false},
		{[]int{urg, -winch}, false},
	} {
		t.Run(fmt.Sprint(c.signals), func(t *testing.T) {
			argv := []string{build(t, "lists")}
			for _, n := range c.signals {
				argv = append(argv, fmt.Sprint(n))
			}
			f := launchFree(t, argv...)
			f.out.wait(t, "ready")
			pid := f.cmd.Process.Pid
			p := attach(t, pid, Config{})
			var calls []Call
			for i := range 70 {
				calls = append(calls, SystemCall(unix.SYS_GETPID))
				if i == 33 {
					calls[i] = SystemCall(unix.SYS_CLOSE, ^uint64(0))
				}
			}
			for round := range 3 {
				stop(t, p, func(s *Stopped) error {
					mustSyscall(t, s, unix.SYS_GETPID) // what is done once is done
					if round == 1 {
						for _, sig := range []unix.Signal{unix.SIGURG, unix.SIGWINCH} {
							must(0, unix.Kill(pid, sig))
						}
					}
					before, _ := p.injector.Work()
					results, err := s.Syscalls(calls)
					if err != nil {
						return err
					}
					for i, r := range results {
						if i == 33 && r.Err != unix.EBADF || i != 33 && (r.Err != nil || r.Value != uint64(pid)) {
							t.Errorf("call %d: %v", i, r)
						}
					}
					after, _ := p.injector.Work()
					if turns := after - before; len(results) != len(calls) || round == 0 && c.listed != (turns < 10) {
						t.Errorf("round %d: %d results, %d stops of the thread", round, len(results), turns)
					}
					return nil
				})
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			_ = f.in.Close()
			err := f.cmd.Wait()
			if got, want := f.out.all(), fmt.Sprintf("came %d\n", len(c.signals)); err != nil || !strings.HasSuffix(got, want) {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		})
	}
}
