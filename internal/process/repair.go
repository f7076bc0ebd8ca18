package process

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// When an instruction faults in a thread that blocks or ignores the signal, the kernel cannot deliver it, and
// so unblocks it and resets its action to default before it informs the tracer (force_sig_info_to_task). The
// program must not notice this for a fault of ours, so both are restored.
//
// The action that the kernel left shows in most cases what it was:
//
//	action now   it was                                 to do
//	caught       caught, not blocked                    nothing
//	ignored      ignored (a fault resets this; so none) nothing
//	default      caught and blocked                     set the action, block
//	             ignored                                set the action, block if it was blocked
//	             default                                block if it was blocked
//
// The last row needs what was known before. Actions are read by injected rt_sigaction whenever code is
// installed, and when a fault finds an action that was not known. Masks are noted at every stop, and a new
// thread has its creator's. If a program changes from one uncaught state to another between two looks, the
// assumption can be wrong: it then gets the state of the last look.
type sigaction struct {
	handler, flags, restorer, mask uint64
}

const (
	sigDfl = 0
	sigIgn = 1
)

// guarded are the signals that our code raises.
var guarded = []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGTRAP}

// disposition is the kind of an action: default, ignored or caught.
func disposition(st *sys.Status, sig unix.Signal) uint64 {
	switch bit := sys.SigBit(sig); {
	case st.Caught&bit != 0:
		return sigCaught
	case st.Ignored&bit != 0:
		return sigIgn
	}
	return sigDfl
}

const sigCaught = 2 // never a handler's address

func (a sigaction) kind() uint64 {
	if a.handler > sigIgn {
		return sigCaught
	}
	return a.handler
}

// repair undoes what the kernel did to deliver a signal that we suppress. t is in
// that signal's delivery-stop.
func (p *dispositions) repair(t *task, sig unix.Signal) {
	st, err := sys.ReadStatus(t.TID)
	if err != nil {
		return
	}
	now, mask := disposition(st, sig), st.Blocked
	known, seen := p.actions[sig]
	if now != sigDfl {
		// Nothing was reset: what we see is the program's. Or it was, and has been
		// put back since for another thread that faulted at the same time: then
		// this is the thread's first stop since.
		raced := t.last < p.restored && sys.Monotonic()-p.restored < justNow
		if raced && p.masks[t.TID]&sys.SigBit(sig) != 0 {
			_ = sys.SetSigmask(t.TID, mask|sys.SigBit(sig)) // ESRCH: dying
			return
		}
		p.masks[t.TID] = mask
		if (!seen || known.kind() != now) && p.threads.Member(t) {
			p.learnAction(t, sig)
		}
		return
	}
	block := p.masks[t.TID]&sys.SigBit(sig) != 0
	if seen {
		known = p.beforeReset(t, sig, known)
	}
	if seen && known.kind() != sigDfl {
		if p.restoreAction(t, sig, known) != nil {
			return // dying
		}
		p.restored = sys.Monotonic()
		block = block || known.kind() == sigCaught
	}
	if block {
		mask |= sys.SigBit(sig)
		_ = sys.SetSigmask(t.TID, mask) // ESRCH: dying
	}
	p.masks[t.TID] = mask // the injected call's stops saw it half repaired
}

// beforeReset is the action that a signal had before the kernel reset it. The kernel
// changes the handler only: flags, restorer and mask are still those that were set last.
// Where they are not the known ones, the program has set another action since, and the
// handler is lost. It was the default action after a signal of the program's own (a
// handler sets that and raises the signal again); else it is taken for "ignored", which
// cannot kill the program.
func (p *dispositions) beforeReset(t *task, sig unix.Signal, known sigaction) sigaction {
	p.learnAction(t, sig)
	now, ok := p.actions[sig]
	p.actions[sig] = known
	now.handler = known.handler
	if !ok || now == known {
		return known
	}
	now.handler = sigIgn
	if p.raisedOwn&sys.SigBit(sig) != 0 {
		now.handler = sigDfl
	}
	p.actions[sig] = now
	return now
}

// justNow is how far apart the reports of faults can be that happened at once, on
// a machine with more threads than CPUs.
const justNow = int64(time.Second)

// noteMask remembers a thread's mask at a stop. forced is the signal that the
// kernel may have unblocked to raise it, 0 for none.
func (p *dispositions) noteMask(t *task, forced unix.Signal) {
	mask, err := sys.GetSigmask(t.TID)
	if err != nil || mask == allBlocked {
		return // the latter is libc's own doing, for a moment
	}
	t.asBorn = false
	if forced != 0 {
		mask = mask&^sys.SigBit(forced) | p.masks[t.TID]&sys.SigBit(forced)
	}
	p.masks[t.TID] = mask
}

// inheritMask is noteMask at a thread's birth: libc creates threads with all
// signals blocked, and the thread then takes its creator's mask.
func (p *dispositions) inheritMask(t *task) {
	mask, err := sys.GetSigmask(t.TID)
	if err != nil {
		return
	}
	t.asBorn = mask&appSignals == appSignals
	p.masks[t.TID] = mask
	if t.asBorn && !p.takeMask(t, t.Creator) {
		p.takeMask(t, p.pid) // until its creator's event
	}
}

