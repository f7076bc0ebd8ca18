package inject

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Host is what an injector needs of the tracer.
type Host[T threads.Entry] interface {
	// Await takes the next report of a thread that runs. An error: it is gone.
	Await(t T) (unix.WaitStatus, error)
	// Settle takes a stopped thread to PTRACE_EVENT_STOP, without an instruction executed.
	Settle(t T) error
	// Handle handles a stop that Await gave; the thread stays stopped.
	Handle(t T, ws unix.WaitStatus)
	// Replaced reports whether a stop that Await gave is that of a thread that has taken t's number by exec,
	// and keeps it for later.
	Replaced(t T, ws unix.WaitStatus) bool
	// AtCallExit reports whether a thread in a syscall-stop is at the exit of the call.
	AtCallExit(t T) bool
}

// Injector runs system calls in threads of a table.
type Injector[T threads.Entry] struct {
	host     Host[T]
	threads  *threads.Table[T]
	inj      *injection[T]
	borrowed int // the thread that ran the last call: see Pick
	// Exact: a thread that is given back is in PTRACE_EVENT_STOP, always.
	Exact    bool
	recovers map[int]int // threads whose seccomp filters allow recovery: how many there are
	stops    int         // how often borrowed threads have stopped, and how many calls they have run
	calls    int
}

// New makes an injector.
func New[T threads.Entry](host Host[T], table *threads.Table[T]) *Injector[T] {
	return &Injector[T]{host: host, threads: table, recovers: map[int]int{}}
}

// Borrowed is the thread that runs calls now; 0: none.
func (in *Injector[T]) Borrowed() int {
	if in.inj == nil {
		return 0
	}
	return in.inj.t.Core().TID
}

// Work is how often threads have stopped for injected calls so far, and the number of calls.
func (in *Injector[T]) Work() (stops, calls int) { return in.stops, in.calls }

// Forget drops the state of a thread that is detached.
func (in *Injector[T]) Forget(tid int) { delete(in.recovers, tid) }

// injection is a thread that was borrowed to run system calls. It stays in the
// syscall-stop between calls; End gives everything back. One is open
// only while the world is stopped, while one thread is borrowed, or within one function of the caller.
//
// How a call runs, and why the program does not notice:
//
//  1. The thread is in PTRACE_EVENT_STOP, or in a delivery-stop whose signal is
//     suppressed: between two instructions, on its way out of the kernel.
//  2. Its registers and signal mask are saved, here and in the process, behind the
//     recovery stub (stub_amd64.go: for the case that jalon is killed before it can put
//     them back). Nothing of the program reads there.
//  3. pc := the syscall instruction of the stub, the call's number := -1 (sys.Regs.setCall), so
//     that the kernel does not restart the call that the thread was in. All signals are blocked: none is
//     taken from the queue meanwhile. (SIGSYS stays open where the kernel may answer our call with it: a SIGSYS
//     that is blocked then resets the program's handler. The program's own, from the call that it has just made, is
//     queued again, and ours is not made.)
//  4. PTRACE_SYSCALL twice: entry-stop, exit-stop. The call has its result.
//  5. The saved registers are put back, the call's number and -ERESTART* too. The kernel
//     looks at these only when it has a signal to look at. PTRACE_INTERRUPT and
//     PTRACE_CONT make one: the thread stops in PTRACE_EVENT_STOP again, where it
//     was, and restarts its call when it is resumed. The restart block of a
//     sleep is not touched by the calls that are injected here.
type injection[T threads.Entry] struct {
	t      T
	sp     *Workspace
	regs   sys.Regs
	mask   uint64
	masked bool // all signals are blocked
	rest   bool // its seccomp filters rest meanwhile
	open   bool // SIGSYS is not blocked
	restop bool // under run control, a SIGSTOP came meanwhile: it is sent again
	list   listing
	// inDelivery: the thread is in the delivery-stop at the end of a list. grouped: it is in a group-stop, or has
	// come by one meanwhile, to which it must go back.
	inDelivery, grouped bool
}

// Run runs a system call in t, which must be stopped. A negative result is
// returned as unix.Errno.
func (in *Injector[T]) Run(t T, sp *Workspace, nr uint64, args ...uint64) (uint64, error) {
	if err := in.need(t, sp); err != nil {
		return 0, err
	}
	in.calls++
	regs := in.inj.regs
	regs.SetCall(sp.Stub, nr, args...)
	if err := sys.SetRegs(t.Core().TID, &regs); err != nil {
		in.Drop()
		return 0, err
	}
	if !in.inj.masked { // after the registers: from here on the stub would run
		if err := sys.SetSigmask(t.Core().TID, in.inj.blocked()); err != nil {
			in.Drop()
			return 0, err
		}
		in.inj.masked = true
	}
	if err := in.runCall(t); err != nil {
		if sys.Gone(err) {
			in.Drop()
		}
		return 0, err
	}
	if err := sys.GetRegs(t.Core().TID, &regs); err != nil {
		in.Drop()
		return 0, err
	}
	return resultOf(regs.CallResult())
}

