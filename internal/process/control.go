package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Control is what the caller decides about a process under run control. All functions
// are called on the tracer's goroutine: they must be quick and must not block.
// Those that are nil decide nothing.
//
// Run control comes on top of everything else that this package does: while
// threads are held for the caller, the world can be stopped, calls injected and
// code patched as ever.
type Control struct {
	// OnStop reports that a thread is stopped, and why. It is held until ResumeThreads.
	OnStop func(Stop)
	// OnBreak is asked when a thread comes to a breakpoint of InsertBreak, whose
	// address the pc is already. nil: BreakStop.
	OnBreak func(tid int, addr uint64) BreakVerdict
	// OnStepped is asked after each single step that BreakStep or StepInternally
	// began; with again one more is made. Whatever else the thread does (run, or
	// step for the user) goes on behind it.
	OnStepped func(tid int) (again bool)
	// Where says what a pc in generated code means. nil: there is none.
	Where func(pc uint64) Code
}

// BreakVerdict says what becomes of a thread at a breakpoint.
type BreakVerdict uint8

// The verdicts.
const (
	BreakStop BreakVerdict = iota // it stops, reported by OnStop
	BreakGo                       // it executes the instruction and goes on
	BreakStep                     // as BreakGo, with OnStepped after it
	BreakPast                     // the int3 below is not executed: it goes on behind it
)

// Code says what a pc in generated code means.
type Code struct {
	In       bool   // the pc is in generated code
	Boundary bool   // it is exactly before the copy of a displaced instruction
	Orig     uint64 // Boundary: the address of that instruction in the program
	// Back: there is no copy at the boundary, but the jump back to Orig itself.
	Back bool
	// Stops are the boundaries that a thread inside reaches next without executing
	// an instruction of the program, or by finishing the present one. None: it is
	// led out by single steps.
	Stops []uint64
}

// StopKind is why a thread is stopped.
type StopKind uint8

// The kinds of Stop.
const (
	StopSignal        StopKind = iota // Signal is about to be delivered
	StopHalted                        // it was asked to
	StopBreakpoint                    // at the breakpoint of InsertBreak at Addr
	StopHardwareBreak                 // at the hardware breakpoint of Slot at Addr
	StopWatch                         // the data at Addr, watched by Slot, were accessed
	StopStep                          // the step, or the stepped range, is done
	StopForked                        // Child, a copy of the process, is stopped too
	StopVForked                       // Child, which shares the memory, is stopped too
	StopVForkDone                     // the child of a vfork has left the memory
	StopExec                          // it is another program, Path
	StopCloned                        // it is new
	StopSyscallEntry                  // it is about to make system call Syscall
	StopSyscallReturn                 // it has made system call Syscall
	StopThreadExit                    // it ends, with Code or by Signal; it is not held
	StopNoneRuns                      // it has ended, and all others are stopped; it is not held
)

// Stop reports a thread that is stopped.
type Stop struct {
	Kind    StopKind
	TID     int
	Signal  unix.Signal
	Addr    uint64
	Slot    int
	Child   int
	Path    string
	Syscall int
	Code    int
}

// Resumption lets one thread go on.
type Resumption struct {
	TID int
	// Step: single-step. With Hi != 0 until the pc leaves [Lo, Hi).
	Step   bool
	Lo, Hi uint64
	// Signal is delivered; 0: none, also not the one that the thread is stopped with.
	Signal unix.Signal
}

// ControlOptions say which events of a process under run control make a thread
// stop. Without them the process handles them as one that is not.
type ControlOptions struct {
	Forks, VForks, Execs bool
	Threads              bool // StopCloned and StopThreadExit
	// PassSignals are delivered without a stop, but to threads that step: a step
	// would end in the handler.
	PassSignals map[unix.Signal]bool
	// CatchSyscalls reports the calls in Syscalls; all of them where it is empty.
	CatchSyscalls bool
	Syscalls      map[int]bool
}

// ThreadInfo is a thread of a process.
type ThreadInfo struct {
	TID     int
	Name    string // "" of a clone child: it is the name of another process
	Core    int    // the CPU that it ran on last; -1: not known
	Stopped bool   // its registers can be read
}

// control is what the tracer's goroutine knows of a process under run control.
type control struct {
	Control
	opt             ControlOptions
	user            map[uint64]bool // addresses of InsertBreak; the bytes below are in space.breaks
	removed         map[uint64]bool // where a breakpoint was: a hit may be on its way still
	watches         [watchSlots]watch
	gen             int     // counts changes of watches
	collect         *[]Stop // HaltAll takes the stops; nil: they are reported
	first           []Stop  // those of Attach
	births          int
	learnt          bool // the actions of the guarded signals were read
	asking          int  // the thread that a decision is asked for; 0: none
	exclusiveQueued bool // work is in Process.late
}

