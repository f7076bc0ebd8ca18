package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/process"
)

var sprintf = fmt.Sprintf

// Resume implements stub.Target.
func (t *Target) Resume(list []stub.Resumption) error {
	t.stopped = false
	t.remains.forget(func(stub.ThreadID) bool { return true })
	by := map[int][]process.Resumption{}
	for _, r := range list {
		by[r.Thread.PID] = append(by[r.Thread.PID], process.Resumption{
			TID: r.Thread.TID, Step: r.Step, Lo: r.Lo, Hi: r.Hi, Signal: unix.Signal(r.Signal),
		})
	}
	for _, pr := range t.list() {
		if by[pr.pid] == nil {
			continue
		}
		if err := pr.p.ResumeThreads(by[pr.pid]); err != nil && !errors.Is(err, process.ErrGone) {
			return err
		}
	}
	return nil
}

// Halt implements stub.Target.
func (t *Target) Halt(list []stub.ThreadID) error {
	by := map[int][]int{}
	for _, id := range list {
		by[id.PID] = append(by[id.PID], id.TID)
	}
	for _, pr := range t.list() {
		if by[pr.pid] == nil {
			continue
		}
		if err := pr.p.Halt(by[pr.pid]); err != nil && !errors.Is(err, process.ErrGone) {
			return err
		}
	}
	return nil
}

// HaltAll implements stub.Target.
func (t *Target) HaltAll() ([]stub.Stop, error) {
	var out []stub.Stop
	var first error
	for _, pr := range t.list() {
		stops, err := pr.p.HaltAll()
		if err != nil && !errors.Is(err, process.ErrGone) && first == nil {
			first = err
		}
		for _, s := range stops {
			out = append(out, t.convert(report{pr: pr, stop: s}))
		}
	}
	t.flush()
	t.stopped = first == nil
	return out, first
}

// Confirm implements stub.Target.
func (t *Target) Confirm(s stub.Stop) bool {
	pr, err := t.find(s.Thread.PID)
	if err != nil {
		return s.Kind == stub.StopExited || s.Kind == stub.StopKilled
	}
	switch s.Kind {
	case stub.StopBreakpoint:
		regs, err := pr.p.GetRegs(s.Thread.TID)
		return err == nil && regs.General.PC() == s.Addr && pr.breaks.user(s.Addr)
	case stub.StopHalted:
		return false
	}
	return true
}

// Registers implements stub.Target.
func (t *Target) Registers(id stub.ThreadID) (rsp.Registers, error) {
	pr, err := t.find(id.PID)
	var regs *process.RegSet
	if err == nil {
		regs, err = pr.p.GetRegs(id.TID)
	}
	if err != nil {
		if kept, ok := t.remains.get(id); ok && t.stopped {
			return kept, nil
		}
		return rsp.Registers{}, err
	}
	out := t.regs.Encode(&regs.General, regs.XSave)
	t.remains.keep(id, out)
	return out, nil
}

// SetRegisters implements stub.Target.
func (t *Target) SetRegisters(id stub.ThreadID, data []byte) error {
	return t.change(id, func(r *process.RegSet) error { return t.regs.Decode(data, &r.General, r.XSave) })
}

// SetRegister implements stub.Target.
func (t *Target) SetRegister(id stub.ThreadID, number int, data []byte) error {
	return t.change(id, func(r *process.RegSet) error { return t.regs.Set(number, data, &r.General, r.XSave) })
}

func (t *Target) change(id stub.ThreadID, f func(*process.RegSet) error) error {
	pr, err := t.find(id.PID)
	if err != nil {
		return err
	}
	regs, err := pr.p.GetRegs(id.TID)
	if err != nil {
		return err
	}
	t.remains.forget(func(x stub.ThreadID) bool { return x == id })
	shown := regs.General.PC()
	if err := f(regs); err != nil {
		return err
	}
	if g := &regs.General; g.PC() != shown {
		g.SetPC(pr.stillBehind(id.TID, g.PC(), g.SP()))
	}
	return pr.p.SetRegs(id.TID, regs)
}

// ReadMemory implements stub.Target.
func (t *Target) ReadMemory(pid int, addr uint64, b []byte) (int, error) {
	pr, err := t.find(pid)
	if err != nil {
		return 0, err
	}
	return pr.read(addr, b)
}

// read reads memory as the program has it.
func (pr *proc) read(addr uint64, b []byte) (int, error) {
	n, err := pr.p.ReadMemory(addr, b)
	pr.original(addr, b[:n])
	return n, err
}

// WriteMemory implements stub.Target. Code that a tracepoint has changed is
// given back first.
func (t *Target) WriteMemory(pid int, addr uint64, b []byte) error {
	pr, err := t.find(pid)
	if err != nil {
		return err
	}
	return pr.rewrite(addr, len(b), func() error { return pr.p.WriteMemory(addr, b) })
}
