package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/bpf"
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

func TestRecord(t *testing.T) {
	e := open(t).e
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := strace(1, at(t, e, "syscalls:sys_enter_getpriority"), byRecord(t), static,
		evaluate(t, fmt.Sprintf("reg %d; const8 16; add; trace_quick 8; pop; end", rdi)), argsRegs)
	from := time.Now()
	start(t, e, nil, s)
	call(5)
	_, _ = unix.Getpriority(0, magic+1)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	call(3)
	list := drainAll(e, true)
	if len(list) != 5 {
		t.Fatalf("%d hits", len(list))
	}
	ordered(t, list, from)
	for i, h := range list {
		if want := fmt.Sprintf("which: %d, who: 0x%x", i, magic); !strings.Contains(h.Static, want) {
			t.Errorf("static is %q, not %q", h.Static, want)
		}
		if h.TID != unix.Gettid() || h.Spec != s {
			t.Errorf("%+v", h)
		}
		var mem []agentexpr.Block
		for _, b := range h.frame.Blocks {
			if b.Kind == agentexpr.MemoryBlock {
				mem = append(mem, b)
			}
		}
		if len(mem) != 1 || binary.LittleEndian.Uint64(mem[0].Data) != uint64(i) || mem[0].Addr < 1<<63 {
			t.Errorf("memory %+v", mem)
		}
		regs := registersOf(h.frame)
		if len(regs) != 2 || regs[rip] != s.Addr || regs[rdi]+16 != mem[0].Addr {
			t.Errorf("registers %#x", regs)
		}
	}
	if c := e.Counts(s); c.Hits != 5 || c.False < 1 || c.Lost != 0 || c.Faults != 0 {
		t.Errorf("counts %+v", c)
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

// Raw arguments as registers, with and without the tracepoint's own record, several
// at one address, one of them added later.
func TestArguments(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "raw_syscalls:sys_enter")
	raw := strace(1, addr, byArguments(t), argsRegs)
	pair := strace(2, addr, byArguments(t), argsRegs, static)
	own := strace(3, addr, nil, static)
	own.Enabled = false
	from := time.Now()
	start(t, e, nil, raw, pair, own)
	call(4)
	late := strace(4, addr, byArguments(t), static, argsRegs)
	if err := e.Add(late); err != nil {
		t.Fatal(err)
	}
	if err := e.Add(late); err != nil {
		t.Errorf("the same tracepoint again: %v", err)
	}
	call(2)
	if err := e.Enable(pair, false); err != nil {
		t.Fatal(err)
	}
	call(3)
	if err := e.Enable(pair, true); err != nil {
		t.Fatal(err)
	}
	call(1)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	list := drainAll(e, true)
	ordered(t, list, from)
	got := map[*experiment.Spec]int{}
	for _, h := range list {
		got[h.Spec]++
		regs := registersOf(h.frame)
		if len(regs) != 4 || regs[rip] != addr || regs[rdx] != unix.SYS_GETPRIORITY || regs[rsi] < 1<<63 || regs[rdi] != 0 {
			t.Errorf("registers %#x", regs)
		}
		want := fmt.Sprintf("NR %d (", unix.SYS_GETPRIORITY)
		if h.Spec == raw {
			if h.Static != "" {
				t.Errorf("static %q that was not asked for", h.Static)
			}
		} else if !strings.Contains(h.Static, want) || !strings.Contains(h.Static, fmt.Sprintf(" %x,", magic)) {
			t.Errorf("static is %q", h.Static)
		}
	}
	if got[raw] != 10 || got[pair] != 7 || got[late] != 6 || got[own] != 0 {
		t.Errorf("hits %d, %d, %d, %d; not 10, 7, 6, 0", got[raw], got[pair], got[late], got[own])
	}
	for s, n := range got {
		if c := e.Counts(s); c.Hits != uint64(n) || c.Lost != 0 {
			t.Errorf("%d: counts %+v, %d hits", s.Number, c, n)
		}
	}
}

// Where hits come all the time, also while the two programs of a tracepoint are being
// attached, each that is given out is whole.
func TestWhole(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "sched:sched_switch")
	pair := func(n int) *experiment.Spec { return strace(n, addr, nil, static, argsRegs) }
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
			}
		}
	}()
	first, second := pair(1), pair(2)
	start(t, e, nil, first)
	await(t, func() error { return e.Add(second) }) // another package's test may have the tracepoint open
	var list []kept
	for len(list) < 200 {
		list = append(list, drainAll(e, false)...)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	list = append(list, drainAll(e, true)...)
	close(stop)
	<-done
	// The kernel leaves a program of perf's out where eBPF is at work on the CPU already, and
	// a ring may be full: both are counted.
	incomplete := map[*experiment.Spec]uint64{}
	for i, h := range list {
		switch {
		case h.Static == "":
			incomplete[h.Spec]++
		case !strings.Contains(h.Static, " ==> next_comm="):
			t.Errorf("hit %d of %d, of tracepoint %d: %q", i, len(list), h.Spec.Number, h.Static)
		}
	}
	for s, n := range incomplete {
		if counted := e.Counts(s).Lost + e.sites[s].missed(); n > counted || n == e.Counts(s).Hits {
			t.Errorf("tracepoint %d: %d hits of %d without a text, and %d lost or missed", s.Number, n, e.Counts(s).Hits, counted)
		}
	}
}

