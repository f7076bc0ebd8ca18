package process

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/test/testkit"
)

// tracedProgram is testdata/traced.c, not position-independent.
func tracedProgram(t *testing.T) (path string, symbol func(string) uint64) {
	t.Helper()
	path = compile(t, "traced.c", "-no-pie", "-pthread", "-O0")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return path, func(name string) uint64 {
		for _, s := range syms {
			if s.Name == name {
				return s.Value
			}
		}
		t.Fatalf("no symbol %s", name)
		return 0
	}
}

// runTo runs a stopped program to an address.
func runTo(t *testing.T, target *Target, id stub.ThreadID, addr uint64) {
	t.Helper()
	b := stub.Breakpoint{Addr: addr, Kind: 1}
	if err := target.Insert(id.PID, b); err != nil {
		t.Fatal(err)
	}
	goOn(t, target, id)
	if s := nextStop(t, target); s.Kind != stub.StopBreakpoint || s.Addr != addr {
		t.Fatalf("%+v instead of the breakpoint at %#x", s, addr)
	}
	if err := target.Remove(id.PID, b.Type, b.Addr, b.Kind); err != nil {
		t.Fatal(err)
	}
}

// collecting is a tracepoint that collects rdi.
func collecting(number int, addr uint64) *experiment.Spec {
	return &experiment.Spec{Number: number, Addr: addr, Enabled: true, Program: agentexpr.Site{
		Actions: []agentexpr.Action{{Kind: agentexpr.CollectRegs, Regs: []int{5}, Base: -1}},
	}}
}

func startTrace(t *testing.T, target *Target, specs ...*experiment.Spec) {
	t.Helper()
	for _, err := range target.engine.Start(specs, nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// frames counts what a trace has collected since it was last asked.
func frames(target *Target) (n int) {
	target.engine.Drain(true, func(*experiment.Hit) { n++ })
	return n
}

func wantStop(t *testing.T, target *Target, kind stub.StopKind, signal unix.Signal) stub.Stop {
	t.Helper()
	s := nextStop(t, target)
	if s.Kind != kind || s.Signal != int(signal) {
		t.Fatalf("%+v instead of a stop of kind %d, signal %v", s, kind, signal)
	}
	return s
}

// A breakpoint that is put into the bytes of a jump that is there: the jump must not
// be torn apart.
func TestBreakIntoJump(t *testing.T) {
	path, symbol := tracedProgram(t)
	target, id := launched(t, stub.Options{}, path, "loop", "9")
	runTo(t, target, id, symbol("main"))
	at := symbol("hit")
	startTrace(t, target, collecting(1, at))
	never, err := agentexpr.Validate([]byte{0x22, 0, 0x27}, agentexpr.ForCondition) // const8 0
	if err != nil {
		t.Fatal(err)
	}
	inside := stub.Breakpoint{Addr: at + 1, Kind: 1, Conditions: []*agentexpr.Expr{never}} // behind push %rbp
	if err := target.Insert(id.PID, inside); err != nil {
		t.Fatal(err)
	}
	goOn(t, target, id)
	wantStop(t, target, stub.StopSignal, unix.SIGUSR1)
	if err := target.engine.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := frames(target); n != 9 {
		t.Errorf("%d frames instead of 9", n)
	}
}

// A program that calls exec ends its trace, whether GDB hears of exec or not: the new
// one is not touched, and can be traced in its turn.
func TestExecEndsTrace(t *testing.T) {
	path, symbol := tracedProgram(t)
	for _, execEvents := range []bool{false, true} {
		target, id := launched(t, stub.Options{ExecEvents: execEvents}, path, "exec")
		runTo(t, target, id, symbol("main"))
		spec := collecting(1, symbol("hit"))
		startTrace(t, target, spec)
		goOn(t, target, id)
		for range 2 {
			if execEvents {
				wantStop(t, target, stub.StopExec, 0)
				goOn(t, target, id)
			}
		}
		wantStop(t, target, stub.StopSignal, unix.SIGUSR1)
		if !target.engine.Gone() {
			t.Error("the trace goes on in another program")
		}
		if err := target.engine.Add(collecting(2, symbol("other"))); err == nil {
			t.Error("a tracepoint was put into another program")
		}
		if err := target.engine.Stop(); err != nil {
			t.Fatal(err)
		}
		if n := frames(target); n != 5 {
			t.Errorf("%d frames instead of 5", n)
		}
		occupy(t, target.engine.last)
		startTrace(t, target, collecting(1, symbol("hit")))
		if target.engine.Gone() {
			t.Error("the second trace is over before it begins")
		}
		if err := target.engine.Stop(); err != nil {
			t.Fatal(err)
		}
		goOn(t, target, id)
		if s := nextStop(t, target); s.Kind != stub.StopExited || s.Code != 10 {
			t.Errorf("%+v", s)
		}
	}
}

// occupy closes the buffers of a run and makes memory that faults of where they were:
// nothing may write there any more.
func occupy(t *testing.T, run inProcess) {
	t.Helper()
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	for range 64 {
		m, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(m) })
	}
}

// counting is $60 = $60 + 1.
func counting(t *testing.T) []agentexpr.Action {
	t.Helper()
	count, err := agentexpr.Validate([]byte{0x2c, 0, 60, 0x22, 1, 0x02, 0x2d, 0, 60, 0x27}, agentexpr.ForAction)
	if err != nil {
		t.Fatal(err)
	}
	return []agentexpr.Action{{Kind: agentexpr.Evaluate, Expr: count}}
}

