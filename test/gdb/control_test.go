package gdb

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/process"
)

// Run control: the ordinary commands of a debugger.
func TestControl(t *testing.T) {
	for _, c := range []struct {
		name     string
		part     string // of control.c
		env      []string
		extended bool
		before   string
		script   string
		want     []string
		not      []string
		prog     string // what the program writes
	}{
		{name: "steps", part: "steps", script: `break main
continue
tbreak g
continue
next
step
finish
step
step
until
next
until
advance 26
print n
break f if n == 5
continue
backtrace 2
info breakpoints
delete
break g
ignore $bpnum 1
commands
silent
printf "g is called with %d\n", n
continue
end
continue
`, want: []string{
			`Breakpoint 1, main`, `Temporary breakpoint 2, g \(n=0\)`, `int b = f\(a\)`, `f \(n=1\) at`, `Value returned is \$1 = 3`,
			`g \(n=1\)|g \(n=2\)`, `Breakpoint 3, f \(n=5\)`, `#1 .* in g \(n=2\)`, `stop only if n == 5`, `Will ignore next crossing`, `g is called with 4`, `exited normally`,
		}},
		{name: "instructions", part: "steps", script: `break *f
continue
display/i $pc
stepi
stepi
nexti 3
print $_siginfo.si_signo
info registers rip
tbreak finished
delete 1
continue
`, want: []string{`Breakpoint 1, f`, `f\+1>`, `f\+\d+>`, `\$1 = 5`, `rip .*<f\+`, `Temporary breakpoint 2, finished`}},
		{name: "state", part: "steps", script: `break finished
break g
continue
print f(3)
print f(f(1))
set var watched = 77
print watched
set var bytes = {8, 7, 6, 5, 4, 3, 2, 1}
x/8dw bytes
print $rax = 0x1122334455667788
print/x $eax
print/x $al
set var $xmm3.v4_float = {1.5, 2.5, 3.5, 4.5}
print $xmm3.v4_float
set var $ymm4.v4_double = {1, 2, 4, 8}
print $ymm4.v4_double
print $ymm4.v8_float[2]
stepi
print $ymm4.v4_double
print $mxcsr
set var $st0 = 2.5
print $st0
info float
print $fs_base != 0
set var $eflags = $eflags | 1
print $eflags
python print(gdb.selected_inferior().read_memory(int(gdb.parse_and_eval("(long)bytes")), 32).tobytes().hex())
find &bytes, +sizeof(bytes), 5
dump binary memory /dev/null &bytes[0] &bytes[8]
print *(int *)0
set var *(int *)f = 0
`, want: []string{
			`\$1 = 7\n`, `\$2 = 7\n`, `\$3 = 77`, `8\s7\s6\s5`, `= 1234605616436508552`, `0x55667788`, `0x88`, `\{1.5, 2.5, 3.5, 4.5\}`,
			`\{1, 2, 4, 8\}`, `\{1, 2, 4, 8\}`, `2.5`, `Control Word:`, `= 1\n`, `CF`, `0800000007000000`, `1 pattern found`, `Cannot access memory at address 0x0`,
		}},
		{name: "watch", part: "watch", script: `break main
continue
break finished
watch watched
rwatch watched if watched == 2
continue
continue
continue
info watchpoints
delete
watch -l other if other > 100
awatch bytes[3]
continue
`, want: []string{`Hardware watchpoint 3: watched`, `Hardware read watchpoint 4: watched`, `Old value = 0\nNew value = 1`, `Old value = 1\nNew value = 2`, `Hardware read watchpoint 4: watched\n\nValue = 2`, `already hit`, `Hardware access \(read/write\) watchpoint 6`, `exited normally`}},
		{
			name: "signals", part: "signals", script: `handle SIGUSR1 nostop noprint pass
continue
signal 0
bt 1
continue
break finished
signal SIGSEGV
continue
print $_siginfo.si_signo
continue
`, want: []string{`Program received signal SIGUSR2`, `Program received signal SIGSEGV`, `Program received signal SIGABRT`, `Breakpoint 1, finished`, `Program received signal SIGABRT`, `= 6\n`, `Program terminated with signal SIGABRT`},
			prog: "usr1 2 usr2 0 segv 1\nusr1 2 usr2 0 segv 2\n",
		},
		{name: "signal", part: "signals", script: `handle all nostop noprint pass
break main
continue
catch signal SIGUSR2
continue
info signals SIGUSR2
queue-signal SIGUSR1
continue
`, want: []string{`Catchpoint 2 \(signal SIGUSR2\)`, `terminated with signal SIGABRT`}, prog: "usr1 3 usr2 0 segv 1\n"},
		{name: "fork-parent", part: "forks", script: `break f
break finished
catch fork
continue
continue
continue
`, want: []string{`Catchpoint 3 \(forked process \d+\)`, `Breakpoint 2, finished`, `exited normally`}, not: []string{`Breakpoint 1, `}, prog: "child 3\n"},
		{name: "fork-child", part: "forks", before: "set follow-fork-mode child\n", script: `break f
continue
backtrace 2
print watched
continue
`, want: []string{`Breakpoint 1, .*f \(n=7\)`, `child \(\)`, `= 7\n`, `exited with code 03`}, prog: "child 3\n"},
		{name: "fork-both", part: "forks", extended: true, before: "set detach-on-fork off\nset follow-fork-mode child\n", script: `break f
break finished
continue
info inferiors
print watched
continue
inferior 1
print watched
continue
continue
`, want: []string{`hit Breakpoint 1\S*, .*f \(n=7\)`, `\* 2 +process`, `\$1 = 7`, `Inferior 2 .* exited with code 03`, `\$2 = 0`, `Breakpoint 2\S*, finished`, `Inferior 1 .* exited normally`}, prog: "child 3\n"},
		{name: "fork-multiple", part: "forks", extended: true, before: "set detach-on-fork off\nset schedule-multiple on\n", script: `break f
break finished
continue
info inferiors
print $_inferior
print watched
continue
info inferiors
inferior 1
print watched
continue
`, want: []string{`Breakpoint 1, f \(n=7\)|Breakpoint 1\.\d, f \(n=7\)|hit Breakpoint 1`, `\* 2`, `\$1 = 2`, `\$2 = 7`, `exited with code 03|hit Breakpoint 2\S* finished`, `\$3 = 0`}, prog: "child 3\n"},
		{name: "vfork", part: "vforks", script: `catch vfork
catch exec
break finished
continue
continue
continue
`, want: []string{`Catchpoint 1 \(vforked process`, `Breakpoint 3, finished`, `exited normally`}, prog: "child 0\n"},
		{name: "exec", part: "execs", script: `catch exec
break finished
continue
info breakpoints
continue
continue
`, want: []string{`Catchpoint 1 \(exec'd .*control\)`, `Breakpoint 2, finished`, `exited normally`}},
		{name: "syscall", part: "forks", script: `catch syscall write
catch syscall exit_group
continue
print $rdi
continue
info breakpoints
continue
`, want: []string{`Catchpoint 1 \(call to syscall write\)`, `\$1 = 1`, `Catchpoint 1 \(returned from syscall write\)`, `catchpoint already hit 2 times`, `Catchpoint 2 \(call to syscall exit_group\)`}, prog: "child 3\n"},
		{name: "threads", part: "threads", script: `break f if n == 2
break finished
continue
info threads
print $_thread != 0
thread apply all print $_thread
thread apply all -q bt 1
thread name the one
info threads
continue
continue
`, want: []string{`hit Breakpoint 1, f \(n=2\)`, `control`, `= 1\n`, `Thread`, `the one`, `Breakpoint 2, finished`, `exited normally`}},
		{name: "locking", part: "threads", script: `break thread
continue
set scheduler-locking on
stepi
stepi
info threads
set scheduler-locking off
delete
break finished
continue
info threads
`, want: []string{`Breakpoint 1, thread`, `Breakpoint 2, finished`, `\* 1 +Thread`}},
		{name: "objects", part: "steps", script: `break f
continue
info auxv
info sharedlibrary
info proc mappings
info os processes
info os
info files
info target
maintenance info sections
info proc
print $_exitcode
generate-core-file /dev/null
`, want: []string{`AT_PHDR`, `AT_ENTRY`, `libc\.so\.6`, `\[stack\]`, `pid`, `process`}},
		{name: "kill", part: "spins", script: `break spin
continue
kill
info threads
`, want: []string{`Breakpoint 1, `, `No threads`}},
		{name: "twice", part: "steps", extended: true, script: `break f
continue
continue
run
bt 1
print n
kill
run
continue
delete
continue
start
next
kill
`, want: []string{`Breakpoint 1, f \(n=0\)`, `Breakpoint 1, f \(n=1\)`, `Breakpoint 1, f \(n=0\)`, `\$1 = 0`, `Breakpoint 1, f \(n=0\)`, `f \(n=1\)`, `exited normally`, `Temporary breakpoint \d, main`}},
		{name: "nonstop", part: "threads", before: "set non-stop on\nset pagination off\n", script: `break f
continue
info threads
delete
break finished
python
import time
for i in range(300):
    threads = gdb.execute("info threads", to_string=True)
    if threads.count("(running)") <= 1: break
    gdb.post_event(lambda: None)
end
continue -a
`, want: []string{`Breakpoint 1, f`, `running`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.part == "watch" && !host.DebugRegisters() {
				t.Skip(process.ErrNoDebugRegisters)
			}
			prog := compile(t, "gcc", "control.c", "-g", "-O0", "-pthread")
			s := talk(t, conversation{args: []string{prog, c.part}, typed: true, extended: c.extended, before: "set height 0\n" + c.before, script: c.script})
			s.inOrder(c.want...)
			s.not(c.not...)
			s.not("internal-error", "Remote failure", "Remote communication error", "Ignoring packet error")
			if c.prog != "" && s.prog != c.prog {
				t.Errorf("the program writes %q, want %q", s.prog, c.prog)
			}
		})
	}
}

