package hostile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestEscapes: names of files, functions and threads that steer a terminal are shown,
// not written, by each command that prints them.
func TestEscapes(t *testing.T) {
	testkit.Need(t, "gcc", "objcopy")
	const esc = "\x1b]0;owned\x07\u202e"
	sub := filepath.Join(dir, "a"+esc)
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(sub, "main"+esc+".c")
	write(t, src, `const char *bad = "`+esc+`"; int work(int n) { return n + 1; }
int main(void) { int n = 0; while (n < 10) n = work(n); return 0; }`)
	prog := filepath.Join(sub, "prog"+esc)
	gcc(t, "-O0", "-o", prog, src)
	named := filepath.Join(dir, "named")
	if out, err := execOutput("objcopy", "--redefine-sym", "work=wo"+esc+"rk", prog, named); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{
		{"list", prog},
		{"list", named},
		{"list", "-v", prog, "*"},
		{"list", "--tactics", named, "*"},
		{"list", prog + "@main" + esc + ".c"},
		{"list", prog + esc},
		{"trace", "work", "-c", "n", "-v", "--", prog},
		{"trace", "main" + esc + ".c:1", "-c", "n, $bt", "--", prog},
		{"trace", "work", "--count", "--by", "bad", "--", prog},
		{"trace", "nosuch" + esc, "--", prog},
		{"trace", "work if (" + esc + ")", "--", prog},
		{"trace", "uprobe:" + prog + ":work", "--", prog},
		{"control", prog + esc, "status"},
		{"gdbserver", "host" + esc, prog},
		{"no" + esc},
	} {
		p := testkit.Start(t, append([]string{jalon}, args...)...).Wait()
		both := p.Out.String() + p.Errs.String()
		if i := strings.IndexAny(both, "\x1b\x07\u202e"); i >= 0 {
			t.Errorf("%q: raw control characters: %q", args, both[max(0, i-40):min(len(both), i+40)])
		} else if !strings.Contains(both, "x1b") && !strings.Contains(both, "\ufffd") {
			t.Errorf("%q does not show the name: %s", args, both)
		}
	}
}
