package kernel

import (
	"errors"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/probe"
)

// TestSkippedSites: sites of a pattern that cannot be traced are counted in a warning. If none can be
// traced, the error is the reason, and not that the pattern matches nothing.
func TestSkippedSites(t *testing.T) {
	p := &probe.Place{Text: "kprobe:vfs_*"}
	bad := errors.New("error: that is another kernel\n  --> place:1:1")
	for _, tt := range []struct {
		good, bad int
		warning   string
	}{{3, 0, ""}, {2, 1, "kprobe:vfs_*: 1 of 3 sites are skipped: that is another kernel"}, {0, 2, ""}} {
		warned := ""
		b := &base{opt: Options{Warn: func(msg string) { warned += msg }}}
		list, err := b.several(p, tt.good+tt.bad, func(i int) (candidate, error) {
			if i < tt.bad {
				return candidate{}, bad
			}
			return candidate{place: p.Text}, nil
		})
		if len(list) != tt.good || warned != tt.warning || (tt.good == 0) != errors.Is(err, bad) {
			t.Errorf("%+v: %d sites, %q, %v", tt, len(list), warned, err)
		}
	}
	// The kernel's functions, with a file that is not the kernel's.
	h := Inspect(Options{Vmlinux: "/proc/self/exe"})
	defer h.Close()
	kinds, err := probe.Parse("kprobe:vfs_re*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Describe(kinds); err == nil || strings.Contains(err.Error(), "matches nothing") {
		t.Errorf("the file of no kernel: %v", err)
	}
}
