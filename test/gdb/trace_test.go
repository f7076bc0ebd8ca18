package gdb

import (
	"fmt"
	"strings"
	"testing"
)

// Usual tasks with tracepoints, each in its own session.
func TestTrace(t *testing.T) {
	for _, c := range []struct {
		name   string
		flags  []string // of gcc
		args   []string // of the program
		script string
		want   []string
		not    []string
	}{
		{"call", []string{"-O0"}, nil, `break finished
break work if n == 3
trace work if n == 3
tstart
continue
print half(16)
continue
tstop
tstatus
`, []string{`work \(n=3`, "= 8", `finished \(`, "Collected 1 trace frames"}, nil},
		{"collect", []string{"-O0"}, nil, `break finished
trace work if n % 2 == 0 && p->y > 3
actions
collect $args, $locals, *p, numbers, total, ratio, sum * 2, p->name[0]
end
trace finished
actions
collect $regs
end
tstart
continue
tstop
tstatus
tfind
print n
print *p
print numbers
print $rsp != 0 && $rip > work
print ratio
print loops
tdump
tfind line 1
tfind end
tfind -
print n
tfind outside work
info scope work
info tracepoints
`, nil, nil},
		{"fast", []string{"-O1"}, nil, `break finished
ftrace work if n > 5
actions
collect $args, total
end
tstart
continue
tstop
tstatus
tfind
print n
print total
tdump
info tracepoints
`, nil, nil},
		{"variables", []string{"-O0"}, nil, `break finished
tvariable $hits
tvariable $sum = 100
tvariable $seen = -1
trace work if ($hits = $hits + 1) > 3
actions
collect n, $sum, $trace_timestamp
teval $sum = $sum + n, $seen = $sum
end
info tvariables
tstart
continue
info tvariables
print $hits
print $sum
tstop
info tvariables
tfind 2
tdump
print $sum
tfind none
print $sum
tvariable $sum = 5
delete tvariable $seen
info tvariables
`, nil, nil},
		{"passcount", []string{"-O0"}, nil, `break finished
trace work
actions
collect n
end
passcount 4
trace halfway
tstart
continue
tstatus
tfind 3
print n
tfind none
info tracepoints
`, nil, nil},
		{"enable", []string{"-O0"}, nil, `break finished
break halfway
trace work
actions
collect n
end
trace work if n > 7
actions
collect sum
end
disable 4
tstart
continue
disable 3
enable 4
continue
tstop
tstatus
tfind 4
tdump
tfind 5
tdump
tfind 7
info tracepoints
`, nil, nil},
		{"while-stepping", []string{"-O0"}, nil, `break finished
trace work if n == 3
actions
collect n
while-stepping 6
collect $rip, sum
end
end
tstart
continue
tstop
tstatus
tfind
tdump
tfind
tdump
tfind 6
tdump
tfind 7
info tracepoints
`, nil, nil},
		{"strings", []string{"-O0"}, nil, `break finished
trace work if n > 1
actions
collect/s name, p->name
end
trace halfway
actions
collect/s4 names[3]
end
tstart
continue
tstop
tfind
print name
tdump
tfind
tdump
tfind tracepoint 3
tdump
`, nil, nil},
		{"circular", []string{"-O0"}, []string{"2000"}, `break finished
set trace-buffer-size 4096
set circular-trace-buffer on
trace work
actions
collect n, *p
end
tstart
continue
tstop
tstatus
tfind
python print("kept from the middle:", int(gdb.parse_and_eval("n")) > 0)
tfind end
python
last = None
try:
    gdb.execute("tfind start")
    while True:
        last = int(gdb.parse_and_eval("n"))
        gdb.execute("tfind", to_string=True)
        if int(gdb.convenience_variable("trace_frame")) < 0: break
except gdb.error: pass
print("last", last)
end
`, []string{`of 2000 created total`, `Trace buffer is circular`, `kept from the middle: True`, `last 1999`}, nil},
		{"full", []string{"-O0"}, []string{"2000"}, `break finished
set trace-buffer-size 4096
trace work
actions
collect n, *p
end
tstart
continue
tstatus
tfind
print n
`, []string{`Trace stopped because the buffer was full`, `\$1 = 0\n`}, nil},
		{"notes", []string{"-O0"}, nil, `break finished
set trace-user tester
set trace-notes the first run
set trace-stop-notes enough
trace work
tstart
set trace-notes the first run, renamed
continue
tstatus
tstop because of it
tstatus
`, nil, nil},
		{"errors", []string{"-O0"}, nil, `break finished
trace work if *wild == 1
actions
collect n
end
trace work
actions
collect n, *wild, total
end
trace work if 10 / (n - 3) > 1000
tstart
continue
tstop
tstatus
tfind
tdump
info tracepoints
monitor trace
`, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prog := compile(t, "gcc", "work.c", append(c.flags, "-g", "-pthread")...)
			s := talk(t, conversation{args: append([]string{prog}, c.args...), typed: true, before: asPrinted, script: c.script})
			if c.want == nil {
				s.golden("trace-" + c.name)
			}
			s.inOrder(c.want...)
			s.not(c.not...)
		})
	}
}

// The output of GDB's printf style "agent" appears in the program's own output.
func TestDprintf(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-O0", "-g", "-pthread")
	s := talk(t, conversation{args: []string{prog}, script: `break finished
set dprintf-style agent
dprintf work,"n %d of %s: %c %x %ld\n", n, name, p->name[0], p->y, total
dprintf work.c:22,"%5d|%-5d|%05d|%s|%lld\n", n, n, n, p->name, (long long)n << 40
condition 3 n == 8
continue
continue
`})
	var want strings.Builder
	total := 0
	for n := range 10 {
		name := []string{"zero", "one", "two", "three"}[n%4]
		fmt.Fprintf(&want, "n %d of %s: %c %x %d\n", n, name, name[0], 2*n, total)
		if n == 8 {
			fmt.Fprintf(&want, "%5d|%-5d|%05d|%s|%d\n", n, n, n, name, n<<40)
		}
		total += 4 * n
	}
	fmt.Fprintf(&want, "total %d\n", total)
	if s.prog != want.String() {
		t.Errorf("printed %q, want %q", s.prog, want.String())
	}
}