func resultOf(result int64) (uint64, error) {
	if e := -result; e > 0 && e < 4096 {
		return 0, unix.Errno(e)
	}
	return uint64(result), nil
}

// need borrows a thread, unless it is borrowed already.
func (in *Injector[T]) need(t T, sp *Workspace) error {
	if in.inj != nil && in.inj.t != t {
		if err := in.End(); err != nil {
			return err
		}
	}
	if in.inj == nil {
		return in.begin(t, sp)
	}
	return nil
}

// stopped notes a stop of the borrowed thread within the stub.
func (in *Injector[T]) stopped(t T) {
	t.Core().State, t.Core().Stop, t.Core().Sig = threads.Stopped, threads.StopCall, 0
	in.inj.inDelivery = false
	in.stops++
}

// runCall lets t run from before a syscall instruction to its exit-stop.
func (in *Injector[T]) runCall(t T) error {
	deliver := unix.Signal(0)
	for calls := 0; calls < 2; {
		if err := sys.Resume(t.Core().TID, sys.ToCall, deliver); err != nil {
			return err
		}
		deliver = 0
		t.Core().State = threads.Running
		ws, err := in.host.Await(t)
		if err != nil {
			return err
		}
		if in.host.Replaced(t, ws) {
			return sys.ErrThreadGone
		}
		in.stopped(t)
		sig := sys.SignalOf(ws)
		switch {
		case sig == sys.Sysgood:
			calls++
		case sys.EventOf(ws) != 0:
			// An interrupt that was still pending, SIGCONT's notice, or a group-stop.
			in.inj.grouped = in.inj.grouped || sig != unix.SIGTRAP
		case sig == unix.SIGSTOP:
			deliver = in.stopAtOnce()
		case sig == unix.SIGSYS && in.answersCall(t):
			return unix.ENOSYS // a seccomp filter, or syscall user dispatch
		case sig == unix.SIGSYS:
			return in.queueAgain(t)
		default:
			return fmt.Errorf("an injected system call ended in %s", sys.SignalName(sig))
		}
	}
	return nil
}

// stopAtOnce handles a SIGSTOP of the program, which cannot be blocked and has come during a call. It is
// delivered at once, so that it is the kernel's business from then on:
//
//  1. The thread is in the delivery-stop. The report is not taken (sys.PeekWait): if jalon is killed now, the kernel
//     delivers the signal.
//  2. The thread is resumed with the signal: the process is in a group-stop, and the thread reports that it takes
//     part. If jalon is killed now, the kernel lets the thread stop for it (__ptrace_unlink), and SIGCONT wakes it
//     in the recovery stub.
//  3. The thread is resumed without a signal. A tracee runs in spite of a group-stop, and makes the call.
//  4. End gives it back by PTRACE_INTERRUPT, which reports the group-stop; the thread stays in it until SIGCONT.
//
// A SIGCONT in between ends the group-stop, as it does without jalon; it would not undo a SIGSTOP that is sent again
// later. Under run control the caller decides about the signal: there it is sent again.
func (in *Injector[T]) stopAtOnce() (deliver unix.Signal) {
	if in.Exact {
		in.inj.restop = true
		return 0
	}
	return unix.SIGSTOP
}

// blocked are the signals that are blocked during calls.
func (inj *injection[T]) blocked() uint64 {
	if inj.open {
		return ^sys.SigBit(unix.SIGSYS)
	}
	return ^uint64(0)
}

// answersCall reports whether the SIGSYS that t is in the delivery-stop of is the answer to our call.
func (in *Injector[T]) answersCall(t T) bool {
	var si sys.Siginfo
	if sys.GetSiginfo(t.Core().TID, &si) != nil {
		return true // dying
	}
	at := si.Addr - in.inj.sp.Stub
	return (si.Code == sys.SysSeccomp || si.Code == sys.SysDispatch) && at <= stubCallEnd
}

// queueAgain has the kernel queue the SIGSYS that t is in the delivery-stop of: it is blocked now. The thread stops again
// without an instruction executed.
func (in *Injector[T]) queueAgain(t T) error {
	if err := sys.SetSigmask(t.Core().TID, ^uint64(0)); err != nil {
		return err
	}
	for sig := unix.SIGSYS; ; {
		if err := sys.Interrupt(t.Core().TID); err != nil {
			return err
		}
		if err := sys.Cont(t.Core().TID, sig); err != nil {
			return err
		}
		t.Core().State = threads.Running
		ws, err := in.host.Await(t)
		if err != nil {
			return err
		}
		t.Core().State = threads.Stopped
		if sys.EventOf(ws) != 0 {
			return errOwnSignal
		}
		if sig = 0; sys.SignalOf(ws) == unix.SIGSTOP {
			sig = in.stopAtOnce()
		}
	}
}

