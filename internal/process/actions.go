package process

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// guardedMask has the bits of the guarded signals.
const guardedMask = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGTRAP-1)

// actionsAge is how old the known actions may be when a handler that blocks guarded signals begins.
const actionsAge = 250 * time.Millisecond

// learnOnDelivery is called when a signal of the program's is about to be delivered. A handler usually runs
// with its own signal blocked, and some with all of them (Go's): an int3 or a fault of ours in it makes the
// kernel reset the action, and repair can put back only what is known. If the program has set its handlers
// since the code was installed, it would get the old ones. So before the first instruction of a handler that
// blocks guarded signals their actions are read:
//
//  1. The thread builds the signal's frame and stops in front of the handler (settle). The signal is now
//     delivered; nothing else has to be done for it.
//  2. For a guarded signal the pc is its handler's address. If that is the known handler, nothing is read.
//     For another signal, the mask says whether guarded ones are blocked; that is looked at once in
//     actionsAge only.
//  3. A system call is injected, as at any other stop.
//
// Under run control the stop would have to be reported, so the actions known there are those of the last
// installation.
func (p *dispositions) learnOnDelivery(t *task) {
	sig := t.Sig
	own := sys.SigBit(sig)&guardedMask != 0
	if sig == 0 || p.ctl != nil || p.threads.Frozen > 0 || t.Hold != 0 || !p.threads.Member(t) || len(p.actions) == 0 {
		return // without actions no code of ours is in the process
	}
	if !own && sys.Monotonic()-p.learned < int64(actionsAge) {
		return
	}
	st, err := sys.ReadStatus(t.TID)
	if err == nil {
		p.noteIgnored(st)
	}
	if err != nil || disposition(st, sig) != sigCaught || p.world.settle(t) != nil || t.Stop != threads.StopTrap {
		return
	}
	if own {
		p.atHandler(t, sig)
		return
	}
	p.learned = sys.Monotonic()
	if mask, err := sys.GetSigmask(t.TID); err != nil || mask&guardedMask == 0 {
		return
	}
	p.learn(t, guarded...)
}

// noteIgnored reads the actions of guarded signals that the program has come to ignore.
// (The tracer is given signals that are ignored, too.)
func (p *dispositions) noteIgnored(st *sys.Status) {
	for _, sig := range guarded {
		if known, seen := p.actions[sig]; seen && disposition(st, sig) == sigIgn && known.kind() != sigIgn {
			p.actions[sig] = sigaction{handler: sigIgn}
		}
	}
}

// atHandler: t is in front of the first instruction of a guarded signal's handler. The signal is the
// program's own. If the action is still our SIGTRAP handler, it would take the program's own int3 at a site
// for jalon's and move the thread to the copy without end. So the thread begins at the part of the handler
// that passes the signal on. If that ends the program, it ends by the same signal with the default action.
func (p *dispositions) atHandler(t *task, sig unix.Signal) {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return // dying
	}
	h, ours := p.signals.handlerOf(sig)
	p.raisedOwn |= sys.SigBit(sig)
	switch {
	case ours && regs.PC() == h.addr:
		if sig == unix.SIGTRAP {
			regs.SetPC(regs.PC() + trapChain)
			_ = sys.SetRegs(t.TID, &regs) // ESRCH: dying
		}
		if h.prev.kind() == sigDfl {
			p.actions[sig] = h.prev // soon
		}
	case regs.PC() != p.actions[sig].handler:
		p.learnAction(t, sig)
	}
}
