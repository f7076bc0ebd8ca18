package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// gdbCase is a column of the tables: the commands of a tracepoint in GDB. The empty case has none.
type gdbCase struct {
	title string
	cond  string
	// actions of the tracepoint, one a line; collect is the equivalent for jalon trace, "" if there is
	// none.
	actions, collect string
	frames           bool // a hit makes a frame
}

// calls returns the size of a batch when hits are cheap.
func (c *gdbCase) calls() int {
	switch {
	case !c.frames:
		return 10 * nativeCalls
	case c.title == caseRegs.title:
		return nativeCalls / 10 // the records are this large
	}
	return nativeCalls
}

const expression = "2*counter1+3*counter2"

// The cases of tables 1, 2 and 5 of the paper, and two more.
var (
	caseFalse = gdbCase{title: "false condition", cond: falseCond, actions: "collect " + expression, collect: expression}
	caseExpr  = gdbCase{title: "expression only", actions: "collect " + expression, collect: expression, frames: true}
	caseBoth  = gdbCase{title: "condition + expression", cond: trueCond, actions: "collect " + expression, collect: expression, frames: true}
	caseVar   = gdbCase{title: "value in a $variable", actions: "teval $sum = " + expression + "\ncollect $sum", frames: true}
	caseRegs  = gdbCase{title: "collect $regs", actions: "collect $regs", frames: true}

	// gdbserver's compiler of conditions has no multiplication on amd64, and cannot be switched off. It
	// compiles the same sum if that has only additions.
	sum           = "counter1+counter1+counter2+counter2+counter2"
	caseFalseAdds = gdbCase{title: caseFalse.title, cond: sum + "<0", actions: "collect " + expression}
	caseBothAdds  = gdbCase{title: caseBoth.title, cond: sum + ">0", actions: "collect " + expression, frames: true}

	// The static tracepoint of table 5.
	sdataFalse = gdbCase{title: "false condition", cond: falseCond, actions: "collect $_sdata"}
	sdata      = gdbCase{title: "data", actions: "collect $_sdata", frames: true}
	sdataBoth  = gdbCase{title: "condition + data", cond: trueCond, actions: "collect $_sdata", frames: true}
)

// gdbServing describes how to run and query a server.
type gdbServing struct {
	server  []string // the words between "target remote |" and the program
	command string   // trace *test_function, ...
	build   string   // of the workload
	// Calls in a batch; batches after the 3 warm-up batches; how many of the first are not counted;
	// milliseconds between batches.
	calls, batches, skip, gap int
}

// gdb runs the workload with GDB as the front-end and returns the nanoseconds per call of each batch.
func (b *bench) gdb(s *gdbServing, c *gdbCase) (ns []float64, err error) {
	prog, err := b.workload(s.build)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(filepath.Dir(b.work), "bench.gdb")
	cond := ""
	if c.cond != "" {
		cond = " if " + c.cond
	}
	text := fmt.Sprintf(`set pagination off
set confirm off
set sysroot /
set remotetimeout 60
target remote | %s %s bare %d %d %d
break main
continue
tvariable $sum = 0
%s%s
actions
%s
end
set circular-trace-buffer on
set trace-buffer-size 67108864
break exit
tstart
continue
tstop
tstatus
info tracepoints
kill
`, strings.Join(s.server, " "), prog, s.calls, s.batches, s.gap, s.command, cond, c.actions)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	// The server's connection is its standard output, so the program writes to stderr.
	out, err := exec.Command("sh", "-c", "exec timeout 120 gdb -nx -batch -x "+script+" "+prog+" 2>&1").Output()
	if err != nil {
		return nil, fmt.Errorf("gdb: %w: %s", err, out)
	}
	ns, err = nsLines(string(out))
	if err != nil || len(ns) <= s.skip {
		return nil, fmt.Errorf("no times: %w: %s", err, out)
	}
	return ns[s.skip:], s.complete(c, string(out))
}

// complete checks that every hit was counted and that the number of frames is right.
func (s *gdbServing) complete(c *gdbCase, out string) error {
	frames, ok := created(out)
	want := uint64(0)
	if c.frames {
		want = uint64(s.calls) * uint64(s.batches+3)
	}
	if !ok || frames > want {
		return fmt.Errorf("%d trace frames instead of %d: %s", frames, want, out)
	}
	if frames < want-want/20 { // a lost hit is cheaper
		return fmt.Errorf("%w: only %d of %d hits made a frame", errLost, frames, want)
	}
	return nil
}

// errLost means that the measurement is not valid; it can be repeated.
var errLost = errors.New("hits were lost")

// created reads the number of created frames from tstatus.
func created(out string) (uint64, bool) {
	for _, l := range strings.Split(out, "\n") {
		var n, kept uint64
		if _, err := fmt.Sscanf(l, "Collected %d trace frames", &n); err == nil {
			return n, true
		}
		if _, err := fmt.Sscanf(l, "Buffer contains %d trace frames (of %d created total)", &kept, &n); err == nil {
			return n, true
		}
	}
	return 0, false
}

// gdbTrace runs the workload under jalon trace with the same batches as gdb.
func (b *bench) gdbTrace(place, build string, c *gdbCase) ([]float64, error) {
	prog, err := b.workload(build)
	if err != nil {
		return nil, err
	}
	if c.cond != "" {
		place += " if " + c.cond
	}
	return times(exec.Command(b.jalon, "trace", place, "--collect", c.collect, "-f", "none", "--",
		prog, "bare", strconv.Itoa(c.calls()), strconv.Itoa(nativeBatches), strconv.Itoa(nativeGap)))
}

// workload compiles a variant of the program: "", or "-" with words: nopie, O0, usdt. gdbserver's fast
// tracepoints need nopie: otherwise it refuses with "jump back from jump pad too far".
func (b *bench) workload(variant string) (string, error) {
	prog := b.work + variant
	if _, err := os.Stat(prog); err == nil {
		return prog, nil
	}
	args := []string{"-O2", "-g", "-pthread", "-o", prog, "bench/work/work.c", "bench/work/function.c", "bench/work/limit.S"}
	for word := range strings.SplitSeq(variant, "-") {
		args = append(args, workloadFlags[word]...)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the workload: %w: %s", err, out)
	}
	return prog, nil
}

var workloadFlags = map[string][]string{"nopie": {"-no-pie"}, "O0": {"-O0"}, "usdt": {"-DUSDT_PROBE"}}

// bodyLine returns the place of the first statement of test_function.
func bodyLine() string {
	text, err := os.ReadFile("bench/work/function.c")
	others, function, found := strings.Cut(string(text), "int test_function(")
	before, _, ok := strings.Cut(function, "counter++")
	if err != nil || !found || !ok {
		return "function.c" // every tracer refuses this
	}
	return fmt.Sprintf("function.c:%d", strings.Count(others+before, "\n")+1)
}
