package process

import (
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
)

// insnAt looks at the instruction at an address.
func (p *stepper) insnAt(addr uint64) runcontrol.Insn {
	var b [15]byte
	n := len(b)
	for n > 0 && p.space.Read(addr, b[:n]) != nil {
		n = min(n-1, int(memory.PageSize-addr%memory.PageSize)) // less at the end of the mapping
		if n == len(b)-1 {
			return runcontrol.Insn{}
		}
	}
	return classify(b[:n])
}

// StepInternally begins internal single steps of a thread that is about to go on,
// or adds to them: OnStepped is asked after each.
func (p *Process) StepInternally(tid int) error {
	return p.controlDo(func() error {
		t := p.threads.Get(tid)
		if t == nil {
			return ErrGone
		}
		p.ctl.machine.StepInternally(t)
		return nil
	})
}