// ^C stops the program, which continues on command.
func TestInterrupt(t *testing.T) {
	for _, nonStop := range []string{"off", "on"} {
		t.Run("non-stop "+nonStop, func(t *testing.T) {
			t.Parallel()
			prog := compile(t, "gcc", "control.c", "-g", "-O0", "-pthread")
			s := talk(t, conversation{args: []string{prog, "spins"}, before: "set non-stop " + nonStop + "\n", script: `continue
info threads
thread apply all -q -s bt
set var watched = 1
delete
continue` + map[string]string{"on": " -a", "off": ""}[nonStop] + `
`, while: func(gdb, server *running) {
				server.Says("spinning\n")
				interrupt(gdb)
			}})
			s.inOrder(`received signal SIGINT|stopped`, `spin`)
			if nonStop == "off" {
				s.inOrder(`exited normally`)
			}
		})
	}
}

// A running process continues unchanged after GDB attached and detached more than once, with breakpoints
// and tracepoints set meanwhile.
func TestAttach(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "steady.c", "-g", "-O1")
	p := start(t, prog)
	p.Says("50\n")
	for round := range 3 {
		server, place := serve(t, "--attach", strconv.Itoa(p.Pid()))
		s := talk(t, conversation{server: server, place: place, file: prog, script: `break tick if n % 10 == 7
trace tick
actions
collect n
end
tstart
continue
print n % 10
delete 1
tbreak tick
continue
tstop
tfind end
tfind none
tstatus
detach
`})
		s.inOrder(`Breakpoint 1, tick`, `\$1 = 7`, `Temporary breakpoint 3, tick`, `Trace stopped by a tstop`, `Collected \d+ trace frames`)
		server.Wait()
		if by := tracerOf(p.Pid()); by != 0 {
			t.Errorf("round %d: %d traces the process still", round, by)
		}
		was := len(p.Out.String())
		eventually(t, "the program runs on", func() bool { return len(p.Out.String()) > was+8 })
	}
	p.Signal(syscall.SIGTERM)
	p.Wait()
	steady(t, p.Out.String())
}

