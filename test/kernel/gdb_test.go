package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
	"golang.org/x/sys/unix"
)

// gdbKernel runs a script in GDB with this machine's kernel as its target, while getpriority is called
// repeatedly with magic as its second argument. It returns GDB's output.
func gdbKernel(t *testing.T, magic int, script string) string {
	t.Helper()
	return gdbKernelPaced(t, magic, script, "")
}

// ownNumber returns a number that no other process uses: tracepoints of the kernel are hit by all, also by another run
// of these tests.
func ownNumber(n int) int { return 0x40000000 + n<<23 + os.Getpid() }

// gdbKernelPaced calls getpriority at most once a millisecond until the file fast exists.
func gdbKernelPaced(t *testing.T, magic int, script, fast string) string {
	t.Helper()
	gdb := tool(t, "gdb")
	file := filepath.Join(t.TempDir(), "script")
	script = fmt.Sprintf("set pagination off\nset confirm off\nset width 0\nset remotetimeout 60\ntarget remote | %s gdbserver --kernel -\n%s\n", jalonBin, script)
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, gdb, "-nx", "-batch", "-x", file)
	testkit.SpareStaticTracepoints(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for slow := fast != ""; ; {
		if slow {
			time.Sleep(time.Millisecond)
			_, err := os.Stat(fast)
			slow = err != nil
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("gdb: %v\n%s", err, out.String())
			}
			return out.String()
		default:
			_, _ = unix.Getpriority(unix.PRIO_PROCESS, magic)
		}
	}
}

// A static tracepoint by its name and its own record.
func TestGDBMarker(t *testing.T) {
	magic := ownNumber(1)
	out := gdbKernel(t, magic, fmt.Sprintf(`
info threads
monitor markers syscalls:sys_enter_getp*
strace -m syscalls:sys_enter_getpriority
condition 1 *(long *)($rdi + 24) == %d
actions
collect $_sdata, *(long *)($rdi + 24), $regs
end
passcount 3
tstart
`+testkit.UntilStopped+`
tstatus
tfind
print $_sdata
print *(long *)($rdi + 24) == %d
print $rip
info registers rbx
tfind
tfind
tfind
tfind none
info tracepoints
monitor counts
info static-tracepoint-markers
info mem
`, magic, magic))
	testkit.InOrder(t, out, `kernel`, `syscalls:sys_enter_getpriority \{int __syscall_nr; int which; int who\}`, `Static tracepoint 1 at 0x8`,
		`Trace stopped by tracepoint 1`, `Collected 3 trace frames`, `Found trace frame 0, tracepoint 1`,
		fmt.Sprintf(`"sys_getpriority\(which: 0, who: %#x\)"`, magic), `\$2 = 1\n`, `\$3 = .*0x8`, `rbx +<unavailable>`,
		`Found trace frame 2`, `No trace frame found`, `already hit \d+ times`, `syscalls:sys_enter_getpriority, off: \d+ hits, \d+ recorded, \d+ false, 0 faults`,
		`sched:sched_switch +\w +0xffffffff`, `0x0000000000000000 0x0100000000000000 ro`, `0xff00000000000000 0x10000000000000000 ro`)
	if !strings.Contains(out, "prev_comm=%s prev_pid=%d") {
		t.Error("the list of markers does not say how sched_switch is printed")
	}
}

// defineMarker is the function $marker("NAME") of GDB: the address of a static tracepoint.
const defineMarker = `
python
import gdb
class Marker(gdb.Function):
    def __init__(self): super(Marker, self).__init__("marker")
    def invoke(self, name): return int(gdb.execute("monitor markers " + name.string(), to_string=True).split()[0], 16)
Marker()
end
`

// Raw arguments as registers and the tracepoint's own record in one frame; a second
// tracepoint at the same address that is enabled while the run goes on; a variable.
func TestGDBArguments(t *testing.T) {
	magic := ownNumber(2)
	out := gdbKernel(t, magic, fmt.Sprintf(defineMarker+`
tvariable $seen = 40
strace *$marker("raw_syscalls:sys_enter") if $rdx == %d && *(long *)($rsi + 104) == %d
actions
collect $_sdata, $rdx, $regs
teval $seen = $seen + 1
end
passcount 2
strace *$marker("raw_syscalls:sys_enter") if $rdx == %d && *(long *)($rsi + 104) == %d
actions
collect $rdi, $seen
end
disable 2
tstart
enable 2
`+testkit.UntilStopped+`
tfind tracepoint 1
print $_sdata
print $rdx
print $rdi
tfind none
print $seen >= 42
python
try: gdb.execute("set variable *(char *)$marker(\"sched:sched_switch\") = 1")
except gdb.error as e: print(e)
end
`, unix.SYS_GETPRIORITY, magic, unix.SYS_GETPRIORITY, magic))
	testkit.InOrder(t, out, `Static tracepoint 1 at 0xffffffff`, `tracepoint 1`, fmt.Sprintf(`"sys_enter: NR %d \(0, %x, `, unix.SYS_GETPRIORITY, magic),
		fmt.Sprintf(`\$2 = %d\n`, unix.SYS_GETPRIORITY), `\$3 = 0\n`, `\$4 = 1\n`, `Cannot access memory at address 0xffffffff`)
}

// A tracepoint that sets a variable, added to a run that began without one: from then on the
// run ends at the hit itself, and the variable has as many hits as the tracepoint.
func TestGDBAddedCounter(t *testing.T) {
	const passes = 50_000
	magic := ownNumber(3)
	added := filepath.Join(t.TempDir(), "added") // the run must not end before
	out := gdbKernelPaced(t, magic, fmt.Sprintf(defineMarker+`
set circular-trace-buffer on
tvariable $n = 0
strace *$marker("syscalls:sys_enter_getpriority") if *(long *)($rdi + 24) == %d
passcount %d
tstart
strace *$marker("syscalls:sys_enter_getpriority") if *(long *)($rdi + 24) == %d && ($n = $n + 1) > 0
shell touch %s
`+testkit.UntilStopped+`
tstatus
info tracepoints
print $n
`, magic, passes, magic, added), added)
	testkit.InOrder(t, out, `Trace stopped by tracepoint 1`, `already hit \d+ times`, `already hit \d+ times`, `\$\d+ = \d+\n`)
	hits := regexp.MustCompile(`already hit (\d+) times`).FindAllStringSubmatch(out, -1)
	n := regexp.MustCompile(`\$\d+ = (\d+)\n`).FindAllStringSubmatch(out, -1)
	if len(hits) < 2 || len(n) == 0 || hits[1][1] != n[len(n)-1][1] || n[len(n)-1][1] == "0" {
		t.Errorf("%v hits, the variable is %v\n%s", hits, n, out)
	}
}
