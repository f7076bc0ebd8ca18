package process

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// startCloneChild runs testdata/clonechild.c up to where the clone has called target, or is stopped
// for another reason.
func startCloneChild(t *testing.T, mode string, o ControlOptions) (d *debugged, target uint64) {
	t.Helper()
	prog := build(t, "clonechild", "-no-pie")
	d = startControl(t, Control{}, prog, mode)
	must(0, d.SetOptions(o))
	target = symbol(t, prog, "target")
	d.insert(target)
	d.resumeAll()
	return d, target
}

// cloned waits for a clone, which goes on, and a stop of another thread, in any order.
func (d *debugged) cloned(other StopKind) (tid int) {
	d.t.Helper()
	for i := range 2 {
		s := d.next()
		switch {
		case s.Kind == StopCloned:
			tid = s.TID
			d.resume(Resumption{TID: tid})
		case s.Kind != other:
			d.t.Fatalf("stop %d: %+v", i, s)
		}
	}
	d.t.Cleanup(func() { _ = unix.Kill(tid, unix.SIGKILL) })
	return tid
}

// TestCloneChildShares: a clone that shares the memory is a thread among the others.
func TestCloneChildShares(t *testing.T) {
	d, target := startCloneChild(t, "shares", ControlOptions{})
	s := d.expect(StopBreakpoint)
	if r := d.regs(s.TID).General; s.TID == d.Pid() || r.PC() != target || r.CallArg(0) != 5 {
		t.Errorf("%+v %+v", s, r)
	}
	d.haltAll()
	list := d.ThreadList()
	if len(list) != 2 || list[0].TID != d.Pid() || list[0].Name == "" || list[1].TID != s.TID || list[1].Name != "" {
		t.Fatalf("%+v", list)
	}
	d.remove(target)
	if st := d.step(s.TID); st.Kind != StopStep || st.TID != s.TID || d.pc(s.TID) == target {
		t.Errorf("%+v", st)
	}
	d.resumeAll()
	d.expectEnd(0, "7 16\n")
}

// TestCloneChildAlone: the end or exec of a clone child that runs exclusively is reported to the tracer.
func TestCloneChildAlone(t *testing.T) {
	d, target := startCloneChild(t, "shares", ControlOptions{Threads: true})
	cloned := d.expect(StopCloned)
	d.resume(Resumption{TID: cloned.TID})
	d.expect(StopBreakpoint)
	d.haltAll()
	d.remove(target)
	d.resume(Resumption{TID: cloned.TID})
	if s := d.expect(StopThreadExit); s.TID != cloned.TID || s.Code != 7 {
		t.Errorf("%+v", s)
	}
	if s := d.expect(StopNoneRuns); s.TID != cloned.TID {
		t.Errorf("%+v", s)
	}
	d.resumeAll()
	d.expectEnd(0, "7 16\n")

	// A program that was executed ends with SIGCHLD, whatever the clone was to end with.
	d, _ = startCloneChild(t, "execs", ControlOptions{Threads: true, PassSignals: map[unix.Signal]bool{unix.SIGCHLD: true}})
	cloned = d.expect(StopCloned)
	d.haltAll()
	d.resume(Resumption{TID: cloned.TID})
	if s := d.expect(StopThreadExit); s.TID != cloned.TID {
		t.Errorf("%+v", s)
	}
	d.expect(StopNoneRuns)
	if list := d.ThreadList(); len(list) != 1 || list[0].TID != d.Pid() {
		t.Errorf("%+v", list)
	}
	d.resumeAll()
	d.expectEnd(0, "0 0\n")
}

// TestCloneChildCopy: a clone child with a copy of the memory has no breakpoint in it, and its
// signals are reported.
func TestCloneChildCopy(t *testing.T) {
	forks := 0
	prog := build(t, "clonechild", "-no-pie")
	d := startControlWith(t, Config{OnFork: func(*Stopped) { forks++ }}, Control{}, prog, "copy")
	must(0, d.SetOptions(allChildren)) // it is none
	d.insert(symbol(t, prog, "target"))
	d.resumeAll()
	s := d.expect(StopSignal)
	if s.TID == d.Pid() || s.Signal != unix.SIGUSR1 || forks != 1 {
		t.Errorf("%+v, %d copies", s, forks)
	}
	d.haltAll()
	pc := d.pc(s.TID)
	if st := d.step(s.TID); st.Kind != StopStep || st.TID != s.TID || d.pc(s.TID) == pc {
		t.Errorf("%+v at %#x", st, d.pc(s.TID))
	}
	d.resume(Resumption{TID: s.TID, Signal: unix.SIGUSR1}, Resumption{TID: d.Pid()})
	d.expectEnd(0, "-10 0\n")
}

// TestCloneChildOutlives: clone child that the process leaves behind, by its end or by exec, runs on
// by itself.
func TestCloneChildOutlives(t *testing.T) {
	for _, mode := range []string{"outlives", "replaced"} {
		d, target := startCloneChild(t, mode, ControlOptions{Threads: true, Execs: true})
		kind, want := StopBreakpoint, ExitStatus{Code: 3}
		if mode == "replaced" {
			kind, want = StopExec, ExitStatus{}
		}
		child := d.cloned(kind)
		if mode == "replaced" {
			if list := d.ThreadList(); len(list) != 1 || list[0].TID != d.Pid() {
				t.Errorf("%+v", list)
			}
		} else {
			d.remove(target)
		}
		d.resumeAll()
		if st := d.r.wait(); st != want {
			t.Errorf("%s: %v", mode, st)
		}
		if st, err := sys.ReadStatus(child); err != nil || st.Tracer != 0 || st.State == 'Z' {
			t.Errorf("%s: clone child %+v, %v", mode, st, err)
		}
	}
}

// TestCloneChildKilled: Kill ends clone child too, Detach lets it go.
func TestCloneChildKilled(t *testing.T) {
	for _, detach := range []bool{false, true} {
		d, _ := startCloneChild(t, "outlives", ControlOptions{Threads: true})
		child := d.cloned(StopBreakpoint)
		if detach {
			must(0, d.Detach())
			if st, err := sys.ReadStatus(child); err != nil || st.Tracer != 0 {
				t.Errorf("detached: clone child %+v, %v", st, err)
			}
			continue
		}
		must(0, d.Kill())
		if s := stateOf(child, "ZX\x00"); s != 0 && s != 'Z' && s != 'X' {
			t.Errorf("killed: the clone child is in state %c", s)
		}
	}
}
