package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// injection is a thread that was borrowed to run system calls. It stays in the
// syscall-stop between calls; endInjection gives everything back. One is open
// only inside Stopped and OnFork, or within one function here.
//
// How a call runs, and why the program does not notice:
//
//  1. The thread is in PTRACE_EVENT_STOP, or in a delivery-stop whose signal is
//     suppressed: between two instructions, on its way out of the kernel.
//  2. Its registers and signal mask are saved, here and in the process, behind the
//     recovery stub (stub.go: for the case that jalon is killed before it can put
//     them back). Nothing of the program reads there.
//  3. pc := the syscall instruction of the stub, the call's number := -1 (Regs.setCall), so
//     that the kernel does not restart the call that the thread was in. All signals are blocked: none is
//     taken from the queue meanwhile. (SIGSYS stays open: a sandbox's answer.)
//  4. PTRACE_SYSCALL twice: entry-stop, exit-stop. The call has its result.
//  5. The saved registers are put back, the call's number and -ERESTART* too. The kernel
//     looks at these only when it has a signal to look at. PTRACE_INTERRUPT and
//     PTRACE_CONT make one: the thread stops in PTRACE_EVENT_STOP again, where it
//     was, and restarts its call when it is resumed. The restart block of a
//     sleep is not touched by the calls that are injected here.
type injection struct {
	t      *task
	sp     *space
	regs   Regs
	mask   uint64
	masked bool // all signals are blocked
	rest   bool // its seccomp filters rest meanwhile
	restop bool // a SIGSTOP came meanwhile: it cannot be blocked, and is sent again
}

var errBusy = errors.New("the thread cannot run a system call now")

// inject runs a system call in t, which must be stopped. A negative result is
// returned as unix.Errno.
func (p *injector) inject(t *task, sp *space, nr uint64, args ...uint64) (uint64, error) {
	if p.inj != nil && p.inj.t != t {
		if err := p.endInjection(); err != nil {
			return 0, err
		}
	}
	if p.inj == nil {
		if err := p.beginInjection(t, sp); err != nil {
			return 0, err
		}
	}
	regs := p.inj.regs
	regs.SetCall(sp.stub, nr, args...)
	if err := sys.SetRegs(t.TID, &regs); err != nil {
		p.dropInjection()
		return 0, err
	}
	if !p.inj.masked { // after the registers: from here on the stub would run
		if err := sys.SetSigmask(t.TID, ^sys.SigBit(unix.SIGSYS)); err != nil {
			p.dropInjection()
			return 0, err
		}
		p.inj.masked = true
	}
	if err := p.runCall(t); err != nil {
		if sys.Gone(err) {
			p.dropInjection()
		}
		return 0, err
	}
	if err := sys.GetRegs(t.TID, &regs); err != nil {
		p.dropInjection()
		return 0, err
	}
	result := regs.CallResult()
	if e := -result; e > 0 && e < 4096 {
		return 0, unix.Errno(e)
	}
	return uint64(result), nil
}

// runCall lets t run from before a syscall instruction to its exit-stop.
func (p *injector) runCall(t *task) error {
	for calls := 0; calls < 2; {
		if err := sys.Resume(t.TID, sys.ToCall, 0); err != nil {
			return err
		}
		t.State = threads.Running
		ws, err := p.waits.await(t)
		if err != nil {
			return err
		}
		t.State, t.Stop, t.Sig = threads.Stopped, threads.StopCall, 0
		sig := sys.SignalOf(ws)
		switch {
		case sig == sys.Sysgood:
			calls++
		case sys.EventOf(ws) != 0:
			// An interrupt that was still pending, or SIGCONT's notice.
		case sig == unix.SIGSTOP:
			p.inj.restop = true
		case sig == unix.SIGSYS:
			return unix.ENOSYS // a seccomp filter, or syscall user dispatch
		default:
			return fmt.Errorf("an injected system call ended in %s", signalName(sig))
		}
	}
	return nil
}

func (p *injector) beginInjection(t *task, sp *space) error {
	if !(t.State == threads.Stopped && (t.Stop == threads.StopSignal && t.Sig == 0 || t.Stop == threads.StopTrap || t.Stop == threads.StopGroup)) {
		if err := p.world.settle(t); err != nil {
			return err
		}
	}
	rest, err := p.mayInject(t)
	if err != nil {
		return err
	}
	inj := &injection{t: t, sp: sp, rest: rest}
	if err := sys.GetRegs(t.TID, &inj.regs); err != nil {
		return err
	}
	leaveRseq(t, sp, &inj.regs)
	mask, err := sys.GetSigmask(t.TID)
	if err != nil {
		return err
	}
	inj.mask = mask
	if err := p.needStub(sp); err != nil {
		return err
	}
	if rest {
		if err := p.mustRecover(t, sp.stub); err != nil {
			_ = sys.SetOptions(t.TID, sys.Options) // ESRCH: dying
			return err
		}
	}
	if err := sp.WriteRaw(sp.stub+stubData, inj.recovery()); err != nil {
		return err
	}
	p.inj = inj
	return nil
}