// steady checks all that steady.c writes.
func steady(t testing.TB, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines[:len(lines)-1] {
		if l != strconv.Itoa(50*(i+1)) {
			t.Fatalf("line %d is %q", i+1, l)
		}
	}
	if lines[len(lines)-1] != "the sum is right" {
		t.Errorf("it ends with %q", lines[len(lines)-1])
	}
}

// A breakpoint in the middle of the bytes under a tracepoint's jump, and single steps through the traced
// instruction.
func TestBreakInsideJump(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	s := talk(t, conversation{args: []string{prog}, script: `break finished
trace *work
actions
collect $rdi
end
tstart
python
at = int(gdb.parse_and_eval("(long)work"))
code = gdb.selected_inferior().architecture().disassemble(at, count=8)
inside = next(i["addr"] for i in code if 0 < i["addr"] - at < 5)
gdb.execute("break *%d if $rdi == 3" % inside)
gdb.execute("tbreak *%d" % at)
end
x/2i work
continue
print $pc == work
stepi
stepi
stepi
stepi
print $pc > work && $pc < work + 40
x/2i work
continue
print $rdi
print $pc > work && $pc < work + 5
delete 3
continue
tstop
tstatus
tfind 9
print $rdi
tfind none
continue
`})
	s.inOrder(`Temporary breakpoint 4`, `\$1 = 1\n`, `\$2 = 1\n`, `Breakpoint 3, `, `\$3 = 3\n`, `\$4 = 1\n`, `Breakpoint 1, finished`, `Collected 10 trace frames`, `\$5 = 9\n`, `exited normally`)
	if s.prog != "total 180\n" {
		t.Errorf("the program writes %q", s.prog)
	}
}

