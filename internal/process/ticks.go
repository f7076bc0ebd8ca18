package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// A timer of the program may expire each time that jalon stops a thread. The kernel then builds one more frame of the
// timer's signal when the thread is resumed, before the handler of the one before has executed an instruction, if that
// handler does not block its own signal (SA_NODEFER). Untraced this needs a tick within microseconds; with several
// stops in short order the frames, of up to 11 kB each, would fill an alternate stack, and the program would die.
//
// So a tick that finds its thread at the first instruction of the handler of the same timer's last tick is merged
// with that one. This is what the kernel does with a tick that comes while another waits to be delivered, and the
// program cannot distinguish them: nothing of it has run since. timer_getoverrun(2) alone shows what the kernel knows;
// si_overrun, where the handler is given it, is increased.
//
// Only ticks are merged: they say nothing but that the timer has expired. Signals that are sent keep their number.
type tick struct {
	sig   unix.Signal
	code  int32
	timer uint32 // of timer_create(2)
	more  uint32 // si_overrun: how often it has expired besides
}

// same reports whether two ticks are of one timer.
func (k tick) same(o tick) bool {
	return k.sig == o.sig && k.code == o.code && k.timer == o.timer
}

// tickOf returns what is known of a signal that t is in the delivery-stop of; the zero value: it is not that of a timer.
func (p *signals) tickOf(t *task, sig unix.Signal) (k tick) {
	if p.ctl != nil || t.Copy || !p.threads.Member(t) || sys.SigBit(sig)&sys.Synchronous != 0 {
		return tick{}
	}
	var si sys.Siginfo
	if sys.GetSiginfo(t.TID, &si) != nil {
		return tick{} // dying
	}
	switch {
	case si.Code == sys.SITimer:
		return tick{sig, si.Code, uint32(si.Addr), uint32(si.Addr >> 32)}
	case si.Code == sys.SIKernel && (sig == unix.SIGALRM || sig == unix.SIGPROF || sig == unix.SIGVTALRM):
		return tick{sig: sig, code: si.Code} // setitimer(2)
	}
	return tick{}
}

// merges reports whether a tick is merged with the last one.
func (p *signals) merges(t *task, k tick) bool {
	if k.sig == 0 || !k.same(t.ticked) {
		return false
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return false // dying
	}
	info, ok := regs.EntersHandler(k.sig)
	if !ok {
		return false
	}
	if regs.PC() != p.handlers[k.sig] {
		delete(p.handlers, k.sig) // it may have another handler now
		return false
	}
	if k.code == sys.SITimer {
		p.addOverrun(info, k)
	}
	return true
}

// addOverrun adds a tick to the overrun count in the siginfo of a handler. Without SA_SIGINFO nothing is at info.
func (p *signals) addOverrun(info uint64, k tick) {
	var si sys.Siginfo
	b := si.Bytes()
	if p.space.Read(info, b) != nil || si.Signo != int32(k.sig) || si.Code != k.code || uint32(si.Addr) != k.timer {
		return
	}
	more := min(uint64(uint32(si.Addr>>32))+uint64(k.more)+1, 1<<31-1)
	si.Addr = uint64(k.timer) | more<<32
	_ = p.space.Write(info, b) // it was readable: the memory is going
}

// delivered remembers the signal that t is given. Of a tick whose handler is not known, the frame is built at once, and
// the pc is then the handler.
func (p *signals) delivered(t *task, k tick) {
	t.ticked = k
	if k.sig == 0 || p.handlers[k.sig] != 0 || t.State != threads.Stopped || t.Hold != 0 {
		return
	}
	if t.Sig != 0 && p.world.settle(t) != nil || t.Stop != threads.StopTrap {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return
	}
	if _, ok := regs.EntersHandler(k.sig); ok {
		p.handlers[k.sig] = regs.PC()
	}
}
