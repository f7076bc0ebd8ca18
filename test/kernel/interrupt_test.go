package kernel

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestInterruptedArming: SIGTERM ends the arming of thousands of uprobes at any instant,
// soon; the program runs on, and no breakpoint is left in it.
func TestInterruptedArming(t *testing.T) {
	const n = 8000
	prog, entries := manyUprobes(t, n)
	rounds := 4
	if full {
		rounds = 40
	}
	var slowest time.Duration
	early := 0
	for i := range rounds {
		target := testkit.Start(t, prog)
		target.AwaitOut("ready")
		p := testkit.Start(t, jalonBin, "trace", "--engine=kernel", "-f", "none", "-p", fmt.Sprint(target.Pid()), "uprobe:"+prog+":fn_*")
		time.Sleep(rand.N(time.Duration(200<<(i%5)) * time.Millisecond)) // any instant, the first ones too
		sent := time.Now()
		p.Signal(syscall.SIGTERM)
		p.Wait()
		slowest = max(slowest, time.Since(sent))
		testkit.NoPanic(t, p.Cmd.Args, p.Errs.String())
		if strings.Contains(p.Errs.String(), "ended before") {
			early++
		}
		if p.Status != 0 && p.Status != 128+int(syscall.SIGTERM) || !testkit.Alive(target.Pid()) {
			t.Fatalf("round %d: status %d\n%s", i, p.Status, p.Errs.String())
		}
		testkit.Eventually(t, "the breakpoints to go", func() bool { return breakpoints(t, target.Pid(), entries) == 0 })
		target.Kill()
	}
	t.Logf("%d rounds, %d while it was arming, %v after the signal at most", rounds, early, slowest)
	if limit := patience / 2; slowest > limit {
		t.Errorf("jalon ended %v after the signal", slowest)
	}
}

// manyUprobes builds a program of n functions and returns their addresses.
func manyUprobes(t *testing.T, n int) (prog string, entries []uint64) {
	t.Helper()
	var s strings.Builder
	s.WriteString(`.globl main
main:
	push %rbx
	lea text(%rip), %rdi
	call puts
	mov stdout(%rip), %rdi
	call fflush
1:	call fn_0
	jmp 1b
text: .string "ready"
.section .note.GNU-stack,""
.text
`)
	for i := range n {
		fmt.Fprintf(&s, ".type fn_%[1]d, @function\nfn_%[1]d: mov $%[1]d, %%eax\nret\n.size fn_%[1]d, . - fn_%[1]d\n", i)
	}
	src := filepath.Join(t.TempDir(), "many.s")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	prog = strings.TrimSuffix(src, ".s")
	if out, err := exec.Command("gcc", "-no-pie", "-o", prog, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range syms {
		if strings.HasPrefix(x.Name, "fn_") {
			entries = append(entries, x.Value)
		}
	}
	if len(entries) != n {
		t.Fatalf("%d functions", len(entries))
	}
	return prog, entries
}

// breakpoints counts the addresses of a process with an int3.
func breakpoints(t *testing.T, pid int, addrs []uint64) (n int) {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, a := range addrs {
		var b [1]byte
		if _, err := mem.ReadAt(b[:], int64(a)); err != nil {
			t.Fatal(err)
		}
		if b[0] == 0xcc {
			n++
		}
	}
	return n
}