// stopState is what run control knows of a thread.
type stopState struct {
	birth    int
	leaves   bool // asked to halt
	step     bool // for the user, until the pc leaves [lo, hi)
	lo, hi   uint64
	inner    bool     // internal single steps, see OnStepped
	from     uint64   // the pc, as shown, where the present step began
	copyAt   uint64   // where in generated code the copy of the instruction at from is; 0: in the program itself
	back     bool     // at copyAt is no more than a jump to from
	stepping bool     // resumed last by PTRACE_SINGLESTEP, and its trap may still come
	insn     insnKind // the instruction of that step
	at       uint64   // its address
	ownFlag  bool     // the program had set the trap flag itself
	stepDone bool     // a step is made, and not looked at yet

	why     *Stop  // to be reported as soon as the thread's pc is a user address
	pending []Stop // came while it was stopped already: reported when it is resumed
	kept    *kept  // the signal of StopSignal, not delivered yet
	made    []kept // sent again, to be recognised at their delivery
	late    []kept // came during the thread's exclusive step

	over      uint64         // breakpoint to step over, exclusively; 0: none
	exclusive *exclusiveStep // the exclusive step that it is making; nil: none
	again     again
	call      bool // run to the exit of the system call that it is in
	gen       int  // of the watchpoints that it has

	halted bool // stopped because it was asked to, or attached to
	exited bool // StopThreadExit was reported
	entry  bool // the last syscall-stop was that of an entry
}

// kept is a signal that was taken from a thread, to be delivered later.
type kept struct {
	sig        unix.Signal
	info       sys.Siginfo
	unreported bool // it was not reported yet
}

// again is a breakpoint that a thread has hit without executing its instruction
// yet: when it comes there again that is the same hit.
type again struct{ addr, sp uint64 }

func newControl(c *Control) *control {
	if c == nil {
		return nil
	}
	return &control{Control: *c, user: map[uint64]bool{}, removed: map[uint64]bool{}}
}

// controlled reports whether t is under run control: not a child on its way out,
// nor one that borrows the memory.
func (p *debugger) controlled(t *task) bool { return p.ctl != nil && p.threads.Listed(t) }

// ask has the caller decide about a thread.
func (c *control) ask(tid int, f func()) {
	was := c.asking
	c.asking = tid
	f()
	c.asking = was
}

// where is Control.Where.
func (p *debugger) where(pc uint64) Code {
	if p.ctl == nil || p.ctl.Where == nil {
		return Code{}
	}
	return p.ctl.Where(pc)
}

// shown is the pc as the program has it.
func (p *debugger) shown(pc uint64) uint64 {
	if c := p.where(pc); c.In && c.Boundary {
		return c.Orig
	}
	return pc
}

// stopFor holds a thread for a reason. One that is in the midst of generated code is
// led out first.
func (p *debugger) stopFor(t *task, why Stop) {
	d := &t.dbg
	why.TID = t.TID
	if d.why != nil {
		d.pending = append(d.pending, why)
		return
	}
	d.why = &why
	if d.exclusive != nil {
		return // reported when it is done
	}
	if p.inside(t) {
		p.exclusive.needExclusive(t)
		return
	}
	p.reportStop(t)
}

// inside reports whether a thread is where it cannot be shown.
func (p *debugger) inside(t *task) bool {
	var regs Regs
	if p.ctl.Where == nil || t.Copy || sys.GetRegs(t.TID, &regs) != nil {
		return false
	}
	c := p.where(regs.PC())
	return c.In && !c.Boundary
}

// reportStop reports why a thread is stopped.
func (p *debugger) reportStop(t *task) {
	d := &t.dbg
	why := *d.why
	d.why = nil
	if t.Hold&threads.HoldDebug != 0 {
		d.pending = append(d.pending, why)
		return
	}
	t.Hold |= threads.HoldDebug
	d.step, d.leaves, d.halted = false, false, why.Kind == StopHalted
	p.driver.noteFS(t)
	p.report(why)
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

// SetOptions says which events stop threads from now on.
func (p *Process) SetOptions(o ControlOptions) error {
	return p.controlDo(func() error {
		catch := p.ctl.opt.CatchSyscalls
		p.ctl.opt = o
		if o.CatchSyscalls != catch {
			return p.world.touchAll()
		}
		return nil
	})
}

// touchAll makes every running thread stop and go on, so that what resume does
// takes effect.
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
