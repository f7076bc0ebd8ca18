package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// manyFunctions builds a program of n functions that are never called.
func manyFunctions(t *testing.T, n int) string {
	t.Helper()
	testkit.Need(t, "gcc")
	var s strings.Builder
	s.WriteString(".text\n.globl main\n.type main, @function\nmain: xor %eax, %eax\nret\n.size main, . - main\n")
	for i := range n {
		fmt.Fprintf(&s, ".type fn_%[1]d, @function\nfn_%[1]d: lea %[1]d(%%rdi), %%rax\ntest %%rsi, %%rsi\nje 1f\nadd %%rsi, %%rax\n1: ret\n.size fn_%[1]d, . - fn_%[1]d\n", i)
	}
	s.WriteString(".section .note.GNU-stack,\"\"\n")
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "many.s"), filepath.Join(dir, "many")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-o", prog, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return prog
}

// TestManySites: the cost of arming is linear in the number of sites, not quadratic, and ten thousands of
// sites do not need gigabytes. The condition has a name, which is looked up at each site.
func TestManySites(t *testing.T) {
	few, many := 2000, 24000
	cheap, _ := costOfArming(t, few)
	dear, size := costOfArming(t, many)
	t.Logf("%v of CPU time for %d sites, %v and %d MiB for %d", cheap, few, dear, size>>20, many)
	if limit := cheap * time.Duration(2*many/few); dear > limit {
		t.Errorf("%d sites cost %v, %d cost %v", many, dear, few, cheap)
	}
	if limit := int64(260 << 20); size > limit {
		t.Errorf("%d sites take %d MiB", many, size>>20)
	}
}

// costOfArming is the CPU time and memory that jalon needs to trace n functions.
func costOfArming(t *testing.T, n int) (cpu time.Duration, size int64) {
	t.Helper()
	args, peak := testkit.Peak(t, jalonArgs("trace", "-f", "none", "--summary-json", "fn_* if ((int)arg0 == 1 && $rsp == 1)", "--", manyFunctions(t, n))...)
	r := start(t, args...)
	if sum := summaryOf(t, r.wait()); sum.Sites != n {
		t.Fatalf("%d sites of %d\n%s", sum.Sites, n, testkit.Tail(r.Errs.String()))
	}
	u := r.Cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), peak()
}
