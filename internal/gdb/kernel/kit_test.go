package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

// GDB's numbers of registers.
const (
	rdx = 3
	rsi = 4
	rdi = 5
	rip = 16
)

// expression makes an expression of instructions as agentexpr.ParseText takes them,
// without offsets; a jump names the number of an instruction.
func expression(t *testing.T, use agentexpr.Use, text string) *agentexpr.Expr {
	t.Helper()
	var list []agentexpr.Insn
	pc := 0
	for _, line := range strings.Split(text, "; ") {
		in, err := agentexpr.ParseText("0 " + line)
		if err != nil || len(in) != 1 {
			t.Fatalf("%q: %v", line, err)
		}
		in[0].PC = pc
		pc += in[0].Len()
		list = append(list, in[0])
	}
	for i := range list {
		if in := &list[i]; in.Op == agentexpr.OpGoto || in.Op == agentexpr.OpIfGoto {
			in.Arg = uint64(list[in.Arg].PC)
		}
	}
	e, err := agentexpr.Validate(agentexpr.Encode(list), use)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func condition(t *testing.T, text string) *agentexpr.Expr {
	return expression(t, agentexpr.ForCondition, text)
}

func evaluate(t *testing.T, text string) agentexpr.Action {
	return agentexpr.Action{Kind: agentexpr.Evaluate, Expr: expression(t, agentexpr.ForAction, text)}
}

var (
	static   = agentexpr.Action{Kind: agentexpr.CollectStatic}
	argsRegs = agentexpr.Action{Kind: agentexpr.CollectRegs, Regs: []int{0, rdx, rsi, rdi, rip}}
)

// shared is the target of most tests: to look at a kernel takes its time, in an
// emulated guest above all.
var shared *Target

// open gives the running kernel with no run, or leaves the test out where it cannot
// be traced.
func open(t *testing.T) *Target {
	t.Helper()
	if shared == nil {
		shared = openNew(t)
	}
	if err := shared.e.end(); err != nil {
		t.Fatal(err)
	}
	return shared
}

func openNew(t *testing.T) *Target {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "it needs root")
	}
	k, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.e.Markers(); err != nil {
		skip(t, err.Error())
	}
	return k
}

var skipped []string

// skip leaves a test out for what this machine lacks, and counts it.
func skip(t *testing.T, why string) {
	t.Helper()
	skipped = append(skipped, t.Name()+" ("+why+")")
	t.Skip(why)
}

// suite runs the tests and closes what they shared.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	release, err := testkit.HoldKernel(false)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer release()
	code := s.m.Run()
	if shared != nil {
		if err := shared.Close(); err != nil {
			fmt.Println("closing:", err)
			code = 1
		}
	}
	if len(skipped) > 0 {
		fmt.Printf("skipped %d tests: %s\n", len(skipped), strings.Join(skipped, "; "))
	}
	return code
}

func TestMain(m *testing.M) { vmtest.Main(suite{m}) }

// at is the address of a marker.
func at(t *testing.T, e *engine, id string) uint64 {
	t.Helper()
	list, err := e.matching(id)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %v, %v", id, list, err)
	}
	return list[0].Addr
}

// magic is an argument of getpriority that no other program gives.
var magic = 0x5a000000 + os.Getpid()

func strace(n int, addr uint64, cond *agentexpr.Expr, actions ...agentexpr.Action) *experiment.Spec {
	return &experiment.Spec{Number: n, Addr: addr, Kind: experiment.Static, Enabled: true, Program: agentexpr.Site{Cond: cond, Actions: actions}}
}

// byRecord holds where getpriority's second argument is magic, by the event's record.
func byRecord(t *testing.T) *agentexpr.Expr {
	return condition(t, fmt.Sprintf("reg %d; const8 24; add; ref64; const32 %d; equal; end", rdi, magic))
}

// byArguments holds there by the arguments of raw_syscalls:sys_enter: struct pt_regs
// and the number of the call.
func byArguments(t *testing.T) *agentexpr.Expr {
	return condition(t, fmt.Sprintf("reg %d; const16 %d; equal; if_goto 6; const8 0; end; reg %d; const8 104; add; ref64; const32 %d; equal; end", rdx, unix.SYS_GETPRIORITY, rsi, magic))
}

// byArgumentsAtExit is byArguments for raw_syscalls:sys_exit, whose arguments are struct pt_regs and the result.
func byArgumentsAtExit(t *testing.T) *agentexpr.Expr {
	return condition(t, fmt.Sprintf("reg %d; const8 104; add; ref64; const32 %d; equal; end", rsi, magic))
}

func start(t *testing.T, e *engine, vars []experiment.Variable, list ...*experiment.Spec) {
	t.Helper()
	await(t, func() error { return errors.Join(e.Start(list, vars)...) })
}

// await repeats f while another process, such as another package's test, has a tracepoint open
// by perf.
func await(t *testing.T, f func() error) {
	t.Helper()
	var err error
	testkit.Eventually(t, "the tracepoint to be ours", func() bool {
		var open *errOpenByPerf
		err = f()
		return !errors.As(err, &open)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// call does getpriority n times, with 0, 1, ... as its first argument.
func call(n int) {
	for i := range n {
		_, _ = unix.Getpriority(i, magic)
	}
}

// meanwhile does f again and again beside the test, until the result is called.
func meanwhile(f func()) (end func()) {
	over, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
				f()
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// counter is a variable beyond the predefined ones, for tracepoints that count.
const counter = 1007

var counters = []experiment.Variable{{Number: counter}}

// countUp adds 1 to a variable.
func countUp(t *testing.T, n int) agentexpr.Action {
	t.Helper()
	return evaluate(t, fmt.Sprintf("getv %d; const8 1; add; setv %d; end", n, n))
}

func stop(t *testing.T, e *engine) {
	t.Helper()
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
}

// finish ends the run and gives the hits that are left.
func finish(t *testing.T, e *engine) []kept {
	t.Helper()
	stop(t, e)
	return drainAll(e, true)
}

// kept is a hit with copies of what was valid during its call.
type kept struct {
	experiment.Hit
	frame *agentexpr.Frame
}

func drainAll(e *engine, final bool) []kept {
	var list []kept
	e.Drain(final, func(h *experiment.Hit) {
		k := kept{*h, h.Layout.Frame(h.Record)}
		if h.Text != nil {
			k.Static = h.Text.StaticText(h.Record)
		}
		list = append(list, k)
	})
	return list
}

// ordered checks the order of time, and that hits lie between two moments.
func ordered(t *testing.T, list []kept, from time.Time) {
	t.Helper()
	last := from.UnixNano()
	for i := range list {
		if list[i].Time < last {
			t.Errorf("hit %d is of %v, that before or the start of %v", i, time.Unix(0, list[i].Time), time.Unix(0, last))
		}
		last = list[i].Time
	}
	if now := time.Now().UnixNano(); last > now {
		t.Errorf("the last hit is of %v, later than now", time.Unix(0, last))
	}
}

func registersOf(f *agentexpr.Frame) map[int]uint64 {
	regs := map[int]uint64{}
	for _, r := range f.Regs {
		var b [8]byte
		copy(b[:], r.Data)
		regs[r.Num] = binary.LittleEndian.Uint64(b[:])
	}
	return regs
}