// takeMask gives t the mask that another thread is known to have.
func (p *dispositions) takeMask(t *task, from int) bool {
	mask, ok := p.masks[from]
	if ok && from != t.TID {
		p.masks[t.TID] = mask
	}
	return ok
}

const (
	// allBlocked is the mask with everything that can be blocked.
	allBlocked = ^uint64(1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1))
	// appSignals are those that no libc keeps for itself (32, 33, musl also 34).
	appSignals = allBlocked &^ (7 << 31)
)

// learnActions reads the actions of the guarded signals. The world is stopped.
func (p *dispositions) learnActions() {
	t, err := p.injector.Pick(p.space, nil)
	if err != nil {
		return // seccomp, or dying: the next fault tries again
	}
	p.learn(t, guarded...)
}

func (p *dispositions) learnAction(t *task, sig unix.Signal) { p.learn(t, sig) }

// learn reads actions of signals by calls in t.
func (p *dispositions) learn(t *task, sigs ...unix.Signal) {
	_ = p.injector.WithScratch(t, p.space, func(scratch uint64) error {
		results, err := p.injector.RunList(t, p.space, readActions(scratch, sigs))
		if err != nil {
			return err
		}
		return p.noteActions(scratch, sigs, results)
	})
}

// readActions are calls that read actions to memory at an address.
func readActions(at uint64, sigs []unix.Signal) (calls []Call) {
	for i, sig := range sigs {
		calls = append(calls, SystemCall(unix.SYS_RT_SIGACTION, uint64(sig), 0, at+uint64(i)*actionSize, 8))
	}
	return calls
}

// noteActions takes their results.
func (p *dispositions) noteActions(at uint64, sigs []unix.Signal, results []CallResult) error {
	for i, sig := range sigs {
		var b [actionSize]byte
		if err := results[i].Err; err != nil {
			return err
		}
		if err := p.space.Read(at+uint64(i)*actionSize, b[:]); err != nil {
			return err
		}
		p.actions[sig] = decodeAction(b)
	}
	return nil
}

// actionSize is the size of struct sigaction in the kernel's interface.
const actionSize = 32

// restoreAction puts an action back. Setting one to "ignored" makes the kernel
// discard such signals of all threads that are on their way, and one of them may
// have an int3 behind it: then all threads are stopped first, and with that what is
// on its way has come to its stop.
func (p *dispositions) restoreAction(t *task, sig unix.Signal, a sigaction) error {
	if a.kind() == sigIgn {
		t.Hold |= threads.HoldRepair // the others go on before we are done with t
		defer func() { p.world.thaw(); t.Hold &^= threads.HoldRepair }()
		if err := p.world.freeze(); err != nil {
			return err
		}
	}
	return p.setAction(t, sig, a)
}

func (p *dispositions) setAction(t *task, sig unix.Signal, a sigaction) error {
	return p.injector.WithScratch(t, p.space, func(scratch uint64) error {
		b := a.encode()
		if err := p.space.Write(scratch, b[:]); err != nil {
			return err
		}
		_, err := p.injector.Run(t, p.space, unix.SYS_RT_SIGACTION, uint64(sig), scratch, 0, 8)
		return err
	})
}

func decodeAction(b [actionSize]byte) sigaction {
	le := binary.LittleEndian
	return sigaction{le.Uint64(b[0:]), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])}
}

func (a sigaction) encode() (b [actionSize]byte) {
	le := binary.LittleEndian
	le.PutUint64(b[0:], a.handler)
	le.PutUint64(b[8:], a.flags)
	le.PutUint64(b[16:], a.restorer)
	le.PutUint64(b[24:], a.mask)
	return b
}

// deliverOwn delivers a signal that the program itself raised. A fault of ours in another thread may just
// have reset the action, which belongs to the whole process, and the signal would then wrongly end the
// program. If the action looks like that, the pending faults are repaired first.
func (p *dispositions) deliverOwn(t *task, sig unix.Signal) {
	t.Sig = sig
	if p.debugger.controlled(t) && !p.debugger.passes(t, sig) {
		return // it is reported first
	}
	known, seen := p.actions[sig]
	if !seen || known.kind() == sigDfl || !p.threads.Member(t) {
		return
	}
	p.deliverLate(t, sig, lateTries)
}

// lateTries times soon is how long a fault on another CPU may take from
// the reset of the action to its report.
const (
	lateTries = 5
	soon      = 200 * time.Microsecond
)

func (p *dispositions) deliverLate(t *task, sig unix.Signal, tries int) {
	st, err := sys.ReadStatus(t.TID)
	if err != nil || disposition(st, sig) != sigDfl || tries == 0 {
		t.Hold &^= threads.HoldLate
		p.learnOnDelivery(t)
		p.world.resume(t)
		return
	}
	t.Hold |= threads.HoldLate
	p.waits.later(func() {
		if !p.threads.Has(t) || t.State != threads.Stopped {
			return
		}
		p.waits.sleep(soon)
		if p.waits.collect(); len(p.waits.queue) == 0 {
			p.deliverLate(t, sig, tries-1)
			return
		}
		p.waits.later(func() { // handle what came, then look again
			if p.threads.Has(t) && t.State == threads.Stopped {
				p.deliverLate(t, sig, tries-1)
			}
		})
	})
}
