package test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestCrowded: a site at each instruction of many functions, whose programs are as short as can be: the code of one never lies
// over that of another. The rare parts, which change the buffer, are executed often.
func TestCrowded(t *testing.T) {
	need(t, "objdump")
	prog := compile(t, "gcc", "crowded.c", "-g", "-O1", "-no-pie", "-fno-pie")
	var places []string
	code := run(t, "objdump", "-d", "--no-show-raw-insn", "-j", ".text", prog).stdout
	for _, f := range regexp.MustCompile(`(?s)<f\d\d>:\n(.*?)\n\n`).FindAllStringSubmatch(code, 20) {
		for _, m := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):`).FindAllStringSubmatch(f[1], -1) {
			places = append(places, "*0x"+m[1])
		}
	}
	if len(places) != 300 {
		t.Fatalf("%d places", len(places))
	}
	want := run(t, prog).stdout
	for _, args := range [][]string{{}, {"--on-full", "wait:20s"}, {"--overwrite", "--clock", "coarse"}, {"--clock", "none"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			args := append([]string{"trace", "--summary-json", "--engine", "process", "-f", "none", "--buffer", "64k"}, args...)
			r := jalon(t, append(append(args, places...), "--", prog)...)
			if r.status != 0 || r.stdout != want || strings.Contains(r.stderr, "BUG") || strings.Contains(r.stderr, "skipped") {
				t.Errorf("status %d, %q, want %q\n%s", r.status, r.stdout, want, r.stderr)
			}
			// All instructions are executed at each call, but for a dec in the first.
			if n := testkit.TotalsOf(t, "the sites", r.stderr); n.Sites != 300 || n.Hits != 300*500-1 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestHeapToCome: code for punned jumps is not mapped where the heap will grow. Without randomised addresses that is directly behind the
// program, and there is no heap yet when a program has just been started.
func TestHeapToCome(t *testing.T) {
	need(t, "objdump", "setarch")
	prog := compile(t, "gcc", "crowded.c", "-g", "-O1", "-no-pie", "-fno-pie")
	code := run(t, "objdump", "-d", "--no-show-raw-insn", "-j", ".text", prog).stdout
	args := []string{"-R", jalonBin, "trace", "--engine", "process", "-f", "none", "-q"}
	for _, m := range regexp.MustCompile(`je .*\n +([0-9a-f]+):\tdec `).FindAllStringSubmatch(code, -1) {
		args = append(args, "*0x"+m[1])
	}
	out, err := exec.Command("setarch", append(args, "--", prog)...).CombinedOutput()
	if want := run(t, prog).stdout; err != nil || string(out) != want || !strings.HasSuffix(want, " 1000 MB\n") || len(args) < 60 {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}