// Two programs at once, started by GDB through one server.
func TestTwoInferiors(t *testing.T) {
	t.Parallel()
	one := compile(t, "gcc", "control.c", "-g", "-O0", "-pthread")
	two := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	server, place := serve(t, "--multi")
	s := talk(t, conversation{server: server, place: place, extended: true, script: fmt.Sprintf(`file %s
set remote exec-file %s
set args steps
break g
run
add-inferior
inferior 2
file %s
set remote exec-file %s
break work if n == 4
run
info inferiors
print n
inferior 1
print n
bt 1
delete
continue
info inferiors
inferior 2
continue
info inferiors
monitor exit
`, one, one, two, two)})
	s.inOrder(`Breakpoint 1, .*g \(n=0\)`, `Breakpoint 2.*work \(n=4`, `\* 2 `, `\$1 = 4`, `\$2 = 0`, `Inferior 1 .* exited normally`, `Inferior 2 .* exited normally`)
	server.Wait()
}

// A trace goes through run control: breakpoints at the tracepoint's own address,
// steps over it and calls of the traced function by GDB.
func TestTraceUnderControl(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	watch, seen := "watch total if total == 40", `Old value = 24\nNew value = 40`
	if !host.DebugRegisters() {
		watch, seen = "break work if n == 4", `Breakpoint 4, work \(n=4`
	}
	s := talk(t, conversation{args: []string{prog, "10"}, script: `break finished
trace work
actions
collect n
end
break work if n == 5
` + watch + `
tstart
continue
print n
next
next
delete 4
continue
continue
tstop
tstatus
info tracepoints
tfind 9
print n
tfind none
continue
`})
	s.inOrder(seen, `\$1 = 4\n`, `Breakpoint 3, work \(n=5`, `Breakpoint 1, finished`,
		`Collected 10 trace frames`, `already hit 10 times`, `\$2 = 9\n`, `exited normally`)
}

// The server's errors for unsupported requests.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	place := newPlace()
	// 4194304 is the most that /proc/sys/kernel/pid_max can be.
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"unix:" + place, "/no/such/program"}, "/no/such/program"},
		{[]string{"unix:" + place, "--attach", "4194305"}, "Cannot attach to process 4194305"},
		{[]string{"nowhere:1:2", "/bin/true"}, "nowhere"},
		{[]string{"unix:/no/such/dir/socket", "/bin/true"}, "/no/such/dir/socket"},
		{[]string{"unix:" + place, os.DevNull}, "/dev/null"},
	} {
		r := start(t, append([]string{jalonBin, "gdbserver"}, c.args...)...)
		r.Wait()
		if r.Status == 0 || !strings.Contains(r.Errs.String(), c.want) {
			t.Errorf("%v: status %d, %q", c.args, r.Status, r.Errs.String())
		}
	}
}

// A step from the jump of a tracepoint executes the instruction that it replaced,
// also where GDB has put the thread there: by hand, and after a call of a function.
func TestStepFromJump(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	s := talk(t, conversation{args: []string{prog}, script: `break finished
trace work
break work if n == 5
tstart
continue
set var $here = (long)$pc
stepi
print $pc > $here && $pc < $here + 16
delete 3
set var $pc = $here
stepi
print $pc > $here && $pc < $here + 16
set var $pc = $here
print work(100, name, p) > 100
print $pc == $here
continue
continue
`})
	s.inOrder(`Breakpoint 3, work \(n=5`, `\$1 = 1\n`, `\$2 = 1\n`, `\$3 = 1\n`, `\$4 = 1\n`, `Breakpoint \d, (finished|work)`, `exited normally|Breakpoint 1, finished`)
}
