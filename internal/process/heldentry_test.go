package process

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// TestHeldEntry: AtEntry's function is called when the libraries are mapped, once; what comes before ends as without it.
func TestHeldEntry(t *testing.T) {
	library := build(t, "early", "-shared", "-fPIC")
	static := build(t, "borrows", "-static")
	for _, c := range []struct {
		name   string
		early  string
		argv   []string
		called int
		want   ExitStatus
	}{
		{"a program", "nothing", []string{"sh", "-c", "exit 7"}, 1, ExitStatus{Code: 7}},
		{"a fork before", "fork", []string{"sh", "-c", "exit 7"}, 1, ExitStatus{Code: 7}},
		{"a stop before", "stop", []string{"sh", "-c", "exit 7"}, 0, ExitStatus{Code: 7}},
		{"a signal before", "signal", []string{"sh", "-c", "exit 7"}, 0, ExitStatus{Signal: unix.SIGUSR1}},
		{"SIGTRAP before", "trap", []string{"sh", "-c", "exit 7"}, 0, ExitStatus{Signal: unix.SIGTRAP}},
		{"an exit before", "exit", []string{"sh", "-c", "exit 7"}, 0, ExitStatus{Code: 9}},
		{"an exec before", "exec", []string{"sh", "-c", "exit 7"}, 0, ExitStatus{Code: 5}},
		{"no linker", "nothing", []string{static, "no-such-mode"}, 0, ExitStatus{}},
	} {
		h, err := StartHeld(c.argv, StartOptions{Env: append(os.Environ(), "LD_PRELOAD="+library, "EARLY="+c.early)})
		if err != nil {
			t.Fatal(err)
		}
		calls := make(chan string, 2)
		h.AtEntry(func() {
			maps, err := memory.ReadMaps(h.Pid())
			if err != nil {
				t.Error(err)
			}
			var list strings.Builder
			for _, m := range maps {
				list.WriteString(m.Path + "\n")
			}
			calls <- list.String()
		})
		h.Release()
		if st := awaitHeld(t, h); st != c.want && c.name != "no linker" {
			t.Errorf("%s: status %v, want %v", c.name, st, c.want)
		}
		close(calls)
		n := 0
		for list := range calls {
			if n++; !strings.Contains(list, "/libc.so") && !strings.Contains(list, "/libc-") {
				t.Errorf("%s: there is no C library yet:\n%s", c.name, list)
			}
		}
		if n != c.called {
			t.Errorf("%s: called %d times, want %d", c.name, n, c.called)
		}
	}
}
