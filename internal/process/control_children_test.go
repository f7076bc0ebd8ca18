package process

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	cpu "github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

var allChildren = ControlOptions{Forks: true, VForks: true, Execs: true}

// childrenPass is allChildren without stops for the signals that children cause.
func childrenPass() ControlOptions {
	o := allChildren
	o.PassSignals = map[unix.Signal]bool{unix.SIGCHLD: true}
	return o
}

// TestControlForks: children are stopped with their parents, and are detached.
func TestControlForks(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "forks")
	must(0, d.SetOptions(childrenPass()))
	target := symbol(t, prog, "target")
	d.insert(target) // the children call it: in one of them it is gone, the other goes on past it
	d.resumeAll()
	for _, kind := range []StopKind{StopForked, StopVForked, StopVForked} {
		s := d.expect(kind)
		if st := stateOf(s.Child, "t"); st != 't' {
			t.Errorf("the child is in state %c", st)
		}
		must(0, d.ReleaseChild(s.Child))
		if d.ReleaseChild(s.Child) == nil {
			t.Error("released twice")
		}
		d.resume(Resumption{TID: s.TID})
		if kind == StopVForked {
			if done := d.expect(StopVForkDone); done.Child != s.Child || done.TID != s.TID {
				t.Errorf("%+v", done)
			}
			d.resume(Resumption{TID: s.TID})
		}
	}
	d.expectEnd(0, "children 12\n")
}

// take makes a child a process of its own.
func (d *debugged) take(pid int) *debugged {
	d.t.Helper()
	c := &debugged{t: d.t, q: newStopQueue(), r: d.r}
	p, err := d.TakeChild(pid, Config{Control: &Control{OnStop: c.q.put}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = p.Detach() })
	c.Process = p
	must(0, c.SetOptions(childrenPass()))
	return c
}

// TestControlTake: children are taken, and debugged beside their parents.
func TestControlTake(t *testing.T) {
	prog := controlProg(t)
	target := symbol(t, prog, "target")
	d := startControl(t, Control{}, prog, "forks")
	must(0, d.SetOptions(childrenPass()))
	d.insert(target)
	d.resumeAll()
	// fork: a copy of the memory, breakpoints included.
	s := d.expect(StopForked)
	c := d.take(s.Child)
	list := c.ThreadList()
	if len(list) != 1 || list[0].TID != s.Child || !list[0].Stopped {
		t.Fatalf("%+v", list)
	}
	if !c.HasBreak(target) {
		t.Error("the child has no breakpoint")
	}
	d.resume(Resumption{TID: s.TID})
	c.resumeAll()
	hit := c.expect(StopBreakpoint)
	if r := c.regs(hit.TID).General; hit.TID != s.Child || r.PC() != target || r.CallArg(0) != 5 {
		t.Errorf("%+v %+v", hit, r)
	}
	c.remove(target)
	if st := c.step(hit.TID); st.Kind != StopStep {
		t.Errorf("%+v", st)
	}
	if !d.HasBreak(target) {
		t.Error("the parent has no breakpoint any more")
	}
	c.resumeAll()
	if st := c.Wait(); st != (ExitStatus{Code: 3}) {
		t.Errorf("child: %v", st)
	}
	// vfork: the memory is shared.
	s = d.expect(StopVForked)
	c = d.take(s.Child)
	d.resume(Resumption{TID: s.TID})
	c.resumeAll()
	if hit = c.expect(StopBreakpoint); c.regs(hit.TID).General.CallArg(0) != 6 {
		t.Errorf("%+v", hit)
	}
	d.remove(target) // of the same memory
	must(0, c.InsertBreak(target))
	if !c.breakpoints.isInt3(target) {
		t.Error("the breakpoint of the child went with the parent's")
	}
	must(0, d.InsertBreak(target))
	c.remove(target)
	c.resumeAll()
	if st := c.Wait(); st != (ExitStatus{Code: 4}) {
		t.Errorf("child: %v", st)
	}
	d.expect(StopVForkDone)
	d.resume(Resumption{TID: s.TID})
	// posix_spawn: it becomes a shell.
	s = d.expect(StopVForked)
	c = d.take(s.Child)
	d.resume(Resumption{TID: s.TID})
	c.resumeAll()
	e := c.expect(StopExec)
	if sh := must(os.Readlink("/proc/self/root")); e.Path == "" || sh == "" {
		t.Errorf("%+v", e)
	}
	if c.HasBreak(target) {
		t.Error("a breakpoint of the old program")
	}
	d.expect(StopVForkDone)
	d.resume(Resumption{TID: s.TID})
	c.resumeAll()
	if st := c.Wait(); st != (ExitStatus{Code: 5}) {
		t.Errorf("child: %v", st)
	}
	d.expectEnd(0, "children 12\n")
}

