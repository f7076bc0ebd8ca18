package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// slowSite is the address of slow.c's place that no jump reaches.
func slowSite(t *testing.T, prog string) string {
	t.Helper()
	out, err := exec.Command("nm", prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+) . slow_site$`).FindSubmatch(out)
	if m == nil {
		t.Fatal("no slow_site")
	}
	return "*0x" + string(m[1])
}

// TestSlowSites: a place where no jump fits gets a kernel uprobe, with the same events as an int3; if that is
// not possible, jalon reports it.
func TestSlowSites(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("uprobes need root")
	}
	prog := compile(t, "gcc", "slow.c", "-g", "-O1", "-no-pie")
	at := slowSite(t, prog)
	const warning = "1 of 1 addresses are reached by an int3"
	for _, c := range []struct {
		cond, collect string
		int3          bool
	}{
		{"", "n, *p, p->name, total, points[0]", false},
		{"n % 2 == 0", "n, p->name/s, points, total*2", false},
		{"p->x > 1 && total >= 0", "$regs, n", false},
		{"", "$bt, n", false},
		{"p->name[0] == 'o'", "p->x", false},
		{"*(int *)(n - 1000000) == 0", "n", false}, // unreadable
		{"p->y > 0", "n, p->y * 2", true},          // the kernel has no floating point
	} {
		t.Run(c.cond+" "+c.collect, func(t *testing.T) {
			place := at
			if c.cond != "" {
				place += " if (" + c.cond + ")"
			}
			args := []string{place, "-c", c.collect, "--", prog, "12", "fork"}
			fast, slow := trace(t, args...), trace(t, append([]string{"--avoid", "7"}, args...)...)
			equal(t, "output", fast.stdout, slow.stdout)
			if strings.Contains(fast.stderr, warning) != c.int3 || strings.Contains(slow.stderr, warning) {
				t.Errorf("warnings: %s%s", fast.stderr, slow.stderr)
			}
			// A condition that faults is counted apart, in both.
			got, want := fast.sum, slow.sum
			if got.Hits != want.Hits || got.Recorded != want.Recorded || got.False != want.False || got.Faults != want.Faults || got.Lost != 0 {
				t.Errorf("counts %+v, by int3 %+v", got, want)
			}
			if len(fast.events) != len(slow.events) {
				t.Fatalf("%d events, by int3 %d", len(fast.events), len(slow.events))
			}
			for i := range fast.events {
				f, s := fast.events[i], slow.events[i]
				have, want := strip(fmt.Sprintf("%s %v %v", f.Function, f.Values, f.Errors)), strip(fmt.Sprintf("%s %v %v", s.Function, s.Values, s.Errors))
				if have != want {
					t.Errorf("event %d:\n%s, by int3\n%s", i, have, want)
				}
			}
		})
	}
	t.Run("not permitted", func(t *testing.T) {
		dir := t.TempDir()
		for d := dir; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
			_ = os.Chmod(d, 0o755)
		}
		r := run(t, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", jalonBin, "trace", "-f", "none", at, "--", prog, "5")
		if r.status != 0 || !strings.Contains(r.stderr, warning) || !strings.Contains(r.stderr, "CAP_BPF") {
			t.Errorf("status %d: %s", r.status, r.stderr)
		}
	})
	t.Run("in the process", func(t *testing.T) {
		r := trace(t, "-v", "--engine", "process", at, "-c", "n", "--", prog, "12")
		if r.sum.Recorded == 0 || !strings.Contains(r.stderr, warning) || !strings.Contains(r.stderr, "--engine process") || strings.Contains(r.stderr, "a uprobe of the kernel") {
			t.Errorf("%+v: %s", r.sum, r.stderr)
		}
	})
	t.Run("maps", func(t *testing.T) {
		r := jalon(t, "trace", at, "--do", "@[n] = n; @sum = sum(n);", "--", prog, "12")
		if r.status != 0 || !strings.Contains(r.stdout, "@[11]: 11") || !strings.Contains(r.stdout, "@sum: 66") || !strings.Contains(r.stderr, warning) || !strings.Contains(r.stderr, "maps") {
			t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
		}
	})
	t.Run("list", func(t *testing.T) {
		r := jalon(t, "list", "--tactics", prog+"@slow.c")
		if !strings.Contains(r.stdout, "uprobe, or int3 if the kernel engine") {
			t.Errorf("list --tactics: %s%s", r.stdout, r.stderr)
		}
	})
}

// strip removes addresses that differ between runs, and the parts of frames in libraries that depend on
// debug information, which only the kernel engine may have.
func strip(s string) string {
	return randomAddr.ReplaceAllString(libraryFrame.ReplaceAllString(s, "LIBRARY"), "ADDR")
}

var (
	randomAddr   = regexp.MustCompile(`0x0*7[0-9a-f]{11}\b|\b1[34][0-9]{13}\b`)
	libraryFrame = regexp.MustCompile(`map\[[^]]*libc[^]]*\]`)
)
