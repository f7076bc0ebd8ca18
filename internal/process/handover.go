package process

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// handover is a child between two tracers.
//
// With ptrace a tracee has one thread as its tracer, and runs when that detaches. So that the child executes
// nothing of the program meanwhile, it is put into a poll(2) without descriptors, with all signals blocked,
// and the new tracer restores its registers and mask. Unlike a SIGSTOP, neither the child nor its parent can
// notice this. The call runs from a recovery stub in the child: if jalon is killed, the child continues by
// itself when the call ends.
type handover struct {
	pid  int
	stub uint64
	regs Regs
	mask uint64
}

// handOver puts the child into that call and detaches from it.
func (p *handovers) handOver(t *task) (h handover, err error) {
	h.pid = t.TID
	if err := p.world.settle(t); err != nil {
		return h, err
	}
	st, err := sys.ReadStatus(t.TID)
	if err != nil {
		return h, sys.ErrThreadGone
	}
	if st.Seccomp != 0 {
		return h, errors.New("it is under a seccomp filter, which could kill it for a call of ours")
	}
	if err := sys.GetRegs(t.TID, &h.regs); err != nil {
		return h, err
	}
	if h.mask, err = sys.GetSigmask(t.TID); err != nil {
		return h, err
	}
	sp := inject.Open(t.TGID)
	defer sp.Close()
	stub := append(inject.Stub()[:inject.StubData], inject.Recovery(h.regs, h.mask)...)
	if h.stub, err = sp.TakeSlack(stub, inject.StubData, func(lo, hi uint64) bool { return false }); err != nil {
		return h, err
	}
	regs := h.regs
	regs.SetPause(h.stub, handoverLimit)
	if err := sys.SetRegs(t.TID, &regs); err != nil {
		return h, err
	}
	if err := sys.SetSigmask(t.TID, ^uint64(0)); err != nil { // after the registers: now the stub would run
		return h, err
	}
	t.Sig = 0
	p.children.forget(t)
	return h, nil
}

// takeOver is the new tracer's part.
func (p *handovers) takeOver(h handover) (*task, error) {
	if err := sys.Seize(h.pid, sys.Options); err != nil {
		return nil, err
	}
	t := p.threads.Add(threads.Thread{TID: h.pid, TGID: h.pid, State: threads.Running})
	p.world.interrupt(t)
	ws, err := p.waits.await(t)
	if err != nil {
		return nil, err
	}
	t.State, t.Asked, t.Stop = threads.Stopped, false, threads.StopTrap
	if sig := sys.SignalOf(ws); sig != unix.SIGTRAP {
		t.Stop = threads.StopGroup
	}
	return t, h.giveBack()
}

// handoverLimit is much longer than a new tracer takes. A child that has waited so long
// has its registers back, and may be anywhere.
const handoverLimit = 30 * time.Second

// giveBack restores the registers and mask of a stopped child and removes the stub.
func (h *handover) giveBack() error {
	var regs Regs
	if err := sys.GetRegs(h.pid, &regs); err != nil {
		return err
	}
	if regs.PC()-h.stub < inject.StubData {
		// In this order: after each step the stub or the kernel would do the rest.
		if err := sys.SetSigmask(h.pid, h.mask); err != nil {
			return err
		}
		if err := sys.SetRegs(h.pid, &h.regs); err != nil {
			return err
		}
	}
	sp := inject.Open(h.pid)
	defer sp.Close()
	sp.Stub = h.stub
	sp.DropStub()
	return nil
}