// TestControlTakeDetach: a child that was taken is let go, in each kind of birth.
func TestControlTakeDetach(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "forks")
	must(0, d.SetOptions(childrenPass()))
	d.insert(symbol(t, prog, "target"))
	d.resumeAll()
	for i, kind := range []StopKind{StopForked, StopVForked, StopVForked} {
		s := d.expect(kind)
		c := d.take(s.Child)
		if i == 1 {
			d.remove(symbol(t, prog, "target")) // or the child would run into it
		}
		must(0, c.Detach())
		d.resume(Resumption{TID: s.TID})
		if kind == StopVForked {
			d.expect(StopVForkDone)
			d.resume(Resumption{TID: s.TID})
		}
	}
	d.expectEnd(0, "children 12\n")
}

// TestControlForkDetach: a parent is detached while its child is stopped.
func TestControlForkDetach(t *testing.T) {
	prog := controlProg(t)
	for _, n := range []int{1, 2, 3} {
		d := startControl(t, Control{}, prog, "forks")
		must(0, d.SetOptions(childrenPass()))
		d.insert(symbol(t, prog, "target"))
		d.resumeAll()
		for i := range n {
			s := d.next()
			for s.Kind == StopVForkDone {
				d.resume(Resumption{TID: s.TID})
				s = d.next()
			}
			if i == n-1 {
				break
			}
			must(0, d.ReleaseChild(s.Child))
			d.resume(Resumption{TID: s.TID})
		}
		must(0, d.Detach())
		if out := d.r.out.all(); out != "children 12\n" {
			t.Errorf("%d: %q", n, out)
		}
		reap(t, d.Pid())
	}
}

// reap takes the end of a child of ours that was let go.
func reap(t *testing.T, pid int) {
	t.Helper()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || ws != 0 {
		t.Errorf("status %#x, %v", ws, err)
	}
}

// TestControlExec: another program; what was in the old one is void.
func TestControlExec(t *testing.T) {
	prog := controlProg(t)
	for _, reported := range []bool{true, false} {
		d := startControl(t, Control{}, prog, "exec")
		o := ControlOptions{Execs: reported, PassSignals: map[unix.Signal]bool{unix.SIGUSR1: true, unix.SIGUSR2: true}}
		o.CatchSyscalls, o.Syscalls = reported, map[int]bool{unix.SYS_EXECVE: true}
		must(0, d.SetOptions(o))
		target := symbol(t, prog, "target")
		d.insert(target)
		if cpu.DebugRegisters() { // they are given back, too
			must(0, d.SetWatch(0, WatchExec, target, 1))
		}
		d.resumeAll()
		if reported {
			d.expect(StopSyscallEntry)
			d.resumeAll()
			s := d.expect(StopExec)
			if s.Path != prog || s.TID != d.Pid() {
				t.Errorf("%+v", s)
			}
			if d.HasBreak(target) {
				t.Error("there is a breakpoint")
			}
			d.resumeAll()
			if r := d.expect(StopSyscallReturn); r.Syscall != unix.SYS_EXECVE {
				t.Errorf("%+v", r)
			}
			if st := d.step(s.TID); st.Kind != StopStep {
				t.Errorf("%+v", st)
			}
			d.resumeAll()
		}
		d.expectEnd(0, "handled 2\n")
	}
}

