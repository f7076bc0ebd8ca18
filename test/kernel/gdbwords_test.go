package kernel

import (
	"fmt"
	"os"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// GDB filters the kernel by process: by jalon's words, which it has as trace state
// variables without defining them.
func TestGDBWords(t *testing.T) {
	magic := ownNumber(4)
	out := gdbKernel(t, magic, fmt.Sprintf(`
info tvariables
tvariable $before = 5
strace -m syscalls:sys_enter_getpriority
condition 1 $current_task_tgid != %[1]d && *(long *)($rdi + 24) == %[2]d
strace -m syscalls:sys_enter_getpriority
condition 2 $current_task_tgid == %[1]d && $current_task_uid == %[3]d && *(long *)($rdi + 24) == %[2]d
actions
collect $current_task_tgid, $current_task_pid, $cpu_id, $current_task_uid, $clock, $current_task
teval $before = $clock
end
passcount 3
tstart
`+testkit.UntilStopped+`
tstatus
tfind
print $current_task_tgid == %[1]d
print $current_task_pid > 0
print $cpu_id >= 0 && $cpu_id < 4096
print $current_task_uid
set $first = $clock
print $current_task > 0 || $current_task < 0
print $current_task_gid
tfind
print $clock > $first
tfind none
print $current_task_pid
print $before > 5
info tracepoints
monitor counts
`, os.Getpid(), magic, os.Getuid()))
	testkit.InOrder(t, out, `\$trace_timestamp`, `\$current_task_tgid`, `\$current_task_pid`, `\$cpu_id`, `\$clock`, `\$current_task_cgroup`,
		`Static tracepoint 1 at 0x8`, `Trace stopped by tracepoint 2`, `Collected 3 trace frames`, `Found trace frame 0, tracepoint 2`,
		`\$1 = 1\n`, `\$2 = 1\n`, `\$3 = 1\n`, fmt.Sprintf(`\$4 = %d\n`, os.Getuid()), `\$5 = 1\n`, `\$6 = (void|<unavailable>)\n`,
		`Found trace frame 1`, `\$7 = 1\n`, `\$8 = (void|<unavailable>)\n`, `\$9 = 1\n`,
		`syscalls:sys_enter_getpriority, off: [1-9]\d* hits, 0 recorded, [1-9]\d* false, 0 faults`)
}
