package process

import (
	"encoding/binary"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// While a thread is stopped, timers expire and signals are sent to it. When it is resumed, the kernel builds a frame for
// each before a handler has executed an instruction, also for one signal again if its handler does not block it
// (SA_NODEFER). Untraced this needs a signal within microseconds; with several stops in short order the frames, of up to
// 11 kB each, would fill a small stack, and the program would die.
//
// So where few frames have room, a handler runs as if it had no SA_NODEFER:
//
//  1. A signal is about to be delivered to a thread that is on its alternate stack already, or whose stack is nearly full.
//  2. The thread builds the frame and stops in front of the handler (settle).
//  3. The signal is blocked in the thread (a hold). The next ones wait, in the kernel, in their order. The mask in the frame is
//     the program's: when the handler returns, rt_sigreturn(2) restores it. This needs nothing of jalon, which may
//     be killed at any point.
//  4. Until then the thread also stops at system calls, so rt_sigreturn is seen. jalon unblocks the signal if the thread
//     has left the handler in another way (longjmp), if the handler takes long, and before a system call that may
//     wait, or which a blocked signal changes (fork, exec, sigprocmask).
//
// What remains: jalon is killed while the signal is blocked, and the handler is left by a longjmp that restores no mask.
type nesting struct {
	*tracer
	timer *time.Timer // looks at threads with holds; nil: there are none
}

// handlerStack is what is known of the stack that a thread's handlers run on, and of those that run with a hold.
type handlerStack struct {
	lo, hi    uint64 // the stack; 0: not known
	alternate bool
	frame     uint64      // how much a frame takes
	given     unix.Signal // that is being delivered, and its handler is to be looked at
	from      uint64      // the stack pointer before it
	learned   int64       // when that was found out, CLOCK_MONOTONIC
	open      uint64      // signals that handlers did not block themselves
	deferring uint64      // and those that they did
	holds     []hold      // the innermost last
}

// hold is a handler that runs with signals blocked by jalon.
type hold struct {
	lo, at uint64        // the stack's end, and the stack pointer at its first instruction
	bits   uint64        // the signals
	ran    time.Duration // how long the thread had run then
}

// quick are system calls of handlers that a blocked signal does not change, and which do not wait for one.
var quick = map[int64]bool{
	unix.SYS_RT_SIGRETURN: true, unix.SYS_WRITE: true, unix.SYS_CLOCK_GETTIME: true, unix.SYS_GETTIMEOFDAY: true,
	unix.SYS_GETPID: true, unix.SYS_GETTID: true, unix.SYS_IOCTL: true,
	unix.SYS_SETITIMER: true, unix.SYS_TIMER_SETTIME: true, unix.SYS_TIMER_GETOVERRUN: true, unix.SYS_SCHED_YIELD: true,
	unix.SYS_MMAP: true, unix.SYS_MUNMAP: true, unix.SYS_MPROTECT: true, unix.SYS_MADVISE: true,
}

// Limits of nesting.
const (
	nestedRoom = 16 // frames that have room on a stack where handlers may interrupt each other
	firstRoom  = 2  // the same for the first one on an alternate stack: one more, and its handler
	leastFrame = 1 << 10
	stackAge   = 250 * time.Millisecond // a program may change its alternate stack
	holdLook   = 20 * time.Millisecond
	holdLimit  = 5 * time.Millisecond // on the CPU
)

// deliver: t is about to be given a signal.
func (p *nesting) deliver(t *task, sig unix.Signal) {
	if t.stack.given = 0; p.crowded(t, sig) {
		t.stack.given = sig
	}
}

// crowded reports whether the handler of a signal that is about to be delivered must be looked at.
func (p *nesting) crowded(t *task, sig unix.Signal) bool {
	if sig == 0 || p.ctl != nil || t.Hold != 0 || t.Copy || !p.threads.Member(t) || sys.SigBit(sig)&sys.Synchronous != 0 {
		return false
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return false // dying
	}
	s := &t.stack
	s.from = regs.SP()
	room := s.from - s.lo
	switch on := s.has(s.from); {
	case on:
		if room >= nestedRoom*s.frame {
			return false
		}
	case s.alternate && s.hi-s.lo < (firstRoom+1)*s.frame:
	default:
		return sys.Monotonic()-s.learned > int64(stackAge) && p.catches(t, sig)
	}
	if s.deferring&sys.SigBit(sig) != 0 && sys.Monotonic()-s.learned < int64(stackAge) {
		return false
	}
	return p.catches(t, sig)
}

func (s *handlerStack) has(sp uint64) bool { return s.lo <= sp && sp < s.hi }

func (p *nesting) catches(t *task, sig unix.Signal) bool {
	st, err := sys.ReadStatus(t.TID)
	return err == nil && disposition(st, sig) == sigCaught
}

// begun: t has been given a signal for which crowded was true, and has stopped, in front of the handler if there is one.
func (p *nesting) begun(t *task) {
	sig := t.stack.given
	if t.stack.given = 0; sig == 0 {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil || !regs.EntersHandler(sig) {
		return
	}
	mask, err := sys.GetSigmask(t.TID)
	if err != nil {
		return
	}
	s, bit := &t.stack, sys.SigBit(sig)
	nested := s.has(s.from)
	p.learn(s, &regs)
	if s.deferring, s.open = s.deferring&^bit, s.open|bit; mask&bit != 0 {
		s.deferring, s.open = s.deferring|bit, s.open&^bit
		return
	}
	limit := uint64(nestedRoom)
	if nested = nested || s.has(s.from); s.alternate && !nested {
		limit = firstRoom
	}
	if regs.SP()-s.lo >= limit*s.frame {
		return
	}
	h := hold{lo: s.lo, at: regs.SP(), bits: s.open &^ mask}
	h.ran, _ = sys.TimeOnCPU(t.TID)
	if sys.SetSigmask(t.TID, mask|h.bits) == nil {
		s.holds = append(s.holds, h)
		p.remind()
	}
}

// learn looks at the stack of a thread in front of a handler, whose frame has struct stack_t of the thread.
func (p *nesting) learn(s *handlerStack, regs *Regs) {
	sp := regs.SP()
	was := *s
	s.lo, s.hi, s.alternate, s.learned = 0, 0, false, sys.Monotonic()
	var b [24]byte // struct stack_t
	if p.space.Read(regs.AlternateStack(), b[:]) == nil {
		lo, size := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[16:])
		s.lo, s.hi, s.alternate = lo, lo+size, true
	}
	switch {
	case s.alternate && s.has(sp):
	case was.alternate && was.has(sp): // it has been disarmed (SS_AUTODISARM), but the handlers are on it
		s.lo, s.hi, s.alternate = was.lo, was.hi, true
	default:
		s.lo, s.hi, s.alternate = p.plainStack(sp)
	}
	top := s.hi
	if s.has(s.from) {
		top = s.from
	}
	if s.frame = max(top-sp, leastFrame); !s.has(s.from) && !s.alternate {
		s.frame = leastFrame
	}
}

// plainStack is the memory around a stack pointer. That of the first thread grows: it has room.
func (p *nesting) plainStack(sp uint64) (lo, hi uint64, alternate bool) {
	maps, err := memory.ReadMaps(p.pid)
	if err != nil {
		return 0, 0, false
	}
	for _, m := range maps {
		if m.Start <= sp && sp < m.End {
			if m.Path == "[stack]" {
				return 0, m.End, false
			}
			return m.Start, m.End, false
		}
	}
	return 0, 0, false
}

// holding reports whether a thread must stop at system calls.
func (t *task) holding() bool { return len(t.stack.holds) > 0 }

// stopped is called at each stop of a thread, before anything else is done about it.
func (p *nesting) stopped(t *task) {
	if !t.holding() || t.State != threads.Stopped {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return // dying
	}
	holds := &t.stack.holds
	for t.holding() {
		h := (*holds)[len(*holds)-1]
		switch atCall := t.Stop == threads.StopCall; {
		case atCall && regs.Call() == unix.SYS_RT_SIGRETURN && regs.EndsHandler(h.at):
			// The kernel is about to restore the mask.
		case !h.active(regs.SP()):
			p.unblock(t, h.bits)
		case atCall && regs.Call() >= 0 && !quick[regs.Call()], p.long(t):
			p.release(t)
			return
		default:
			return
		}
		*holds = slices.Delete(*holds, len(*holds)-1, len(*holds))
	}
}

// active reports whether the handler has not returned, if it was not left by longjmp to deeper in the stack.
func (h hold) active(sp uint64) bool { return h.lo <= sp && sp <= h.at+8 }

// long reports whether the outermost handler with a hold takes long.
func (p *nesting) long(t *task) bool {
	ran, ok := sys.TimeOnCPU(t.TID)
	return ok && ran-t.stack.holds[0].ran > holdLimit
}

// release ends the holds of a stopped thread.
func (p *nesting) release(t *task) {
	for _, h := range t.stack.holds {
		p.unblock(t, h.bits)
	}
	t.stack.holds = nil
}

func (p *nesting) unblock(t *task, bits uint64) {
	if mask, err := sys.GetSigmask(t.TID); err == nil && mask&bits != 0 {
		_ = sys.SetSigmask(t.TID, mask&^bits) // ESRCH: dying
	}
}

// leave lets the threads of a stopped world leave their handlers with holds, one after the other: they are about to be let go.
func (p *nesting) leave() {
	const stops, patience = 64, 50 * time.Millisecond
	for _, t := range p.threads.All() {
		for range stops {
			if !t.holding() || t.State != threads.Stopped || sys.Resume(t.TID, sys.ToCall, t.Sig) != nil {
				break
			}
			t.State, t.Sig = threads.Running, 0
			start := time.Now()
			ws, err := p.waits.awaitUnless(t, func(byte) bool { return time.Since(start) > patience })
			if err == errTimeout {
				p.world.interrupt(t)
				ws, err = p.waits.await(t)
			}
			if err != nil {
				break // its end is handled later
			}
			p.driver.handleStop(t.TID, ws) // it stays
		}
		if t.State == threads.Stopped {
			p.release(t)
		}
	}
}

// atCall: a thread is in a syscall-stop. It must not stay there while the world is stopped.
func (p *nesting) atCall(t *task) {
	if p.ctl == nil && p.threads.Frozen > 0 && t.State == threads.Stopped && p.threads.Member(t) {
		_ = p.world.settle(t) // an error: it is dying
	}
}

// remind has threads with holds looked at later.
func (p *nesting) remind() {
	if p.timer == nil {
		p.timer = time.AfterFunc(holdLook, func() {
			_ = p.do(func() error { p.look(); return nil }) // ErrGone: nothing is left to look at
		})
	}
}

// look stops threads that have run for long with a hold: see stopped.
func (p *nesting) look() {
	p.timer = nil
	for _, t := range p.threads.All() {
		if !t.holding() {
			continue
		}
		p.remind()
		if t.State == threads.Running && p.long(t) {
			p.world.interrupt(t)
		}
	}
}
