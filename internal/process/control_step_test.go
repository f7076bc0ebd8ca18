package process

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	cpu "github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/fail"
)

// TestControlStepAll steps a whole small program, from before ld.so to its end.
func TestControlStepAll(t *testing.T) {
	prog := build(t, "control", "-no-pie", "-static")
	d := startControl(t, Control{}, prog, "insns")
	d.insert(symbol(t, prog, "insns"))
	d.resumeAll()
	s := d.expect(StopBreakpoint)
	d.remove(s.Addr)
	at := symbol(t, prog, "the_rep")
	seen := 0
	for range 100000 {
		if d.pc(s.TID) == at {
			seen++
		}
		d.resume(Resumption{TID: s.TID, Step: true})
		next, ok := d.nextOrEnd()
		if !ok {
			d.expectEnd(0, "0 0 0\n")
			if seen != 500 {
				t.Errorf("%d iterations of rep movsb", seen)
			}
			return
		}
		if next.Kind != StopStep {
			t.Fatalf("%+v", next)
		}
	}
	t.Error("the program does not end")
}

// TestControlRange: a range of addresses is stepped through as one.
func TestControlRange(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "insns")
	rep, behind := symbol(t, prog, "the_rep"), symbol(t, prog, "behind_rep")
	d.insert(rep)
	d.resumeAll()
	s := d.expect(StopBreakpoint)
	d.remove(rep)
	d.resume(Resumption{TID: s.TID, Step: true, Lo: rep, Hi: behind})
	if d.expect(StopStep); d.pc(s.TID) != behind {
		t.Errorf("at %#x", d.pc(s.TID))
	}
	d.resumeAll()
	d.expectEnd(0, "0 0 0\n")
}

// TestControlOver: instructions that are hard to step over are, exactly once.
func TestControlOver(t *testing.T) {
	prog := controlProg(t)
	for _, c := range []struct {
		mode   string
		labels []string
		want   int
		out    string
	}{
		{"insns", []string{"the_rep", "the_pushf", "behind_rep"}, 3, "0 0 0\n"},
		{"calls", []string{"the_syscall", "target"}, 103, "read 1 x\n"},
		{"blocked", []string{"target"}, 11, "kept 1\n"},
		{"storm 500", []string{"target"}, 500, "bad 0\n"},
		{"forks", []string{"target"}, 0, "children 12\n"},
	} {
		for _, verdict := range []BreakVerdict{BreakGo, BreakStep} {
			t.Run(fmt.Sprint(c.mode, verdict), func(t *testing.T) {
				hits, steps := 0, 0
				ctl := Control{
					OnBreak:   func(int, uint64) BreakVerdict { hits++; return verdict },
					OnStepped: func(int) bool { steps++; return false },
				}
				d := startControl(t, ctl, append([]string{prog}, strings.Fields(c.mode)...)...)
				must(0, d.SetOptions(ControlOptions{PassSignals: map[unix.Signal]bool{unix.SIGUSR1: true, unix.SIGCHLD: true}}))
				for _, l := range c.labels {
					d.insert(symbol(t, prog, l))
				}
				d.resumeAll()
				d.expectEnd(0, c.out)
				if hits != c.want {
					t.Errorf("%d hits", hits)
				}
				if verdict == BreakStep && steps != c.want {
					t.Errorf("%d steps", steps)
				}
			})
		}
	}
}

// TestControlOverSignals: as the storm above, with every signal reported.
func TestControlOverSignals(t *testing.T) {
	prog := controlProg(t)
	hits := 0
	d := startControl(t, Control{OnBreak: func(int, uint64) BreakVerdict { hits++; return BreakGo }}, prog, "storm", "300")
	d.insert(symbol(t, prog, "target"))
	d.resumeAll()
	reported := 0
	for s, ok := d.nextOrEnd(); ok; s, ok = d.nextOrEnd() {
		if s.Kind != StopSignal || s.Signal != unix.SIGUSR1 {
			t.Fatalf("%+v", s)
		}
		reported++
		_ = d.ResumeThreads([]Resumption{{TID: s.TID, Signal: s.Signal, Step: false}})
	}
	d.expectEnd(0, "bad 0\n")
	if hits != 300 || reported == 0 {
		t.Errorf("%d hits, %d signals", hits, reported)
	}
}

