package process

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Control is what the caller decides about a process under run control. All functions
// are called on the tracer's goroutine: they must be quick and must not block.
// Those that are nil decide nothing.
//
// Run control does not restrict the rest of this package: while threads are held for the caller, the world
// can be stopped, calls can be injected and code can be patched.
type Control struct {
	// OnStop reports that a thread is stopped, and why. It is held until ResumeThreads.
	OnStop func(Stop)
	// OnBreak is asked when a thread comes to a breakpoint of InsertBreak, whose
	// address the pc is already. nil: BreakStop.
	OnBreak func(tid int, addr uint64) BreakVerdict
	// OnStepped is asked after each single step that BreakStep or StepInternally began; with again one more
	// is made. What the thread was doing (running, or stepping for the user) continues after it.
	OnStepped func(tid int) (again bool)
	// Where classifies a pc in generated code. nil: there is no generated code.
	Where func(pc uint64) Code
}

// What run control is about; see package runcontrol.
type (
	BreakVerdict   = runcontrol.BreakVerdict
	Code           = runcontrol.Code
	StopKind       = runcontrol.StopKind
	Stop           = runcontrol.Stop
	Resumption     = runcontrol.Resumption
	ControlOptions = runcontrol.Options
	WatchKind      = runcontrol.WatchKind
)

// The verdicts about a thread at a breakpoint.
const (
	BreakStop = runcontrol.BreakStop
	BreakGo   = runcontrol.BreakGo
	BreakStep = runcontrol.BreakStep
	BreakPast = runcontrol.BreakPast
)

// The kinds of stops.
const (
	StopSignal        = runcontrol.StopSignal
	StopHalted        = runcontrol.StopHalted
	StopBreakpoint    = runcontrol.StopBreakpoint
	StopHardwareBreak = runcontrol.StopHardwareBreak
	StopWatch         = runcontrol.StopWatch
	StopStep          = runcontrol.StopStep
	StopForked        = runcontrol.StopForked
	StopVForked       = runcontrol.StopVForked
	StopVForkDone     = runcontrol.StopVForkDone
	StopExec          = runcontrol.StopExec
	StopCloned        = runcontrol.StopCloned
	StopSyscallEntry  = runcontrol.StopSyscallEntry
	StopSyscallReturn = runcontrol.StopSyscallReturn
	StopThreadExit    = runcontrol.StopThreadExit
	StopNoneRuns      = runcontrol.StopNoneRuns
)

// What debug registers wait for.
const (
	WatchExec   = runcontrol.WatchExec
	WatchWrite  = runcontrol.WatchWrite
	WatchAccess = runcontrol.WatchAccess
)

// ThreadInfo is a thread of a process.
type ThreadInfo struct {
	TID     int
	Name    string // "" of a clone child: it is the name of another process
	Core    int    // the CPU that it ran on last; -1: not known
	Stopped bool   // its registers can be read
}

// control is the tracer's state of a process under run control. The rules are
// those of the machine; the bytes below breakpoints are in space.Breaks.
type control struct {
	Control
	machine         *runcontrol.Machine[*task]
	collect         *[]Stop // HaltAll takes the stops; nil: they are reported
	first           []Stop  // those of Attach
	births          int
	learnt          bool // the actions of the guarded signals were read
	asking          int  // the thread that a decision is asked for; 0: none
	exclusiveQueued bool // work is in waiter.late
}

func newControl(c *Control, t *tracer) *control {
	if c == nil {
		return nil
	}
	m := runcontrol.New(t.threads, runcontrol.View[*task](view{t}))
	m.Asks, m.Self = c.OnStepped != nil, os.Getpid()
	return &control{Control: *c, machine: m}
}

// view is what the machine sees of threads.
type view struct{ *tracer }

// Regs implements runcontrol.View.
func (v view) Regs(t *task) (r runcontrol.Regs, ok bool) {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return r, false
	}
	return runcontrol.Regs{PC: regs.PC(), SP: regs.SP(), Call: regs.Call(), Restarts: sys.Restarts(&regs), TrapFlag: trapFlag(&regs)}, true
}

// Where implements runcontrol.View.
func (v view) Where(pc uint64) Code {
	if v.ctl == nil || v.ctl.Control.Where == nil {
		return Code{}
	}
	return v.ctl.Control.Where(pc)
}

// Insn implements runcontrol.View.
func (v view) Insn(addr uint64) runcontrol.Insn { return v.stepper.insnAt(addr) }

// Waits implements runcontrol.View.
func (v view) Waits(t *task) bool { return pendingFault(t.TID) }

// Int3 implements runcontrol.View.
func (v view) Int3(addr uint64) bool { return v.breakpoints.isInt3(addr) }

// controlled reports whether t is under run control: not a child on its way out,
// nor one that borrows the memory.
func (p *debugger) controlled(t *task) bool { return p.ctl != nil && p.threads.Listed(t) }

