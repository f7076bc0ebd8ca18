package gdb

import (
	"os/exec"
	"strings"
	"testing"
)

// zeroed fills GDB's newly allocated memory with zeros. GDB 13 writes to a member of its static tracepoints
// before the member is constructed (the marker's name, in the constructor of the base class), and crashes
// or not depending on the contents of the memory.
var zeroed = []string{"GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"}

// asPrinted removes output that GDB did not have when the papers were written.
const asPrinted = "set print entry-values no\n"

// The thesis's example, section 1.3: a condition and an expression over two
// variables.
func TestThesisExample(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "../../examples/demo/main.c", "-g", "-O0")
	for _, pipe := range []bool{false, true} {
		s := talk(t, conversation{args: []string{prog}, pipe: pipe, typed: true, before: asPrinted, script: `trace main.c:9 if (i+j >=0)
actions
collect (2*i+9*j)
end
break main.c:13
tstart
continue
tstop
tstatus
tfind start
tdump
tfind
tdump
tfind
tfind
tfind
tfind
tdump
tfind none
info tracepoints
continue
`})
		if !pipe {
			s.golden("thesis-1.3")
			want, err := exec.Command(prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			if s.prog != string(want) {
				t.Errorf("the program writes %q, untraced %q", s.prog, want)
			}
			continue
		}
		s.inOrder(`Trace stopped by a tstop command`, `Collected 5 trace frames`, `\(2\*i\+9\*j\) = 7\n`, `\(2\*i\+9\*j\) = 18\n`, `\(2\*i\+9\*j\) = 51\n`)
	}
}

// Figures 12 (of the article) and 14 (of the thesis): a dynamic tracepoint at the
// address of a function, a condition and an expression over its two arguments.
func TestFigureDynamic(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "kgtp.c", "-g", "-O2")
	s := talk(t, conversation{args: []string{prog}, typed: true, before: asPrinted, script: `break finished
trace *kgtp_test_function if (2*counter1+3*counter2>0)
actions
collect (2*counter1+3*counter2)
end
tstart
continue
tstop
tfind start
tdump
tfind
tdump
`})
	s.golden("figure-dynamic")
}

// The three cases that the papers measured, in one run: a false condition, only an expression, and both.
func TestFigureCases(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "kgtp.c", "-g", "-O2")
	s := talk(t, conversation{args: []string{prog, "100"}, typed: true, before: asPrinted, script: `break finished
trace *kgtp_test_function if (2*counter1+3*counter2<0)
trace *kgtp_test_function
actions
collect (2*counter1+3*counter2)
end
trace *kgtp_test_function if (2*counter1+3*counter2>0)
actions
collect (2*counter1+3*counter2)
end
tstart
continue
tstop
tstatus
info tracepoints
tfind 197
tdump
tfind tracepoint 1
`})
	s.golden("figure-cases")
}

// Figures 14 (of the article) and 16 (of the thesis): the markers of a program, one
// by its address, and by its name with the marker's own data.
func TestFigureStatic(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "kgtp.c", "-g", "-O2")
	s := talk(t, conversation{args: []string{prog}, env: zeroed, typed: true, before: asPrinted, script: `break main
continue
break finished
info static-tracepoint-markers
python
import re
at = re.search("0x[0-9a-f]+", gdb.execute("info static-tracepoint-markers", to_string=True)).group()
gdb.execute("strace *%s if (2*counter1+3*counter2>0)" % at)
end
actions
collect (2*counter1+3*counter2)
end
strace -m module:kgtp_module_event if counter1 > 8
actions
collect $_sdata
end
info static-tracepoint-markers
tstart
continue
tstop
tfind start
tdump
tfind
tdump
tstatus
tfind tracepoint 4
tdump
print $_sdata
info tracepoints
`})
	s.golden("figure-static")
	if strings.Count(s.text, "module:kgtp_module_event") < 2 {
		t.Error("the marker is not listed")
	}
}