var errOwnSignal = errors.New("a SIGSYS of the program came before an injected system call")

func (in *Injector[T]) begin(t T, sp *Workspace) error {
	if !(t.Core().State == threads.Stopped && (t.Core().Stop == threads.StopSignal && t.Core().Sig == 0 || t.Core().Stop == threads.StopTrap || t.Core().Stop == threads.StopGroup)) {
		if err := in.host.Settle(t); err != nil {
			return err
		}
	}
	rest, filtered, err := in.mayInject(t)
	if err != nil {
		return err
	}
	inj := &injection[T]{t: t, sp: sp, rest: rest, grouped: t.Core().Stop == threads.StopGroup}
	if err := sys.GetRegs(t.Core().TID, &inj.regs); err != nil {
		return err
	}
	leaveRseq(t.Core().TID, sp.Space, &inj.regs)
	mask, err := sys.GetSigmask(t.Core().TID)
	if err != nil {
		return err
	}
	inj.mask = mask
	if err := in.needStub(sp); err != nil {
		return err
	}
	known, err := in.undispatched(t, sp)
	inj.open = !known || filtered && !rest
	if rest {
		if err == nil {
			err = in.mustRecover(t, sp.Stub)
		}
		if err != nil {
			_ = sys.SetOptions(t.Core().TID, sys.Options) // ESRCH: dying
		}
	}
	if err != nil {
		return err
	}
	if err := sp.WriteRaw(sp.Stub+StubData, Recovery(inj.regs, inj.mask)); err != nil {
		return err
	}
	in.inj = inj
	return nil
}

// End gives the borrowed thread back.
func (in *Injector[T]) End() error {
	inj := in.inj
	if inj == nil {
		return nil
	}
	t := inj.t
	in.Drop()
	if inj.rest {
		_ = sys.SetOptions(t.Core().TID, sys.Options) // ESRCH: dying
	}
	if inj.restop {
		_ = unix.Kill(t.Core().TGID, unix.SIGSTOP)
	}
	if inj.list.foreign {
		_ = unix.Tgkill(t.Core().TGID, t.Core().TID, inj.list.done)
	}
	if inj.inDelivery && !in.Exact && !inj.grouped {
		return in.endInDelivery(inj)
	}
	// In this order a thread whose jalon is killed in between comes out right: by
	// the recovery stub before its registers are back, by the kernel afterwards,
	// which wakes it as if it had a signal.
	for _, err := range []error{
		sys.SetSigmask(t.Core().TID, inj.mask), sys.SetRegs(t.Core().TID, &inj.regs),
		sys.Interrupt(t.Core().TID), sys.Cont(t.Core().TID, 0),
	} {
		if err != nil {
			return err
		}
	}
	t.Core().State, t.Core().Asked = threads.Running, true
	ws, err := in.host.Await(t)
	if err != nil {
		return err
	}
	in.stops++
	in.threads.Frozen++
	defer func() { in.threads.Frozen-- }()
	in.host.Handle(t, ws)
	return nil
}

// endInDelivery is End after a list. The thread is in the delivery-stop of the signal that ended the list: the
// kernel still looks for a signal on the thread's way out, finds none when it is resumed, and restarts the
// call that the registers name. So no further stop is needed. The order is that of End, for the same reason.
func (in *Injector[T]) endInDelivery(inj *injection[T]) error {
	t := inj.t.Core()
	if err := sys.SetSigmask(t.TID, inj.mask); err != nil {
		return err
	}
	if err := sys.SetRegs(t.TID, &inj.regs); err != nil {
		return err
	}
	t.Stop, t.Sig = threads.StopSignal, 0
	return nil
}

// Drop forgets the borrowed thread: it is gone, with its memory.
func (in *Injector[T]) Drop() { in.inj = nil }

// leaveRseq does what the kernel does for a thread that was stopped inside a restartable sequence
// (rseq(2)): it moves the thread to the abort handler. Otherwise the kernel would see only the injected pc,
// outside the sequence, and the sequence would continue although it was interrupted.
func leaveRseq(tid int, sp *memory.Space, regs *sys.Regs) {
	conf, ok := sys.GetRseq(tid)
	if !ok {
		return // before Linux 5.13, or none registered
	}
	start, length, abort, ok := SequenceAt(sp, conf.Addr)
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
