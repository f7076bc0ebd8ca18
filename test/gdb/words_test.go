package gdb

import (
	"fmt"
	"os"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
)

// The words of jalon's are trace state variables of GDB's without a definition. The
// process is known to the program at the site, its threads and CPUs to the tracer.
func TestWords(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-O0", "-g", "-pthread")
	s := talk(t, conversation{args: []string{prog, "10", "3"}, script: `break finished
info tvariables
tvariable $mine = 7
python
import gdb
gdb.set_convenience_variable("pid", gdb.selected_inferior().pid)
gdb.set_convenience_variable("tid", gdb.selected_thread().ptid[1])
for c in ("$current_task_tgid == %d", "$current_task_tgid != %d", "$current_task_pid == %d", "$current_task_pid != %d"):
    gdb.execute("trace work if " + c % gdb.selected_inferior().pid)
gdb.execute("trace work")
gdb.execute("trace work if n == 3")
end
actions 6
collect $current_task_tgid
end
actions 7
collect $current_task_tgid, $current_task_pid, $cpu_id
end
trace work if n == 4
actions
teval $current_task_pid = 3
end
tstart
continue
tstop
info tracepoints
tfind tracepoint 6
print $current_task_tgid == $pid
print $current_task_pid
tfind none
tfind tracepoint 7
print $current_task_tgid == $pid
print $current_task_pid > 0
print $cpu_id >= 0 && $cpu_id < 4096
tfind none
print $current_task_tgid
print $mine
info tvariables
monitor trace
`})
	s.inOrder(`\$trace_timestamp`, `\$current_task_tgid`, `\$current_task_pid`, `\$cpu_id`,
		`tracepoint 6`, `\$1 = 1\n`, `\$2 = void`, `tracepoint 7`, `\$3 = 1\n`, `\$4 = 1\n`, `\$5 = 1\n`, `\$6 = void`, `\$7 = 7\n`,
		`\$current_task_pid +0 +<undefined>`, `\$mine +7 +7`,
		// hits, recorded, false
		`tracepoint 2 at \w+ +30 +30 +0`, `tracepoint 3 at \w+ +30 +0 +30`, `tracepoint 4 at \w+ +30 +0 +30`, `tracepoint 5 at \w+ +30 +30 +0`,
		`tracepoint 6 at \w+ +30 +30 +0`, `tracepoint 7 at \w+ +30 +3 +27`)
}

// TestWordsOfThread: properties of a thread that only /proc has, its user, group and cgroup, and the
// kernel's clock. Words of the kernel only are not defined for a process.
func TestWordsOfThread(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-O0", "-g", "-pthread")
	s := talk(t, conversation{args: []string{prog, "10"}, script: fmt.Sprintf(`break finished
info tvariables
trace work if $current_task_uid == %[1]d && $current_task_gid == %[2]d && $clock > %[3]d
actions
collect $current_task_uid, $current_task_gid, $clock
end
trace work if $current_task_uid != %[1]d || $current_task_gid != %[2]d || $clock < %[3]d
tstart
continue
tstop
tfind 0
print $current_task_uid == %[1]d && $current_task_gid == %[2]d && $clock > %[3]d
tfind none
monitor trace
`, os.Getuid(), os.Getgid(), event.Monotonic())})
	s.inOrder(`\$cpu_id`, `\$clock`, `\$current_task_uid`, `\$current_task_gid`, `\$current_task_cgroup`,
		`\$1 = 1\n`, `tracepoint 2 at \w+ +10 +10 +0`, `tracepoint 3 at \w+ +10 +0 +10`)
	s.not(`\$jiffies`, `\$current_task `)
}

// In a program with one thread the thread is the process. The condition of a breakpoint, which the target
// evaluates, can use the words too.
func TestWordsOneThread(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-O0", "-g", "-pthread")
	s := talk(t, conversation{args: []string{prog, "10"}, script: `break finished
set breakpoint condition-evaluation target
break work if n == 7 && $current_task_pid == $current_task_tgid && $current_task_pid > 1
trace work.c:23 if $current_task_pid == $current_task_tgid
actions
collect $current_task_pid
end
tstart
continue
print n
continue
tstop
tfind 9
monitor trace
`})
	s.inOrder(`work \(n=7`, `\$1 = 7\n`, `finished`, `tracepoint 3 at \w+ +10 +10 +0`)
}
