package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Sequences lists the restartable sequences (rseq(2)) that threads have made known to
// the kernel, as [start, end): they are within, or were when they last looked.
func (s *Stopped) Sequences() (list [][2]uint64) {
	for _, t := range s.tasks() {
		if t.State != threads.Stopped {
			continue
		}
		c, ok := sys.GetRseq(t.TID)
		if !ok {
			continue
		}
		if start, length, _, ok := inject.SequenceAt(s.sp.Space, c.Addr); ok && length < 1<<20 {
			list = append(list, [2]uint64{start, start + length})
		}
	}
	return list
}

// leaveSequence handles the signal that the kernel sends to a thread which it finds in a restartable sequence of generated
// code, or behind it, if the abort handler does not have the signature of the thread's registration: the program has
// given its struct rseq back and registered it again with another signature. The sequence is aborted as the kernel
// would have done it, and the thread uses no further ones.
func (p *signals) leaveSequence(t *task, sig unix.Signal, code int32, regs *Regs) bool {
	if sig != unix.SIGSEGV || code != sys.SIKernel || p.cfg.InCode == nil {
		return false
	}
	c, ok := sys.GetRseq(t.TID)
	if !ok || c.Sig == sequenceSignature {
		return false
	}
	start, length, abort, ok := inject.SequenceAt(p.space.Space, c.Addr)
	if !ok || !p.cfg.InCode(abort) || p.space.Write(c.Addr+inject.SequencePointer, make([]byte, 8)) != nil {
		return false
	}
	if e := p.registered.threads[t.TID]; e != nil {
		p.registered.unlist(e)
	}
	if pc := regs.PC(); pc >= start && pc < start+length {
		regs.SetPC(abort)
	}
	return true
}