// TakeChild makes a child of StopForked or StopVForked a separate Process, which is stopped. Breakpoints and
// watchpoints are in it as in its parent; the caller restores its own patches. While a child borrows the
// memory, a breakpoint of one of the two is not known to the other, and detaching from the child leaves the
// memory as it is.
func (p *Process) TakeChild(pid int, cfg Config) (*Process, error) {
	op := fmt.Sprintf("take over process %d", pid)
	var h handover
	var legacy *inheritance
	var was task
	err := p.controlDo(func() error {
		t, err := p.children.heldChild(pid)
		if err != nil {
			return err
		}
		was, legacy = *t, p.handovers.inheritanceOf(t)
		h, err = p.handovers.handOver(t)
		return err
	})
	if sys.Gone(err) {
		return nil, ErrGone
	} else if err != nil {
		return nil, access(op, err)
	}
	child, err := launch(cfg, func(c *Process) error {
		c.setPid(pid)
		t, err := c.handovers.takeOver(h)
		if err != nil {
			return err
		}
		c.handovers.inherit(t, legacy)
		return nil
	})
	if err == nil {
		return child, nil
	}
	_ = p.do(func() error { // it stays with us
		if t, err := p.handovers.takeOver(h); err == nil {
			t.TGID, t.Copy, t.Hold, t.dbg = was.TGID, was.Copy, was.Hold, was.dbg
		}
		return nil
	})
	if sys.Gone(err) {
		return nil, ErrGone
	}
	return nil, access(op, err)
}

// inheritance describes our changes in a child's memory, and what is known of its signals.
type inheritance struct {
	space         *inject.Workspace // of the parent; breaks only
	user          map[uint64]bool
	watches       [runcontrol.WatchSlots]runcontrol.Watch
	modules       modules
	trap          trapHandler
	faultHandlers map[unix.Signal]trapHandler
	actions       map[unix.Signal]sigaction
	left          func() // nil, or for a child that borrows the memory: it has left it
}

func (p *handovers) inheritanceOf(t *task) *inheritance {
	l := &inheritance{
		space: &inject.Workspace{Space: &memory.Space{Breaks: maps.Clone(p.space.Breaks)}, Stub: p.space.Stub}, user: maps.Clone(p.ctl.machine.Breaks),
		watches: p.ctl.machine.Watches,
		modules: p.linker.modules, trap: p.dispositions.trap, faultHandlers: maps.Clone(p.dispositions.faultHandlers), actions: maps.Clone(p.dispositions.actions),
	}
	if pid := t.TID; !t.Copy {
		l.left = func() {
			go func() { // the other tracer may wait for this one
				_ = p.do(func() error { p.children.leavesMemory(pid); return nil }) // ErrGone: no parent waits any more
			}()
		}
	}
	return l
}

// inherit applies it to a process that was just taken over.
func (p *handovers) inherit(t *task, l *inheritance) {
	p.space = inject.Open(t.TGID)
	p.space.Breaks = l.space.Breaks
	if l.left == nil { // in borrowed memory the stub is the parent's tracer's
		p.space.InheritStub(l.space)
	}
	p.linker.modules, p.dispositions.trap, p.dispositions.faultHandlers, p.dispositions.actions, p.leftBorrowed = l.modules, l.trap, l.faultHandlers, l.actions, l.left
	t.Hold = threads.HoldCaller
	if p.ctl != nil {
		t.Hold = threads.HoldDebug
		p.ctl.machine.Breaks, p.ctl.learnt = l.user, len(l.actions) > 0
		p.ctl.machine.Watches, p.ctl.machine.Gen = l.watches, 1 // the kernel has not given them to it
	} else if l.left == nil {
		for addr := range l.user {
			if addr != p.linker.modules.addr {
				_ = p.space.WriteRaw(addr, []byte{p.space.Breaks[addr]}) // an error: it is gone
				delete(p.space.Breaks, addr)
			}
		}
	}
	if p.cfg.OnModules == nil && l.left == nil {
		p.threads.Frozen++
		p.linker.modulesDisarm(p.space)
		p.threads.Frozen--
	}
	p.driver.reportBorn(t)
}

// leftMemory: a process that used another's memory has its own now, or is not traced any more.
func (p *handovers) leftMemory() {
	if f := p.leftBorrowed; f != nil {
		p.leftBorrowed = nil
		p.space.DropStub() // at exit; newImage has done it before exec
		f()
	}
}

// leaveBorrowed detaches from a frozen process that uses its parent's memory, whose contents remain
// unchanged.
func (p *detacher) leaveBorrowed() {
	p.debugger.endControl()
	_ = p.injector.End() // an error: it is dying
	p.space.DropStub()
	for _, t := range p.threads.All() {
		if t.State == threads.Stopped {
			p.children.forget(t)
		}
	}
	p.threads.Frozen--
	p.driver.finish(ExitStatus{Detached: true})
}