// endInjection gives the borrowed thread back.
func (p *injector) endInjection() error {
	inj := p.inj
	if inj == nil {
		return nil
	}
	t := inj.t
	p.dropInjection()
	if inj.rest {
		_ = sys.SetOptions(t.TID, sys.Options) // ESRCH: dying
	}
	if inj.restop {
		_ = unix.Kill(t.TGID, unix.SIGSTOP)
	}
	// In this order a thread whose jalon is killed in between comes out right: by
	// the recovery stub before its registers are back, by the kernel afterwards,
	// which wakes it as if it had a signal.
	for _, err := range []error{
		sys.SetSigmask(t.TID, inj.mask), sys.SetRegs(t.TID, &inj.regs),
		sys.Interrupt(t.TID), sys.Cont(t.TID, 0),
	} {
		if err != nil {
			return err
		}
	}
	t.State, t.Asked = threads.Running, true
	ws, err := p.waits.await(t)
	if err != nil {
		return err
	}
	p.threads.Frozen++
	defer func() { p.threads.Frozen-- }()
	p.driver.handleStop(t.TID, ws)
	return nil
}

func (p *injector) dropInjection() { p.inj = nil }

// leaveRseq does what the kernel does for a thread that was stopped inside a
// restartable sequence (rseq(2)): sends it to the abort handler. Else the kernel
// would look at the injected pc, find it outside, and let the sequence go on
// though it was interrupted.
func leaveRseq(t *task, sp *space, regs *Regs) {
	conf, ok := sys.GetRseq(t.TID)
	if !ok {
		return // before Linux 5.13, or none registered
	}
	start, length, abort, ok := sequenceAt(sp, conf.Addr)
	if !ok {
		return
	}
	if regs.PC()-start >= length {
		return
	}
	// The pointer to the sequence stays: the kernel clears it when it finds the thread
	// outside. Cleared here it would not abort the sequence if jalon were killed now.
	regs.SetPC(abort)
}

// pick chooses the thread that an injected call disturbs least, of the process
// or, for a child on its way out, the only one.
func (p *injector) pick(sp *space, only *task) (*task, error) {
	if only != nil {
		return only, nil
	}
	if p.inj != nil && p.inj.sp == sp {
		return p.inj.t, nil
	}
	if t := p.threads.Get(p.borrowed); t != nil && p.suitability(t) >= wellSuited {
		if st, err := sys.ReadStatus(t.TID); err == nil && st.Seccomp != seccompStrict {
			return t, nil
		}
	}
	strict := map[*task]bool{}
	for {
		var best *task
		rank := 0
		for _, t := range p.threads.All() {
			if r := p.suitability(t); !strict[t] && (r > rank || r == rank && best != nil && t.TID < best.TID) {
				best, rank = t, r
			}
		}
		switch {
		case best != nil:
			st, err := sys.ReadStatus(best.TID)
			if err != nil || st.Seccomp != seccompStrict {
				p.borrowed = best.TID
				return best, nil
			}
			strict[best] = true // its only calls are its own
		case p.allDying():
			return nil, sys.ErrThreadGone
		case len(strict) > 0:
			return nil, p.strict()
		default:
			return nil, p.noneFree()
		}
	}
}

// noneFree says why there is no thread to borrow.
func (p *injector) noneFree() error {
	e := &fail.Error{Op: fmt.Sprintf("run a system call in process %d", p.pid), Err: errors.New("no thread can be stopped for it"), Remedy: "try again"}
	for _, t := range p.threads.All() {
		if p.threads.Member(t) && t.State == threads.Stopped && t.Hold&threads.HoldDebug != 0 {
			e.Err = errors.New("its threads stand in the middle of system calls of their own")
			e.Remedy = "let one of them go on to its return"
		}
	}
	return e
}

// allDying: after SIGKILL stopped threads are no longer to be spoken to.
func (p *injector) allDying() bool {
	for _, t := range p.threads.All() {
		var regs Regs
		if p.threads.Member(t) && (t.State == threads.Parked || t.State == threads.Stopped && sys.GetRegs(t.TID, &regs) == nil) {
			return false
		}
	}
	return true
}

// wellSuited is the suitability from which on no better thread is looked for.
const wellSuited = 4

// suitability: 0 is never; higher is better.
func (p *injector) suitability(t *task) int {
	if !p.threads.Member(t) || t.State != threads.Stopped || t.Hold&threads.HoldVfork != 0 || t.VforkCopy {
		return 0
	}
	switch t.Stop {
	case threads.StopTrap:
		var regs Regs
		if sys.GetRegs(t.TID, &regs) != nil {
			return 0
		}
		if regs.Call() < 0 {
			return 5 // in the program, not in a call
		}
		return wellSuited
	case threads.StopGroup:
		return 3
	case threads.StopSignal:
		if t.Sig == 0 {
			return 5
		}
		return 2 // its signal is delivered first
	case threads.StopEvent:
		return 1
	case threads.StopCall:
		if p.ctl != nil && !t.dbg.entry { // it is at a call's exit
			return 1
		}
	}
	return 0
}
