package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestGuesses: command lines that users of other tools type first are answered with what to type.
func TestGuesses(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	stripped := filepath.Join(t.TempDir(), "stripped")
	run(t, "strip", "-o", stripped, prog)
	script := filepath.Join(t.TempDir(), "start.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	self, notMade := strconv.Itoa(os.Getpid()), filepath.Join(t.TempDir(), "run")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{prog}, 2, "jalon trace FUNCTION -- " + prog},
		{[]string{"trace", prog}, 2, "jalon trace FUNCTION -- " + prog},
		{[]string{"trace", "main", prog, "5"}, 2, "jalon trace main -- " + prog + " 5"},
		{[]string{"trace", prog, "--", prog}, 2, "uprobe:" + prog + ":FUNCTION"},
		{[]string{"trace", "sched:sched_switch"}, 2, "tracepoint:sched:sched_switch"},
		{[]string{"trace", "sched:sched_switch if prev_pid > 1"}, 2, "'tracepoint:sched:sched_switch if prev_pid > 1'"},
		{[]string{"trace", "work", "-p"}, 2, "pidof NAME"},
		{[]string{"trace", "work", "-p", "no-such-name"}, 2, `no process has the name "no-such-name"`},
		{[]string{"trace", "work", "--pid=no-such-name"}, 2, `no process has the name "no-such-name"`},
		{[]string{"trace", "work", "-p", self + "," + self}, 2, "jalon trace --all 'uprobe:" + exe + ":FUNCTION if $pid == " + self + " || $pid == " + self + "'"},
		{[]string{"trace", "work", "-p", self, "--pid=" + self}, 2, "-p needs the id of one process. For several: a jalon for each, or jalon trace --all"},
		{[]string{"record", "work", "-o", notMade, "-p", self, "-p" + self}, 2, "-p needs the id of one process. For several: a jalon for each, or jalon record --all"},
		{[]string{"trace", "work", "if", "i > 3", "--", prog}, 2, "'work if i > 3'"},
		{[]string{"trace", "tool.bt"}, 2, "jalon run tool.bt"},
		{[]string{"tool.bt"}, 2, "jalon run tool.bt"},
		{[]string{"tarce"}, 2, "the commands are trace, run"},
		{[]string{"--version"}, 0, "jalon"},
		{[]string{"help"}, 0, "Usage: jalon <command>"},
		{[]string{"help", "list"}, 0, "Usage: jalon list"},
		{[]string{"list", "--", prog, "wor*"}, 0, "threads.c:"},
		{[]string{"list", stripped}, 1, "'*0xADDRESS' -- " + stripped},
		{[]string{"trace", "nosuch*", "--", stripped}, 2, "the file has no names of functions (it is stripped)"},
		{[]string{"trace", "work if id == 3", "--", prog}, 2, `did you mean "job->id"?`},
		{[]string{"trace", "work if x == 3", "--", prog}, 2, "variables here: job"},
		{[]string{"trace", "work", "-c", "$ret", "-n", "1", "--", prog}, 0, "'work%return'"},
		{[]string{"trace", "work", "-c", "bt", "--", prog}, 2, `did you mean "$bt"?`},
		{[]string{"trace", "work", "-c", "args", "--", prog}, 2, `did you mean "$args"?`},
		{[]string{"trace", "work", "-c", "return", "--", prog}, 2, "$retval, at the place FUNCTION%return"},
		{[]string{"trace", "work", "-c", "%rsi", "--", prog}, 2, "a register is written $NAME"},
		{[]string{"trace", "work", "-c", "*", "--", prog}, 2, "$args are the arguments"},
		{[]string{"trace", "work", "-c", "job job", "--", prog}, 2, "commas separate expressions"},
		{[]string{"trace", "work if job == /tmp/x", "--", prog}, 2, "text is written in quotes"},
		{[]string{"trace", "work", "job,id", "--", prog}, 2, "work -c job,id"},
		{[]string{"trace", "work", "if", "i", ">", "3", "--", prog}, 2, "'work if i > 3'"},
		{[]string{"trace", "work when job", "--", prog}, 2, "'work if job'"},
		{[]string{"trace", "work /job/", "--", prog}, 2, "'work if job'"},
		{[]string{"trace", "work { @++ }", "--", prog}, 2, "jalon trace work --do @++"},
		{[]string{"trace", "break work", "--", prog}, 2, "before it: work"},
		{[]string{"trace", "libc.so.6`malloc", "--", prog}, 2, "uprobe:libc.so.6:malloc"},
		{[]string{"trace", "libc:malloc", "--", prog}, 2, "uprobe:libc:malloc"},
		{[]string{"trace", prog + ":work", "--", prog}, 2, "uprobe:" + prog + ":work"},
		{[]string{"trace", "work(job)", "--", prog}, 2, `did you mean "work"?`},
		{[]string{"trace", "x::work", "--", prog}, 2, `did you mean "work"?`},
		{[]string{"trace", "wrok", "--", prog}, 2, `did you mean "work"?`},
		{[]string{"trace", "4242", "--", prog}, 2, "-p 4242"},
		{[]string{"trace", "vfs_read", "--", prog}, 2, "fentry:vfs_read or kprobe:vfs_read"},
		{[]string{"trace", "vfs_read"}, 2, "fentry:vfs_read or kprobe:vfs_read"},
		{[]string{"trace", "sched_switch"}, 2, "tracepoint:sched:sched_switch"},
		{[]string{"trace", "cycles"}, 2, "hardware:cpu-cycles:1000000"},
		{[]string{"trace", "-e", "openat", "--", prog}, 2, "jalon trace syscall:openat"},
		{[]string{"trace", "work", "-k", "--", prog}, 2, "-c '$bt'"},
		{[]string{"-e", "begin { }"}, 2, "jalon run -e"},
		{[]string{"-p", "1", "work"}, 2, "jalon trace PLACE -p PID"},
		{[]string{"strace", "ls"}, 2, "jalon trace 'syscall:*' -- ls"},
		{[]string{"attach", "77"}, 2, "jalon trace PLACE -p 77"},
		{[]string{"trace", "pid$target::work:entry", "--", prog}, 2, "written work"},
		{[]string{"trace", "pid$target:libc.so.6:malloc:return", "--", prog}, 2, "uretprobe:libc.so.6:malloc"},
		{[]string{"trace", "syscall::open*:entry"}, 2, "'syscall:open*'"},
		{[]string{"trace", "syscall::read:return"}, 2, "syscall:read:exit"},
		{[]string{"trace", "fbt::vfs_read:return"}, 2, "kretprobe:vfs_read"},
		{[]string{"trace", "profile-99"}, 2, "profile:hz:99"},
		{[]string{"trace", "tick-1s"}, 2, "interval:s:1"},
		{[]string{"trace", `process("` + prog + `").function("work").return`}, 2, "uretprobe:" + prog + ":work"},
		{[]string{"trace", `kernel.function("vfs_read")`}, 2, "kprobe:vfs_read"},
		{[]string{"trace", `kernel.trace("sched_switch")`}, 2, "'tracepoint:*:sched_switch'"},
		{[]string{"trace", "syscall.openat.return"}, 2, "syscall:openat:exit"},
		{[]string{"trace", "timer.s(1)"}, 2, "interval:s:1"},
		{[]string{"trace", "work$return", "--", prog}, 2, "work%return"},
		{[]string{"trace", "work%return $retval", "--", prog}, 2, "this is not a place"},
		{[]string{"trace", "work return", "--", prog}, 2, "work%return"},
		{[]string{"trace", "r:work", "--", prog}, 2, "work%return"},
		{[]string{"trace", "r:libc:malloc", "--", prog}, 2, "uretprobe:libc:malloc"},
		{[]string{"trace", "p:work", "--", prog}, 2, "written work"},
		{[]string{"trace", "p:99", "-n", "1", "-d", "1ms"}, 0, ""},
		{[]string{"trace", "work job i", "--", prog}, 2, "work -c 'job, i'"},
		{[]string{"trace", `work (i > 3) "%d", i`, "--", prog}, 2, "'work if i > 3' -c i"},
		{[]string{"trace", "work,main", "--", prog}, 2, "work main"},
		{[]string{"trace", "work", "{", "@", "=", "count()", "}", "--", prog}, 2, "--do '@ = count()'"},
		{[]string{"trace", "work", "-c", "ustack", "--", prog}, 2, `did you mean "$bt"?`},
		{[]string{"trace", "work", "-c", "$stack", "--", prog}, 2, `did you mean "$bt"?`},
		{[]string{"trace", "work", "-c", "job; i", "--", prog}, 2, "commas separate expressions"},
		{[]string{"trace", "work", "-c", `printf("%d", i)`, "--", prog}, 2, "write the expressions themselves"},
		{[]string{"trace", "sh"}, 2, "jalon trace FUNCTION -- sh"},
		{[]string{"record", prog}, 2, "jalon record -o DIR FUNCTION -- " + prog},
		{[]string{"run", "BEGIN { exit(); }"}, 1, "jalon run -e"},
		{[]string{"stat", "ls"}, 2, "--count"},
		{[]string{"list", "sched"}, 2, "'tracepoint:sched:*'"},
		{[]string{"list", "syscalls"}, 2, "'tracepoint:syscalls:*'"},
		{[]string{"list", "sched:*"}, 2, "'tracepoint:sched:*'"},
		{[]string{"list", "*wakeup*"}, 2, "'tracepoint:*:*wakeup*'"},
		{[]string{"list", "kprobe"}, 2, "'kprobe:*'"},
		{[]string{"list", "uprobe:*"}, 2, "jalon list FILE"},
		{[]string{"list", "functions", prog}, 2, "jalon list " + prog},
		{[]string{"list", "bash"}, 2, "/bash"},
		{[]string{"trace", "getppid", "--", prog}, 0, "the system call is syscall:getppid"},
		{[]string{"trace", "tracepoint:syscalls:sys_enter_execve", "-c", "args->argv@4"}, 2, "*args->argv@4"},
		{[]string{"trace", "_exit", "--", script}, 0, "the program that is traced is /bin/sh"},
	} {
		r := jalon(t, tt.args...)
		if text := r.stdout + r.stderr; r.status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("jalon %s: status %d, without %q:\n%s", strings.Join(tt.args, " "), r.status, tt.want, text)
		}
	}
}

// TestFortified: a function that was compiled into a checking form is named.
func TestFortified(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-O2", "-pthread", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
	r := jalon(t, "trace", "printf", "--", prog)
	if r.status != 0 || !strings.Contains(r.stderr, "trace __printf_chk") {
		t.Errorf("status %d:\n%s", r.status, r.stderr)
	}
}

// TestHintChildren: a server whose first process only waits has its hits in processes that it has started before.
func TestHintChildren(t *testing.T) {
	x := start(t, compile(t, "gcc", "forkedbefore.c", "-g", "-O1"))
	eventually(t, "the program starts another process", func() bool { return strings.Contains(x.Out.String(), "\n") })
	child := strings.TrimSpace(x.Out.String())
	want := fmt.Sprintf("process %d has no hits; what it started before is not traced: -p PID, of %s", x.Pid(), child)
	if r := jalon(t, "trace", "served", "-d", "100ms", "-p", fmt.Sprint(x.Pid())); !strings.Contains(r.stderr, want) {
		t.Errorf("not %q: %s", want, r.stderr)
	}
	if r := jalon(t, "trace", "served", "-n", "1", "-p", child); r.status != 0 || strings.Contains(r.stderr, "no hits") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	x.Kill()
}