// TestControlHandler: a step with a signal ends at the handler's first instruction.
func TestControlHandler(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "signals")
	d.resumeAll()
	s := d.expect(StopSignal)
	si, err := d.Siginfo(s.TID)
	if err != nil || si[0] != byte(unix.SIGUSR1) {
		t.Errorf("Siginfo %x, %v", si, err)
	}
	at := d.pc(s.TID)
	d.resume(Resumption{TID: s.TID, Step: true, Signal: unix.SIGUSR1})
	d.expect(StopStep)
	if pc := d.pc(s.TID); pc != symbol(t, prog, "handler") {
		t.Errorf("at %#x", pc)
	}
	for d.pc(s.TID) != at { // through the handler and back
		if st := d.step(s.TID); st.Kind != StopStep {
			t.Fatalf("%+v", st)
		}
	}
	d.resumeAll()
	s = d.expect(StopSignal)
	d.resume(Resumption{TID: s.TID, Signal: s.Signal})
	d.expectEnd(0, "handled 2\n")
}

// states is the XSAVE area without its header, which says what is in use.
func states(r *RegSet) []byte {
	b := slices.Clone(r.XSave)
	clear(b[464:576])
	return b
}

// TestControlInject: the world is stopped and calls are injected in threads that
// are stopped for any reason: nothing of their stop is lost.
func TestControlInject(t *testing.T) {
	prog := controlProg(t)
	gettid := func(d *debugged, tid int) {
		t.Helper()
		before := d.regs(tid)
		stop(t, d.Process, func(s *Stopped) error {
			if r, err := d.injector.Run(d.threads.Get(tid), d.space, unix.SYS_GETTID); err != nil || int(r) != tid {
				t.Errorf("gettid: %d, %v", r, err)
			}
			return nil
		})
		if after := d.regs(tid); after.General != before.General || string(states(after)) != string(states(before)) {
			t.Errorf("registers changed:\n%+v\n%+v", before.General, after.General)
		}
	}
	d := startControl(t, Control{}, prog, "faults")
	at := symbol(t, prog, "the_fault")
	d.insert(at)
	d.resumeAll()
	s := d.expect(StopBreakpoint)
	gettid(d, s.TID)
	d.remove(at)
	d.resume(Resumption{TID: s.TID})
	s = d.expect(StopSignal)
	before := must(d.Siginfo(s.TID))
	gettid(d, s.TID)
	if after := must(d.Siginfo(s.TID)); string(after) != string(before) {
		t.Errorf("Siginfo changed:\n%x\n%x", before, after)
	}
	d.resume(Resumption{TID: s.TID, Signal: s.Signal})
	d.expectEnd(0, "handled 1 7\n")

	d = startControl(t, Control{}, prog, "signals")
	d.resumeAll()
	s = d.expect(StopSignal)
	gettid(d, s.TID)
	d.resume(Resumption{TID: s.TID, Step: true, Signal: s.Signal})
	d.expect(StopStep)
	if pc := d.pc(s.TID); pc != symbol(t, prog, "handler") {
		t.Errorf("at %#x", pc)
	}
	gettid(d, s.TID)
	d.step(s.TID)
	gettid(d, s.TID)
	d.resume(Resumption{TID: s.TID})
	s = d.expect(StopSignal)
	gettid(d, s.TID)
	d.resume(Resumption{TID: s.TID})
	d.expectEnd(0, "handled 1\n")
}