// TestControlThreads: starts and ends of threads are reported.
func TestControlThreads(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "threads", "5", "10")
	must(0, d.SetOptions(ControlOptions{Threads: true}))
	d.resumeAll()
	born, died := map[int]bool{}, 0
	for s, ok := d.nextOrEnd(); ok; s, ok = d.nextOrEnd() {
		switch s.Kind {
		case StopCloned:
			born[s.TID] = true
			d.resume(Resumption{TID: s.TID})
		case StopThreadExit:
			died++
			if s.TID != d.Pid() && !born[s.TID] || s.Code != 0 {
				t.Errorf("%+v", s)
			}
		default:
			t.Fatalf("%+v", s)
		}
	}
	d.expectEnd(0, "bad 0\n")
	if len(born) != 5 || died != 6 {
		t.Errorf("%d born, %d died", len(born), died)
	}
}

// TestControlNoneRuns: a thread that ran alone ends; one that all end with is none.
func TestControlNoneRuns(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "threads", "2", "10")
	must(0, d.SetOptions(ControlOptions{Threads: true}))
	d.resumeAll()
	first, second := d.expect(StopCloned), d.expect(StopCloned)
	d.haltAll()
	must(0, d.SetOptions(ControlOptions{}))
	for _, s := range []Stop{first, second} {
		d.resume(Resumption{TID: s.TID})
		if end := d.expect(StopNoneRuns); end.TID != s.TID {
			t.Errorf("%+v", end)
		}
	}
	d.resumeAll()
	d.expectEnd(0, "bad 0\n")
	d = startControl(t, Control{}, prog, "threads", "2", "10")
	must(0, d.SetOptions(ControlOptions{Threads: true}))
	d.resumeAll()
	first = d.expect(StopCloned)
	d.haltAll()
	if s, ok := d.q.take(); ok && s.Kind != StopCloned { // the second may have been born before
		t.Errorf("%+v", s)
	}
	must(0, d.SetOptions(ControlOptions{}))
	d.resume(Resumption{TID: first.TID, Signal: unix.SIGTERM})
	if s, ok := d.nextOrEnd(); ok && s.Kind == StopSignal {
		d.resume(Resumption{TID: s.TID, Signal: s.Signal})
		s, ok = d.nextOrEnd()
		if ok {
			t.Errorf("%+v", s)
		}
	} else if ok {
		t.Errorf("%+v", s)
	}
	if st := d.Wait(); st.Signal != unix.SIGTERM {
		t.Errorf("%v", st)
	}
}

// TestControlAttach: an attach stops the process; it is detached from every kind of
// stop, and is not affected.
func TestControlAttach(t *testing.T) {
	for _, state := range []string{"attached", "running", "halted", "stepped", "break", "watch", "signal"} {
		t.Run(state, func(t *testing.T) {
			if state == "watch" && !cpu.DebugRegisters() {
				t.Skip(ErrNoDebugRegisters)
			}
			prog := controlProg(t)
			f := launchFree(t, prog, "sleeper")
			f.out.wait(t, "ready")
			pid := f.cmd.Process.Pid
			d := &debugged{t: t, q: newStopQueue()}
			d.Process = attach(t, pid, Config{Control: &Control{OnStop: d.q.put}})
			if list := d.ThreadList(); len(list) != 1 || !list[0].Stopped || list[0].Name == "" {
				t.Fatalf("%+v", list)
			}
			if b, err := d.Siginfo(pid); err != nil || b[0] != byte(unix.SIGSTOP) {
				t.Errorf("halted with %x, %v", b, err)
			}
			handled := 0
			switch state {
			case "running":
				d.resumeAll()
			case "halted":
				d.resumeAll()
				d.haltAll()
			case "stepped":
				d.resume(Resumption{TID: pid, Step: true}) // into the call, where it sleeps on
				d.haltAll()
			case "break", "watch":
				d.insert(symbol(t, prog, "handler"))
				if state == "watch" {
					must(0, d.SetWatch(2, WatchWrite, symbol(t, prog, "handled"), 8))
					d.remove(symbol(t, prog, "handler"))
				}
				d.resumeAll()
				must(0, unix.Kill(pid, unix.SIGUSR1))
				s := d.expect(StopSignal)
				d.resume(Resumption{TID: pid, Signal: s.Signal})
				d.next()
				handled = 1
			case "signal":
				d.resumeAll()
				must(0, unix.Kill(pid, unix.SIGUSR1))
				d.expect(StopSignal)
				handled = 1
			}
			must(0, d.Detach())
			fmt.Fprint(f.in, "x")
			// A call that a handler interrupts is made again (SA_RESTART).
			want := fmt.Sprintf("ready\nread 1 handled %d\n", handled)
			if err := f.cmd.Wait(); err != nil {
				t.Error(err)
			}
			if out := f.out.all(); out != want {
				t.Errorf("%q, want %q", out, want)
			}
		})
	}
}

