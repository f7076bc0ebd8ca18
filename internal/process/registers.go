package process

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Regs are the general registers of a thread.
type Regs = sys.Regs

// RegSet is the registers of a thread.
type RegSet struct {
	General Regs
	// XSave is the raw XSAVE area: x87, SSE, AVX and what else the CPU has, in the
	// standard format (Intel SDM vol. 1, ch. 13). Bytes 464-511 hold the mask of
	// the states that the kernel has enabled.
	XSave []byte
}

var errNotStopped = errors.New("the thread is not stopped")

// withStopped runs f for a thread that is stopped, or that OnBreak or OnStepped is just
// asked about.
func (p *Process) withStopped(tid int, f func(t *task) error) error {
	return p.controlDo(func() error {
		t := p.threads.Get(tid)
		if t == nil {
			return ErrGone
		}
		if t.State != threads.Stopped || t.Hold&threads.HoldDebug == 0 && p.ctl.asking != tid {
			return &fail.Error{Op: fmt.Sprintf("access thread %d", tid), Err: errNotStopped}
		}
		err := f(t)
		if sys.Gone(err) {
			return ErrGone
		}
		return access(fmt.Sprintf("access thread %d", tid), err)
	})
}

// GetGeneral reads the general registers only, which is faster.
func (p *Process) GetGeneral(tid int) (r Regs, err error) {
	err = p.withStopped(tid, func(*task) error {
		err := sys.GetRegs(tid, &r)
		r.SetPC(p.ctl.machine.Shown(r.PC()))
		return err
	})
	return r, err
}

// GetRegs reads the registers of a thread that is stopped, or that OnBreak or OnStepped
// is just asked about. The pc is that of the program, also where the thread is
// before the copy of an instruction.
func (p *Process) GetRegs(tid int) (*RegSet, error) {
	r := &RegSet{}
	err := p.withStopped(tid, func(t *task) error {
		if err := sys.GetRegs(tid, &r.General); err != nil {
			return err
		}
		r.General.SetPC(p.ctl.machine.Shown(r.General.PC()))
		var err error
		r.XSave, err = sys.GetXSave(tid)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// SetRegs writes them; an XSave that is nil is left as it is. With the pc that
// GetRegs has shown, the thread stays where it is.
func (p *Process) SetRegs(tid int, r *RegSet) error {
	return p.withStopped(tid, func(t *task) error {
		var old Regs
		if err := sys.GetRegs(tid, &old); err != nil {
			return err
		}
		next := r.General
		if next.PC() == p.ctl.machine.Shown(old.PC()) {
			next.SetPC(old.PC())
		} else {
			t.dbg.Again, t.dbg.InCall = runcontrol.Again{}, false
		}
		if err := sys.SetRegs(tid, &next); err != nil {
			return err
		}
		if r.XSave == nil {
			return nil
		}
		return sys.SetXSave(tid, r.XSave)
	})
}