// TestControlGroupStop: SIGSTOP is reported; delivered, it stops the process until
// SIGCONT, and the debugger sees running threads meanwhile.
func TestControlGroupStop(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "sleeper")
	d.resumeAll()
	d.r.out.wait(t, "ready")
	pid := d.Pid()
	must(0, unix.Kill(pid, unix.SIGSTOP))
	s := d.expect(StopSignal)
	if s.Signal != unix.SIGSTOP {
		t.Errorf("%+v", s)
	}
	d.resume(Resumption{TID: pid, Signal: unix.SIGSTOP})
	if d.ThreadList()[0].Stopped {
		t.Error("it is stopped")
	}
	d.haltAll()
	d.resumeAll()
	must(0, unix.Kill(pid, unix.SIGCONT))
	if s = d.expect(StopSignal); s.Signal != unix.SIGCONT {
		t.Errorf("%+v", s)
	}
	d.resumeAll()
	fmt.Fprint(d.r.in, "x")
	d.expectEnd(0, "ready\nread 1 handled 0\n")
}

// TestControlLinker: a breakpoint where ld.so's is works beside it.
func TestControlLinker(t *testing.T) {
	loads := 0
	prog := build(t, "loads", "-no-pie")
	lib := build(t, "plugin", "-shared", "-fPIC")
	for _, verdict := range []BreakVerdict{BreakStop, BreakGo} {
		reported, asked := 0, 0
		loads = 0
		d := startControlWith(t, Config{OnModules: func(int) bool { loads++; return false }},
			Control{OnBreak: func(int, uint64) BreakVerdict { asked++; return verdict }}, prog, lib, "5")
		at := uint64(0)
		must(0, d.do(func() error { at = d.linker.modules.addr; return nil }))
		if at == 0 {
			t.Fatal("ld.so is not watched")
		}
		d.insert(at)
		d.resumeAll()
		for s, ok := d.nextOrEnd(); ok; s, ok = d.nextOrEnd() {
			if s.Kind != StopBreakpoint || d.pc(s.TID) != at {
				t.Fatalf("%+v", s)
			}
			reported++
			d.remove(at)
			d.step(s.TID)
			d.insert(at)
			d.resume(Resumption{TID: s.TID})
		}
		d.expectEnd(0, "sum 20\n")
		if verdict == BreakStop && reported != asked || asked < 10 || loads < 6 {
			t.Errorf("%d reported, %d asked, %d loads", reported, asked, loads)
		}
	}
}

// TestControlTraps: int3s of the program and SIGTRAPs that were sent are its own.
func TestControlTraps(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "traps")
	int3 := symbol(t, prog, "the_int3")
	d.resumeAll()
	for i := range 2 {
		s := d.expect(StopSignal)
		if s.Signal != unix.SIGTRAP || i == 0 && d.pc(s.TID) != int3+1 {
			t.Errorf("%+v at %#x", s, d.pc(s.TID))
		}
		d.resume(Resumption{TID: s.TID, Signal: unix.SIGTRAP})
	}
	d.expectEnd(0, "handled 2\n")
	// With a breakpoint over it.
	hits := 0
	d = startControl(t, Control{OnBreak: func(int, uint64) BreakVerdict { hits++; return BreakGo }}, prog, "traps")
	d.insert(int3)
	d.resumeAll()
	for range 2 {
		s := d.expect(StopSignal)
		d.resume(Resumption{TID: s.TID, Signal: unix.SIGTRAP})
	}
	d.expectEnd(0, "handled 2\n")
	if hits != 1 {
		t.Errorf("%d hits", hits)
	}
	// The one below the breakpoint is passed over.
	d = startControl(t, Control{OnBreak: func(int, uint64) BreakVerdict { return BreakPast }}, prog, "traps")
	d.insert(int3)
	d.resumeAll()
	s := d.expect(StopSignal)
	d.resume(Resumption{TID: s.TID, Signal: unix.SIGTRAP})
	d.expectEnd(0, "handled 1\n")
}