// TestControlKilled: SIGKILL from elsewhere in every state.
func TestControlKilled(t *testing.T) {
	prog := controlProg(t)
	target := symbol(t, prog, "target")
	for _, state := range []string{"start", "running", "halted", "break", "over", "step", "forked", "caught"} {
		t.Run(state, func(t *testing.T) {
			verdict, hits := BreakStop, make(chan bool, 1)
			c := Control{OnBreak: func(int, uint64) BreakVerdict {
				select {
				case hits <- true:
				default:
				}
				return verdict
			}}
			mode := []string{"threads", "4", "100000000"}
			if state == "forked" {
				mode = []string{"forks"}
			}
			if state == "over" {
				verdict = BreakGo
			}
			d := startControl(t, c, append([]string{prog}, mode...)...)
			switch state {
			case "running":
				d.resumeAll()
			case "halted":
				d.resumeAll()
				d.haltAll()
			case "break":
				d.insert(target)
				d.resumeAll()
				for range 4 {
					d.expect(StopBreakpoint)
				}
			case "over":
				d.insert(target)
				d.resumeAll()
				<-hits
			case "step":
				d.insert(target)
				d.resumeAll()
				s := d.expect(StopBreakpoint)
				d.remove(target)
				d.resume(Resumption{TID: s.TID, Step: true, Hi: ^uint64(0)})
			case "forked":
				must(0, d.SetOptions(childrenPass()))
				d.resumeAll()
				d.expect(StopForked)
			case "caught":
				must(0, d.SetOptions(ControlOptions{CatchSyscalls: true}))
				d.resumeAll()
				d.expect(StopSyscallEntry)
			}
			must(0, unix.Kill(d.Pid(), unix.SIGKILL))
			if st := d.r.wait(); st.Signal != unix.SIGKILL {
				t.Errorf("%v", st)
			}
		})
	}
}

// TestControlAttachSignal: a signal that is pending at an attach is the reason of the
// thread's stop, and is not lost when the process is detached.
func TestControlAttachSignal(t *testing.T) {
	f := launchFree(t, controlProg(t), "relay")
	f.out.wait(t, "ready")
	pid := f.cmd.Process.Pid
	seen, tries := 0, 0
	for ; seen < 5 && tries < 2000; tries++ {
		d := &debugged{t: t, q: newStopQueue()}
		p, err := Attach(pid, Config{Control: &Control{OnStop: d.q.put}})
		if err != nil {
			t.Fatalf("attempt %d, signal seen %d times: %v", tries, seen, err)
		}
		d.Process = p
		if list := d.ThreadList(); len(list) != 1 || !list[0].Stopped {
			t.Fatalf("%+v", list)
		}
		for _, s := range d.First() {
			if s.Kind != StopSignal || s.TID != pid || s.Signal != unix.SIGUSR1 {
				t.Fatalf("%+v", s)
			}
			if b, err := d.Siginfo(pid); err != nil || b[0] != byte(unix.SIGUSR1) {
				t.Errorf("%x, %v", b, err)
			}
			seen++
		}
		if s, ok := d.q.take(); ok {
			t.Errorf("reported: %+v", s)
		}
		must(0, d.Detach())
	}
	t.Logf("%d of %d attempts", seen, tries)
	if seen < 5 {
		t.Errorf("a signal was seen in %d of %d attempts", seen, tries)
	}
	if st, err := sys.ReadStatus(pid); err != nil || st.State == 'Z' {
		t.Errorf("a signal was lost: %+v, %v", st, err)
	}
}
