package kernelguest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

// Maps of numbers that places in a process and in the kernel use are in memory that both have, on every kernel: each hit reads what the other engine has
// written. The program is static: its thread gets its thread pointer behind the start, without a word to the tracer.
func TestGuest_CommonMaps(t *testing.T) {
	const calls8, turns = 8, 3
	w := work(t, "works", fmt.Sprint(calls8))
	p := testkit.Start(t, jalon, "run", "--maps", "-e", "uprobe:"+calls+`:work { @t[tid] = (uint64)arg0 + 1; @k[arg0 & 7]++; @n[tid, "w"] += 2; @of["x", tid] = (uint64)arg0; }
tracepoint:syscalls:sys_enter_write /@t[tid]/ { @sum = sum(@t[tid]); delete(@t, tid); @k[args.count]++; @n[tid, "w"]++; @of["x", tid] = @of["x", tid] + 1; }`, "-p", fmt.Sprint(w.Pid()))
	p.AwaitErr("Attached")
	for range turns {
		w.once()
	}
	w.Kill()
	p.Wait()
	want := []string{
		fmt.Sprintf("@sum: %d\n", turns*calls8), fmt.Sprintf("@n[%d, w]: %d\n", w.Pid(), turns*(2*calls8+1)), fmt.Sprintf("@of[x, %d]: %d\n", w.Pid(), calls8),
		fmt.Sprintf("@k[0]: %d\n", turns), fmt.Sprintf("@k[1]: %d\n", 2*turns),
	}
	for _, x := range want {
		if !strings.Contains(p.Out.String(), x) {
			t.Errorf("no %q", x)
		}
	}
	common := 0 // without the engine in the process the kernel has all of them
	if vmtest.Arch == "amd64" {
		common = 4
	}
	if n := strings.Count(p.Errs.String(), "in memory that the process and the kernel have in common"); n != common || p.Status != 0 || strings.Contains(p.Out.String(), "@t[") {
		t.Errorf("status %d, %d maps in common\n%s%s", p.Status, n, p.Out.String(), p.Errs.String())
	}
}
