package gdb

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// However a program is linked, its functions can be traced, and it does the same.
func TestLinkings(t *testing.T) {
	for _, c := range []struct {
		name  string
		cc    string
		flags []string
	}{
		{"pie", "gcc", []string{"-O1", "-pie", "-fPIE"}},
		{"fixed", "gcc", []string{"-O1", "-no-pie"}},
		{"static", "gcc", []string{"-O1", "-static"}},
		{"static-pie", "gcc", []string{"-O1", "-static-pie", "-fPIE"}},
		{"clang", "clang", []string{"-O2", "-gdwarf-5"}},
		{"musl", "musl-gcc", []string{"-O0"}},
		{"cet", "gcc", []string{"-O2", "-fcf-protection=full"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prog := compile(t, c.cc, "work.c", append(c.flags, "-g", "-pthread")...)
			s := talk(t, conversation{args: []string{prog, "20", "2"}, script: `break finished
trace work if n >= 10
actions
collect n, total
end
ftrace *work
tstart
continue
tstatus
tstop
python
frames = {}
try:
    gdb.execute("tfind start", to_string=True)
    while int(gdb.convenience_variable("trace_frame")) >= 0:
        if int(gdb.convenience_variable("tracepoint")) == 2:
            n = int(gdb.parse_and_eval("n"))
            frames[n] = frames.get(n, 0) + 1
        gdb.execute("tfind", to_string=True)
except gdb.error: pass
print(sorted(frames.items()))
end
tfind none
info tracepoints
continue
`})
			var want []string
			for n := 10; n < 20; n++ {
				want = append(want, fmt.Sprintf(`\(%d, 2\)`, n))
			}
			s.inOrder(`Collected 60 trace frames`, `\[`+strings.Join(want, ", ")+`\]`, `already hit 20 times`, `already hit 40 times`, `exited normally`)
			if s.prog != "total 1520\n" {
				t.Errorf("the program writes %q", s.prog)
			}
		})
	}
}

// A function of a library that is loaded, unloaded and loaded again while the trace
// runs: GDB sends its tracepoints when it sees the library.
func TestPlugin(t *testing.T) {
	t.Parallel()
	lib := compile(t, "gcc", "plugin.c", "-shared", "-fPIC", "-g")
	prog := compile(t, "gcc", "plugins.c", "-g", "-ldl")
	s := talk(t, conversation{args: []string{prog, lib}, file: prog, script: `set breakpoint pending on
break finished
trace plugin_work if n % 2 == 1
actions
collect n, plugin_calls
end
trace main
tstart
continue
tstatus
tstop
tfind tracepoint 2
print n
tfind
print n
tfind
print n
print plugin_calls
tfind
print n
print plugin_calls
tfind none
info tracepoints
continue
`})
	s.inOrder(`Collected 5 trace frames`, `\$1 = 1\n`, `\$2 = 3\n`, `\$3 = 11\n`, `\$4 = 1\n`, `\$5 = 13\n`, `\$6 = 3\n`, `exited normally`)
	if s.prog != "sum 210\n" {
		t.Errorf("the program writes %q", s.prog)
	}
}

// Methods, templates and code that throws.
func TestCPlusPlus(t *testing.T) {
	t.Parallel()
	prog := compile(t, "g++", "shapes.cc", "-g", "-O1")
	s := talk(t, conversation{args: []string{prog}, script: `break finished
trace Square::area if scale >= 2
actions
collect *this, scale
end
trace add<double>
trace add<int>
actions
collect *(int *)$rdi, *(int *)$rsi
end
tstart
continue
tstop
tstatus
tfind tracepoint 2
print side
print scale
tfind tracepoint 4
print *(int *)$rdi
print *(int *)$rsi
tfind none
info tracepoints
continue
`})
	s.inOrder(`Collected \d+ trace frames`, `\$1 = 1\n`, `\$2 = 2\n`, `\$3 = 0\n`, `\$4 = 1\n`, `already hit 20 times`, `already hit 20 times`, `already hit 10 times`, `exited normally`)
	if s.prog != "330 10\n" {
		t.Errorf("the program writes %q", s.prog)
	}
}

// A program of Go: arguments in registers, stacks that move.
func TestGo(t *testing.T) {
	t.Parallel()
	prog := compile(t, "go", "testdata/gopher.go")
	s := talk(t, conversation{args: []string{prog}, before: "set language c\n", script: `break main.done
trace *'main.weigh' if $rax % 100 == 0
actions
collect $rax
end
trace *'main.weigh'
passcount 100000
tstart
continue
tstop
tstatus
tfind
print $rax % 100
tfind none
info tracepoints
delete 1
continue
`})
	// A call at which the goroutine's stack grows begins once more. The breakpoint is deleted: a goroutine that
	// has stopped there for long is preempted by a signal, and may go on in another thread, which GDB stops again.
	s.inOrder(`Trace stopped by a tstop command`, `\$1 = 0\n`, `already hit (4[4-9]|5\d|6\d) times`, `already hit (4004|[45]\d\d\d) times`, `exited normally`)
	if s.prog != "total 2002028\n" {
		t.Errorf("the program writes %q", s.prog)
	}
}