// ask lets the caller decide about a thread.
func (c *control) ask(tid int, f func()) {
	was := c.asking
	c.asking = tid
	f()
	c.asking = was
}

// stopFor holds a thread for a reason.
func (p *debugger) stopFor(t *task, why Stop) { p.execute(p.ctl.machine.StopFor(t, why)) }

// inside reports whether a thread is where it cannot be shown.
func (p *debugger) inside(t *task) bool {
	return p.ctl.Where != nil && p.ctl.machine.Inside(t)
}

// execute performs the machine's requests, in order.
func (p *debugger) execute(do []runcontrol.Effect[*task]) {
	for _, e := range do {
		if p.ctl == nil {
			return // let go by what was asked or reported
		}
		if !p.executeThread(e) {
			p.executeNext(e)
		}
	}
}

// executeThread does what changes a thread.
func (p *debugger) executeThread(e runcontrol.Effect[*task]) bool {
	switch t := e.T; e.Op {
	case runcontrol.SetPC:
		var regs Regs
		if sys.GetRegs(t.TID, &regs) == nil { // else it is dying, here and below
			regs.SetPC(e.Addr)
			_ = sys.SetRegs(t.TID, &regs)
		}
	case runcontrol.Repair:
		p.dispositions.repair(t, unix.SIGTRAP)
	case runcontrol.FixStep:
		p.stepper.fixStep(t, e.Insn)
	case runcontrol.ClearTrapFlag:
		clearTrapFlag(t.TID)
	case runcontrol.ClearWatch:
		_ = sys.PokeDebug(t.TID, sys.DR6, 0)
	case runcontrol.SetWatches:
		_ = p.breakpoints.setWatches(t)
	case runcontrol.Interrupt:
		_ = sys.Interrupt(t.TID)
	case runcontrol.SetInfo:
		_ = sys.SetSiginfo(t.TID, &e.Signal.Info)
	case runcontrol.SendAgain:
		if unix.Tgkill(t.TGID, t.TID, e.Signal.Sig) == nil {
			t.dbg.Sent = append(t.dbg.Sent, e.Signal)
		}
	default:
		return false
	}
	return true
}

// executeNext asks and reports, and passes the results to the machine as its next event.
func (p *debugger) executeNext(e runcontrol.Effect[*task]) {
	m := p.ctl.machine
	switch t := e.T; e.Op {
	case runcontrol.AskBreak:
		if p.linker.modules.addr == e.Addr {
			p.linker.modulesReached(t)
		}
		verdict := BreakStop
		if p.ctl.OnBreak != nil {
			p.ctl.ask(t.TID, func() { verdict = p.ctl.OnBreak(t.TID, e.Addr) })
		}
		p.execute(m.Verdict(t, e.Addr, verdict))
	case runcontrol.AskStepped:
		again := false
		p.ctl.ask(t.TID, func() { again = p.ctl.OnStepped(t.TID) })
		p.execute(m.Stepped(t, again))
	case runcontrol.Emulate:
		var regs Regs
		if sys.GetRegs(t.TID, &regs) == nil && p.breakpoints.emulateAt(t, &regs, e.Addr) {
			p.execute(m.Executed(t))
			return
		}
		p.execute(m.StepOver(t, e.Addr))
	case runcontrol.FlushFault:
		p.threads.Frozen++
		p.world.flushFault(t)
		p.threads.Frozen--
		p.execute(m.HaltFlushed(t))
	case runcontrol.Report:
		p.driver.noteFS(t)
		p.report(e.Stop)
	case runcontrol.QueueExclusive:
		p.exclusive.queueExclusive()
	case runcontrol.Then:
		p.execute(e.Next(t))
	}
}

// report hands a stop to HaltAll, if that is under way, or to the caller.
func (p *debugger) report(s Stop) {
	switch {
	case p.ctl.collect != nil:
		*p.ctl.collect = append(*p.ctl.collect, s)
	case p.ctl.OnStop != nil:
		p.ctl.OnStop(s)
	}
}

// request is how a thread under run control is resumed.
func (p *debugger) request(t *task) sys.How {
	how, do := p.ctl.machine.Go(t)
	p.execute(do)
	return how
}

// SetOptions says which events stop threads from now on.
func (p *Process) SetOptions(o ControlOptions) error {
	return p.controlDo(func() error {
		m := p.ctl.machine
		catch := m.Options.CatchSyscalls
		m.Options = o
		if o.CatchSyscalls != catch {
			return p.world.touchAll()
		}
		return nil
	})
}

// touchAll stops and resumes every running thread, so that changed options take effect at the resume.
func (p *world) touchAll() error {
	defer p.thaw()
	return p.freeze()
}

// controlDo is do for what needs run control.
func (p *tracer) controlDo(f func() error) error {
	return p.do(func() error {
		if p.ctl == nil {
			panic("BUG: process: run control of a process without Config.Control")
		}
		return f()
	})
}
