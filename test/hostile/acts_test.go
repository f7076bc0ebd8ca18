package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// acts are the modes of testdata/acts.c in which root's jalon attaches to it.
var acts = []struct {
	mode string
	own  bool // may end the program: it unmaps jalon's memory in it
	long bool // only in the long form
}{
	{mode: "threads"},
	{mode: "named"},
	{mode: "notify"},
	{mode: "storm"},
	{mode: "maps"},
	{mode: "munmap", own: true},
	{mode: "mprotect", own: true},
	{mode: "zero", own: true},
	{mode: "mremap", own: true},
	{mode: "forks", long: true},
	{mode: "closes", long: true},
	{mode: "kill9", own: true, long: true},
	{mode: "rettrace", long: true},
	{mode: "errno", long: true},
	{mode: "trap", long: true},
	{mode: "kill", long: true},
	{mode: "dumpable", long: true},
	{mode: "ptracer", long: true},
	{mode: "idle", long: true},
}

// TestActs: jalon attaches to programs that are hard to trace, traces them and detaches. A program that has
// unmapped jalon's memory may die; jalon then ends with its status.
func TestActs(t *testing.T) {
	asRoot(t)
	prog := compile(t, "acts")
	rounds := 1
	if full {
		rounds = 10
	}
	for _, act := range acts {
		if act.long && !full {
			continue
		}
		for range rounds {
			target := asNobody(t, prog, act.mode).AwaitOut("ready")
			p := testkit.Start(t, jalon, "trace", "-d", "200ms", "-p", fmt.Sprint(target.Pid()), "work", "-c", "n", "-n", "500").Wait()
			out, errs := p.Out.String(), p.Errs.String()
			if strings.ContainsAny(out+errs, "\x1b\x07") {
				t.Errorf("%s: raw control characters: %s", act.mode, testkit.Tail(out+errs))
			}
			if p.Status != 0 && !act.own {
				t.Errorf("%s: status %d: %s", act.mode, p.Status, testkit.Tail(errs))
			}
			for _, line := range strings.Split(out, "\n") {
				if line != "" && !strings.Contains(line, "work") {
					t.Errorf("%s: a line that is no event: %q", act.mode, line)
					break
				}
			}
			letGo(t, target)
			if !act.own && !testkit.Alive(target.Pid()) {
				t.Errorf("%s: the target has ended: %s", act.mode, target.Errs.String())
			}
			target.Kill()
		}
	}
}