// Hits are whole too where others open the tracepoint by perf for moments while it is armed:
// perf's programs are then called from the place of whoever came first.
func TestWholeBesideOthers(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "raw_syscalls:sys_enter")
	k, err := bpf.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	stop, done := make(chan bool), make(chan error)
	go func() {
		for n := time.Duration(0); ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
				if _, err := k.PerfUsers("raw_syscalls", "sys_enter"); err != nil {
					done <- err
					return
				}
				time.Sleep(n % 8 * 500 * time.Microsecond)
			}
		}
	}()
	rounds := 10
	if os.Getenv("JALON_FULL") != "" {
		rounds = 500
	}
	for range rounds {
		start(t, e, nil)
		await(t, func() error { return e.Add(strace(1, addr, byArguments(t), static, argsRegs)) })
		call(3)
		if err := e.Stop(); err != nil {
			t.Fatal(err)
		}
		list := drainAll(e, true)
		if len(list) != 3 {
			t.Errorf("%d hits", len(list))
		}
		for i, h := range list {
			if want := fmt.Sprintf("NR %d (%x, %x,", unix.SYS_GETPRIORITY, i, magic); !strings.Contains(h.Static, want) {
				t.Errorf("hit %d: static is %q, not %q", i, h.Static, want)
			}
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Variables count over all CPUs, can be read and set in a run, and start anew.
func TestVariables(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	const n = 107 // beyond the predefined ones
	vars := []experiment.Variable{{Number: 1, Name: "trace_timestamp", Builtin: true}, {Number: n, Value: 100}, {Number: 109, Value: -1}}
	s := strace(1, addr, byRecord(t),
		evaluate(t, fmt.Sprintf("getv %d; const8 1; add; setv %d; end", n, n)),
		evaluate(t, fmt.Sprintf("tracev %d; tracev 1; end", n)))
	bad := strace(2, addr, nil, evaluate(t, "tracev 55; end"))
	if errs := e.Start([]*experiment.Spec{s, bad}, vars); errs[1] == nil || !strings.Contains(errs[1].Error(), "no trace state variable 55") {
		t.Fatalf("an unknown variable: %v", errs)
	}
	if _, ok := e.Variable(n); ok {
		t.Error("a variable where nothing runs")
	}
	for range 2 {
		start(t, e, vars, s)
		call(3)
		if v, ok := e.Variable(n); !ok || v != 103 {
			t.Errorf("variable is %d, %v", v, ok)
		}
		e.SetVariable(n, -5)
		e.SetVariable(55, 1)
		if err := e.Add(bad); err != nil {
			t.Error(err)
		}
		call(2)
		if err := e.Stop(); err != nil {
			t.Fatal(err)
		}
		if v, _ := e.Variable(n); v != -3 {
			t.Errorf("variable is %d", v)
		}
		if v, ok := e.Variable(109); !ok || v != -1 {
			t.Errorf("variable 109 is %d", v)
		}
		if now, ok := e.Variable(1); !ok || time.Since(time.UnixMicro(now)).Abs() > time.Minute {
			t.Errorf("the time is %d", now)
		}
		var seen []uint64
		for _, h := range drainAll(e, true) {
			if h.Spec == s {
				seen = append(seen, h.frame.Blocks[0].Value)
			}
		}
		if fmt.Sprint(seen) != fmt.Sprint([]uint64{101, 102, 103, 1<<64 - 4, 1<<64 - 3}) {
			t.Errorf("collected %d", seen)
		}
	}
}

// $trace_timestamp in a condition is the wall clock.
func TestTimestamp(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	now := time.Now().UnixMicro()
	cond := func(limit int64) *agentexpr.Expr {
		// magic && now < limit
		return condition(t, fmt.Sprintf("reg %d; const8 24; add; ref64; const32 %d; equal; if_goto 9; const8 0; end; getv 1; const64 %d; less_signed; end", rdi, magic, limit))
	}
	past, future := strace(1, addr, cond(now-1e9)), strace(2, addr, cond(now+1e9))
	start(t, e, nil, past, future)
	call(2)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if p, f := e.Counts(past), e.Counts(future); p.Hits != 0 || f.Hits != 2 {
		t.Errorf("%+v %+v", p, f)
	}
}

func TestFaults(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	wild := strace(1, addr, condition(t, "const8 8; ref64; end"))
	part := strace(2, addr, byRecord(t), evaluate(t, "const8 8; trace_quick 4; end"), static)
	start(t, e, nil, wild, part)
	call(2)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	list := drainAll(e, true)
	if len(list) != 2 || len(list[0].frame.Failures) != 1 || list[0].frame.Failures[0].Addr != 8 || list[0].Static == "" {
		t.Errorf("%+v", list)
	}
	if c := e.Counts(wild); c.Faults < 2 || c.Hits != 0 {
		t.Errorf("%+v", c)
	}
}

// What cannot be armed is refused in words, and nothing stays armed.
func TestRefused(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	good := strace(1, addr, byRecord(t))
	step := strace(2, addr, nil)
	step.Steps = 3
	nowhere := strace(3, addr+1, nil)
	reg := strace(4, addr, condition(t, "reg 7; end"))
	for _, c := range []struct {
		s    *experiment.Spec
		want string
	}{{step, "never stopped"}, {nowhere, "no static tracepoint at"}, {reg, "register rsp cannot be read here"}} {
		errs := e.Start([]*experiment.Spec{good, c.s}, nil)
		if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
			t.Errorf("%v, not %q", errs, c.want)
		}
		if err := e.Add(good); err == nil {
			t.Error("a run after all")
		}
	}
	call(1)
	if list := drainAll(e, true); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

// Hits of all CPUs come in the order of time, also while the run goes on.
func TestOrder(t *testing.T) {
	e := open(t).e
	s := strace(1, at(t, e, "raw_syscalls:sys_enter"), byArguments(t), argsRegs)
	from := time.Now()
	start(t, e, nil, s)
	const each = 2000
	done := make(chan bool)
	for cpu := range runtime.NumCPU() {
		go func() {
			runtime.LockOSThread() // the thread ends with its binding
			var set unix.CPUSet
			set.Set(cpu)
			_ = unix.SchedSetaffinity(0, &set)
			call(each)
			done <- true
		}()
	}
	var list []kept
	for n := 0; n < runtime.NumCPU(); {
		select {
		case <-done:
			n++
		case <-time.After(time.Millisecond):
			list = append(list, drainAll(e, false)...)
		}
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	list = append(list, drainAll(e, true)...)
	ordered(t, list, from)
	cpus := map[int]int{}
	for _, h := range list {
		cpus[h.CPU]++
	}
	if c := e.Counts(s); len(list) != each*runtime.NumCPU() || c.Hits != uint64(len(list)) || len(cpus) != runtime.NumCPU() {
		t.Errorf("%d hits on CPUs %v; %+v", len(list), cpus, c)
	}
}

func TestMarkers(t *testing.T) {
	e := open(t).e
	list, err := e.Markers()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]string{}
	for _, m := range list {
		if other := seen[m.Addr]; other != "" {
			t.Errorf("%s and %s have the address %#x", m.ID, other, m.Addr)
		}
		seen[m.Addr] = m.ID
	}
	if len(list) < 500 {
		t.Errorf("%d markers", len(list))
	}
	for _, id := range []string{"sched:sched_switch", "syscalls:sys_enter_openat"} {
		addr := at(t, e, id)
		one, err := e.MarkersAt(addr)
		if err != nil || len(one) != 1 || one[0].ID != id {
			t.Errorf("%#x: %v, %v", addr, one, err)
		}
	}
	if want, ok := e.k.Address("__traceiter_sched_switch"); !ok || at(t, e, "sched:sched_switch") != want {
		t.Errorf("sched_switch is not at %#x", want)
	}
}

// tell writes a line to a file of tracefs.
func tell(file, what string) error {
	f, err := os.OpenFile("/sys/kernel/tracing/"+file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(what + "\n")
	return errors.Join(err, f.Close())
}

// A probe that somebody defines in tracefs is no static tracepoint: the kernel gives
// programs no record of it.
func TestDefinedProbe(t *testing.T) {
	e := open(t).e
	name := fmt.Sprintf("jalontest%d:late", os.Getpid())
	slashed := strings.Replace(name, ":", "/", 1)
	if err := tell("uprobe_events", "p:"+slashed+" /proc/self/exe:0x1000"); err != nil {
		skip(t, err.Error())
	}
	list, err := e.matching("jalontest*:*")
	if err := tell("uprobe_events", "-:"+slashed); err != nil {
		t.Error(err)
	}
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
