package torture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestGoroutineStacks: functions without a stack check come as near to the end of a
// goroutine's stack as Go allows; below lies another goroutine's. (Registers saved there
// killed 3 of 3 runs.)
func TestGoroutineStacks(t *testing.T) {
	testkit.Need(t, "go")
	bin := filepath.Join(tempDir, "goroutines")
	build := exec.Command("go", "build", "-o", bin, "./testdata/goroutines")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, x := range []struct {
		name, place, collect string
		exact                bool
	}{
		{"a record of registers", "uprobe:goroutines:main.leaf", "$regs, $args, $bt", true},
		{"a false condition", "uprobe:goroutines:main.* if ($rsp == 1 && $rax * $rbx - $rcx == 1)", "$regs", false},
		{"the run-time system", "uprobe:goroutines:runtime.[a-m]*", "$args, $regs", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			for range rounds(x.exact) {
				p := testkit.Start(t, jalonBin, "trace", "-f", "none", x.place, "-c", x.collect, "--", bin).Wait()
				said := p.Errs.String()
				if p.Status != 0 || p.Out.String() != "wrong 0\n" {
					t.Fatalf("status %d, output %q\njalon: %s", p.Status, p.Out.String(), testkit.Tail(said))
				}
				if hits := summaryText(said).hits; hits == 0 || x.exact && hits != 7680 {
					t.Fatalf("%d hits\n%s", hits, testkit.Tail(said))
				}
				if strings.Contains(said, "panic") {
					t.Fatal(said)
				}
			}
		})
	}
}

// rounds is how often a case runs: those that once killed the program more than once.
func rounds(more bool) int {
	if more || long {
		return 3
	}
	return 1
}
