package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Programs that have forbidden themselves operations which tracing needs run to their right end. They are
// traced, or jalon prints why not.
func TestConfined(t *testing.T) {
	prog := compile(t, "gcc", "confined.c", "-g", "-O2", "-pthread")
	noEffect := exec.Command(prog, "reads-tsc").Run() == nil
	for _, c := range []struct {
		how     string
		records int    // 0: it cannot be traced
		says    string // on standard error
	}{
		{"tsc", 2000, "forbids reading the time stamp counter"},
		{"tsc-later", 2000, "forbids reading the time stamp counter"},
		{"strict", 0, "it is in strict seccomp mode"},
		{"strict-later", 2000, "forbids reading the time stamp counter"},
		{"strict-thread", 4000, "forbids reading the time stamp counter"},
		{"filter", 0, "its seccomp filter forbids rt_sigprocmask"},
		{"filter-mmap", 2000, ""},
		{"small", 0, "address space (ulimit -v)"},
	} {
		for _, collect := range []string{"n", "n, p->next->value"} {
			t.Run(c.how+"/"+collect, func(t *testing.T) {
				x, in := startConfined(t, prog, c.how)
				out := filepath.Join(t.TempDir(), "events")
				j := start(t, jalonArgs("trace", "-v", "-f", "json", "-o", out, "-p", fmt.Sprint(x.Pid()), "visit", "-c", collect)...)
				j.armedOrEnded()
				if _, err := in.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if r := x.wait(); r.status != 0 || r.stdout != "ready\nok\n" {
					t.Errorf("the program: status %d, %q", r.status, r.stdout)
				}
				r := j.wait()
				if noEffect && strings.HasSuffix(c.how, "-later") { // jalon notices it by a hit that faults
					c.says = ""
				}
				if !strings.Contains(r.stderr, c.says) || (r.status != 0) != (c.records == 0) {
					t.Errorf("status %d: %s", r.status, tail(r.stderr))
				}
				events := readEvents(t, out)
				if len(events) != c.records {
					t.Fatalf("%d records, want %d: %s", len(events), c.records, tail(r.stderr))
				}
				for i := 1; i < len(events); i++ {
					if events[i].Time < events[i-1].Time {
						t.Fatalf("event %d at %d after one at %d", i, events[i].Time, events[i-1].Time)
					}
				}
			})
		}
	}
}

// Without jalon, killed while they run, they go on as well.
func TestConfinedKilled(t *testing.T) {
	prog := compile(t, "gcc", "confined.c", "-g", "-O2", "-pthread")
	for _, how := range []string{"tsc", "strict-thread", "filter-mmap"} {
		for _, collect := range []string{"n", "n, p->next->value"} {
			for i := range kills(6) {
				x, in := startConfined(t, prog, how)
				j := start(t, jalonArgs("trace", "-v", "-f", "json", "-p", fmt.Sprint(x.Pid()), "visit", "-c", collect)...)
				j.armedOrEnded()
				if i%2 == 0 {
					j.Kill()
				}
				if _, err := in.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if i%2 == 1 {
					eventually(t, "an event", func() bool { return strings.Contains(j.Out.String(), "{") || ended(j) })
					j.Kill()
				}
				if r := x.wait(); r.status != 0 || r.stdout != "ready\nok\n" {
					t.Fatalf("%s, %s, %d: status %d, %q\n%s", how, collect, i, r.status, r.stdout, tail(j.Errs.String()))
				}
			}
		}
	}
}

func startConfined(t *testing.T, prog, how string) (*running, *os.File) {
	t.Helper()
	cmd := exec.Command(prog, how)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	x := startCmd(t, cmd)
	_ = r.Close()
	t.Cleanup(func() { _ = w.Close() })
	x.AwaitOut("ready\n")
	return x, w
}

// armedOrEnded waits until a jalon with -v has armed, or has printed why it cannot.
func (r *running) armedOrEnded() {
	r.T.Helper()
	testkit.Eventually(r.T, "jalon arms", func() bool { return strings.Contains(r.Errs.String(), "armed after") || ended(r) })
}