// TestAddedWhileRunning: a tracepoint that counts in a variable is added while threads hit
// another one that ends the run, in the process or by the tracer. Hits of that moment may be
// missed; the run ends at a hit, and the variable has as many as the tracepoint.
func TestAddedWhileRunning(t *testing.T) {
	path, symbol := tracedProgram(t)
	for _, byTracer := range []bool{false, true} {
		target, id := launched(t, stub.Options{NonStop: true}, path, "both", "1000000000000")
		runTo(t, target, id, symbol("main"))
		first, count := collecting(1, symbol("hit")), collecting(2, symbol("hit"))
		count.Program.Actions = counting(t)
		first.Pass = 300_000
		if byTracer {
			first.Pass, first.Steps = 150, 1
		}
		startTrace(t, target, first)
		goOn(t, target, id)
		frames := map[*experiment.Spec]uint64{}
		take := func(h *experiment.Hit) {
			if !h.Step {
				frames[h.Spec]++
			}
		}
		testkit.Eventually(t, "the first hits", func() bool {
			target.engine.Drain(false, take)
			return frames[first] > 0
		})
		if err := target.engine.Add(count); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the end of the run", func() bool {
			target.engine.Drain(false, take)
			return target.engine.Ended().Spec == first
		})
		if _, err := target.HaltAll(); err != nil {
			t.Fatal(err)
		}
		if err := target.engine.Stop(); err != nil {
			t.Fatal(err)
		}
		target.engine.Drain(true, take)
		n, m := target.engine.Counts(first), target.engine.Counts(count)
		v, ok := target.engine.Variable(60)
		if !ok || uint64(v) != frames[count] || m.Hits != frames[count]+m.Lost { // what the ring lost did nothing
			t.Errorf("$60 is %d (%v); %d frames, counts %+v", v, ok, frames[count], m)
		}
		// Many may have come before the other one was added; a record that was under way when
		// the programs were exchanged is one more.
		if n.Hits != frames[first]+n.Lost || n.Hits < first.Pass || m.Hits > 0 && frames[first] > first.Pass+1 {
			t.Errorf("%d frames for a pass count of %d, counts %+v", frames[first], first.Pass, n)
		}
		if err := target.Kill(id.PID); err != nil {
			t.Fatal(err)
		}
	}
}

// A variable that native code counts in one thread and the tracer in another is exact.
func TestSharedVariable(t *testing.T) {
	path, symbol := tracedProgram(t)
	const stops = 100
	target, id := launched(t, stub.Options{}, path, "both", fmt.Sprint(stops))
	runTo(t, target, id, symbol("main"))
	native, slow := collecting(1, symbol("hit")), collecting(2, symbol("other"))
	for _, s := range []*experiment.Spec{native, slow} {
		s.Program.Actions = counting(t)
	}
	slow.Steps = 1
	vars := []experiment.Variable{{Number: 60, Name: "n", Value: 5}}
	for _, err := range target.engine.Start([]*experiment.Spec{native, slow}, vars) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if target.engine.armed[native].slow != nil || target.engine.armed[slow].slow == nil {
		t.Fatal("one is to run in the process, the other in the tracer")
	}
	goOn(t, target, id)
	for len(target.Events()) == 0 {
		target.engine.Drain(false, func(*experiment.Hit) {})
	}
	wantStop(t, target, stub.StopSignal, unix.SIGUSR1)
	if _, err := target.HaltAll(); err != nil {
		t.Fatal(err)
	}
	target.engine.Drain(true, func(*experiment.Hit) {})
	c := target.engine.Counts(native) // what found no room did nothing
	want := int64(5 + stops + c.Hits - c.Lost)
	if v, ok := target.engine.Variable(60); !ok || v != want {
		t.Errorf("$60 is %d (%v) instead of %d", v, ok, want)
	}
	if err := target.engine.Stop(); err != nil {
		t.Fatal(err)
	}
}

// A thread that sleeps in the copy of a system call when the trace ends is shown where
// the program has that call, then and later, and goes on behind it.
func TestStopAroundSleeper(t *testing.T) {
	path, symbol := tracedProgram(t)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	target, err := New(Options{Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	stop, err := target.Launch(stub.LaunchOptions{Args: []string{path, "read"}})
	if err != nil {
		t.Fatal(err)
	}
	id, call := stop.Thread, symbol("readCall")
	runTo(t, target, id, symbol("main"))
	where := func() uint64 {
		t.Helper()
		if _, err := target.HaltAll(); err != nil {
			t.Fatal(err)
		}
		v, err := target.Registers(id)
		if err != nil {
			t.Fatal(err)
		}
		r := target.Description().Registers[pcRegister]
		return binary.LittleEndian.Uint64(v.Data[r.Offset:])
	}
	for i := range 3 {
		spec := collecting(1, call)
		if startTrace(t, target, spec); target.engine.armed[spec].slow != nil {
			t.Fatal("the system call is not traced in the process")
		}
		for n := 0; n < i+1; n++ {
			goOn(t, target, id)
			if _, err := out.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			asleep(t, id.TID, in)
			if pc := where(); pc != call+2 {
				t.Errorf("round %d: the thread is shown at %#x, not %#x", i, pc, call+2)
			}
		}
		if err := target.engine.Stop(); err != nil {
			t.Fatal(err)
		}
		if pc := where(); pc != call+2 {
			t.Errorf("round %d, after the trace: the thread is shown at %#x, not %#x", i, pc, call+2)
		}
	}
	if err := target.Detach(id.PID); err != nil {
		t.Fatal(err)
	}
}

// asleep waits until a thread sleeps in a read and nothing is left to be read.
func asleep(t *testing.T, tid int, in *os.File) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		n, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid)) // it is there as long as the thread
		if n == 0 && strings.HasPrefix(string(b), "0 0x0 ") {
			return
		}
	}
	t.Fatal("it does not sleep")
}