// TestControlFault: an instruction under a breakpoint faults, and is made again.
func TestControlFault(t *testing.T) {
	prog := controlProg(t)
	for _, pass := range []bool{false, true} {
		hits := 0
		d := startControl(t, Control{OnBreak: func(int, uint64) BreakVerdict { hits++; return BreakGo }}, prog, "faults")
		must(0, d.SetOptions(ControlOptions{PassSignals: map[unix.Signal]bool{unix.SIGSEGV: pass}}))
		at := symbol(t, prog, "the_fault")
		d.insert(at)
		d.resumeAll()
		if !pass {
			s := d.expect(StopSignal)
			if s.Signal != unix.SIGSEGV || d.pc(s.TID) != at {
				t.Errorf("%+v at %#x", s, d.pc(s.TID))
			}
			d.resume(Resumption{TID: s.TID, Signal: s.Signal})
		}
		d.expectEnd(0, "handled 1 7\n")
		if hits != 2 {
			t.Errorf("%d hits", hits)
		}
	}
}

// TestControlWatch: writes by all threads, those to come too, are seen.
func TestControlWatch(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "watches")
	at := symbol(t, prog, "watched")
	if !cpu.DebugRegisters() {
		if err := d.SetWatch(1, WatchWrite, at, 8); !errors.Is(err, ErrNoDebugRegisters) {
			t.Error(err)
		}
		t.Skip(ErrNoDebugRegisters)
	}
	must(0, d.SetWatch(1, WatchWrite, at, 8))
	must(0, d.SetWatch(3, WatchExec, symbol(t, prog, "target"), 1))
	if d.SetWatch(0, WatchWrite, at+1, 8) == nil || d.SetWatch(4, WatchWrite, at, 8) == nil {
		t.Error("no error")
	}
	d.resumeAll()
	for i, want := range []byte{1, 2, 10, 11, 12} {
		s := d.expect(StopWatch)
		var b [8]byte
		if _, err := d.ReadMemory(at, b[:]); err != nil || b[0] != want || s.Addr != at || s.Slot != []int{1, 1, 1, 1, 0}[i] {
			t.Errorf("%d: %+v %x, %v", i, s, b, err)
		}
		if i == 3 {
			must(0, d.SetWatch(0, WatchAccess, at, 4))
		}
		if i == 4 {
			must(0, d.ClearWatch(1))
		}
		d.resume(Resumption{TID: s.TID})
	}
	s := d.expect(StopHardwareBreak)
	if s.Addr != symbol(t, prog, "target") || d.pc(s.TID) != s.Addr {
		t.Errorf("%+v", s)
	}
	must(0, d.ClearWatch(3))
	d.resumeAll()
	s = d.expect(StopWatch) // read by printf's argument
	if s.Slot != 0 {
		t.Errorf("%+v", s)
	}
	must(0, d.ClearWatch(0))
	d.resumeAll()
	d.expectEnd(0, "watched 12\n")
}

// TestControlCatch: system calls are reported, before and after.
func TestControlCatch(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "calls")
	must(0, d.SetOptions(ControlOptions{CatchSyscalls: true, Syscalls: map[int]bool{unix.SYS_GETPID: true, unix.SYS_GETPPID: true}}))
	d.resumeAll()
	at := symbol(t, prog, "the_syscall")
	for _, nr := range []int{unix.SYS_GETPID, unix.SYS_GETPPID} {
		for _, kind := range []StopKind{StopSyscallEntry, StopSyscallReturn} {
			s := d.expect(kind)
			r := d.regs(s.TID).General
			if s.Syscall != nr || r.PC() != at+2 || kind == StopSyscallReturn && nr == unix.SYS_GETPID && int(r.CallResult()) != d.Pid() {
				t.Errorf("%+v %+v", s, r)
			}
			_, err := d.Stopped(func(s *Stopped) error { _, err := s.Syscall(unix.SYS_GETUID); return err })
			var e *fail.Error
			if kind == StopSyscallEntry && (!errors.As(err, &e) || e.Remedy == "") || kind == StopSyscallReturn && err != nil {
				t.Errorf("a call injected: %v", err)
			}
			d.resume(Resumption{TID: s.TID, Step: kind == StopSyscallReturn})
			if kind == StopSyscallReturn {
				d.expect(StopStep)
				d.resume(Resumption{TID: s.TID})
			}
		}
	}
	d.expectEnd(0, "read 1 x\n")
}