// Eight threads, 100,000 hits: every one is a frame when the buffer is large enough.
func TestThreadsExact(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-O0", "-g", "-pthread")
	each := 12500
	s := talk(t, conversation{args: []string{prog, strconv.Itoa(each), "8"}, script: `break finished
set trace-buffer-size 40000000
tvariable $calls
trace work
actions
teval $calls = $calls + 1
collect total
end
trace work if n == 77
trace work if *wild == 3
tstart
continue
tstop
tstatus
tfind 99999
tfind none
info tracepoints
monitor trace
continue
`})
	s.inOrder(`Collected 100008 trace frames`, `already hit 100000 times`, `already hit 8 times`, `100000`)
	if want := fmt.Sprintf("total %d\n", 8*4*each*(each-1)/2); s.prog != want {
		t.Errorf("the program writes %q, want %q", s.prog, want)
	}
}

// A trace is saved by the server and by GDB, and read again; both files have the same contents.
func TestSave(t *testing.T) {
	t.Parallel()
	// For a trace file GDB has no load address of the program, so it must have fixed addresses.
	prog := compile(t, "gcc", "work.c", "-O0", "-g", "-pthread", "-no-pie")
	dir := t.TempDir()
	talk(t, conversation{args: []string{prog}, script: fmt.Sprintf(`break finished
tvariable $calls = 7
set trace-user somebody
trace work if n > 3
actions
collect n, *p, $calls, name[0]@6
teval $calls = $calls + 1
end
tstart
continue
tstop
tsave %[1]s/local
tsave -r %[1]s/remote
tsave -ctf %[1]s/ctf
`, dir)})
	var texts []string
	for _, file := range []string{"tfile " + dir + "/local", "tfile " + dir + "/remote"} {
		s := talk(t, conversation{alone: true, file: prog, script: fmt.Sprintf(`target %s
tstatus
info tvariables
tfind
tdump
tfind 3
tdump
print $calls
try tfind 99
tfind 4
tdump
tfind none
info tracepoints
`, file)})
		_, s.text, _ = strings.Cut(s.text, "+tstatus\n")
		texts = append(texts, regexp.MustCompile(`Trace file is .*\n`).ReplaceAllString(s.stable(), ""))
		s.text = texts[0]
		s.golden("save")
	}
	if texts[0] != texts[1] {
		t.Errorf("tsave's file:\n%s\ntsave -r's:\n%s", texts[0], texts[1])
	}
	s := talk(t, conversation{alone: true, file: prog, script: "target ctf " + dir + "/ctf\ntfind 3\ntdump\n"})
	s.inOrder(`n = 7`, `x = 7, y = 14`, `name.*three`)
}

// GDB disconnects during a trace and connects again: the program has continued, and the server reports the
// state of the trace.
func TestDisconnectedTracing(t *testing.T) {
	for _, leave := range []string{"detach", "kill"} {
		t.Run(leave, func(t *testing.T) {
			t.Parallel()
			prog := compile(t, "gcc", "steady.c", "-g", "-O0")
			p := start(t, prog)
			p.Says("50\n")
			server, place := serve(t, "--attach", strconv.Itoa(p.Pid()))
			script := `set disconnected-tracing on
tvariable $seen
trace tick if n % 10 == 3
actions
collect n, $seen
teval $seen = $seen + 1
end
set trace-notes a long run
tstart
`
			end := leave
			if leave == "kill" { // GDB itself goes down
				end = "continue"
			}
			first := func(g, _ *running) {
				if leave == "kill" {
					after := len(p.Out.String())
					eventually(t, "the program runs", func() bool { return len(p.Out.String()) > after+10 })
					_ = exec.Command("kill", "-9", strconv.Itoa(g.Pid())).Run()
				}
			}
			talk(t, conversation{server: server, place: place, file: prog, script: script + end + "\n", while: first, killed: leave == "kill"})
			after := len(p.Out.String())
			eventually(t, "the program runs on", func() bool { return len(p.Out.String()) > after+30 })
			s := talk(t, conversation{server: server, place: place, file: prog, script: `tstatus
info tracepoints
info tvariables
tstop
tstatus
tfind 20
print n % 10
print n > 200
tfind none
print $seen > 20
python
seen = []
gdb.execute("tfind start", to_string=True)
while int(gdb.convenience_variable("trace_frame")) >= 0 and len(seen) < 20:
    seen.append(int(gdb.parse_and_eval("n")))
    gdb.execute("tfind", to_string=True)
print(all(b - a == 10 for a, b in zip(seen, seen[1:])), len(seen))
end
tfind none
set var stop = 1
detach
`})
			s.inOrder(`Trace is running on the target`, `Trace notes: a long run`, `trace only if n % 10 == 3`, `collect n, \$seen`, `\$seen +0 `,
				`Trace stopped by a tstop`, `\$1 = 3\n`, `\$2 = 1\n`, `\$3 = 1\n`, `True 20`)
			p.Wait()
			if !strings.HasSuffix(p.Out.String(), "the sum is right\n") {
				t.Errorf("the program ends with %q", tail(p.Out.String()))
			}
			server.Wait()
		})
	}
}
