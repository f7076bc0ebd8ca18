package test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestAttachThreadChurn attaches repeatedly to a process whose threads start and end, also after main's
// thread has ended: no attach fails, and no thread is harmed.
func TestAttachThreadChurn(t *testing.T) {
	attaches := 15
	if full {
		attaches = 250
	}
	prog := compile(t, "gcc", "comings.c", "-g", "-O2", "-pthread")
	for _, args := range [][]string{{"3"}, {"3", "leave"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{prog}, args...)...).AwaitOut("ready")
			pid := fmt.Sprint(p.Pid())
			failed := 0
			c := counted(t, "attached while threads come and go", fmt.Sprint("comings ", args))
			for range attaches {
				c.Rounds++
				r := start(t, jalonBin, "trace", "-q", "-f", "none", "-n", "3", "-p", pid, "visit if (i >= 0)").Wait()
				if r.Status != 0 {
					if failed++; failed <= 3 {
						t.Errorf("status %d: %s", r.Status, tail(r.Errs.String()))
					}
				}
			}
			t.Logf("%d attaches, %d failed", attaches, failed)
			r := start(t, jalonBin, "list", "-p", pid, "visit").Wait()
			if r.Status != 0 || r.Out.String() == "" {
				t.Errorf("list: status %d, %q, %s", r.Status, r.Out.String(), r.Errs.String())
			}
			if os.Geteuid() == 0 {
				r = start(t, jalonBin, "trace", "-q", "-n", "2", "--engine=kernel", "-p", pid, "visit", "-c", "i").Wait()
				if r.Status != 0 || strings.Count(r.Out.String(), "i=") < 2 {
					t.Errorf("kernel engine: status %d, %q, %s", r.Status, r.Out.String(), r.Errs.String())
				}
			}
			p.Signal(syscall.SIGTERM)
			if p.Wait(); p.Status != 0 || p.Out.String() != "ready\nwrong 0\n" {
				t.Errorf("the program: status %d, %q", p.Status, p.Out.String())
			}
		})
	}
}
