package process

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
)

// ReadMemory fills b from addr with the memory as the program has it: without
// breakpoints of ours. n is how much of it could be read; an error says why
// nothing could. Threads may run.
func (p *Process) ReadMemory(addr uint64, b []byte) (n int, err error) {
	err = p.do(func() error {
		if err = p.space.Read(addr, b); err == nil {
			n = len(b)
			return nil
		}
		// Page by page, as far as it goes.
		for n < len(b) {
			part := min(len(b)-n, int(memory.PageSize-(addr+uint64(n))%memory.PageSize))
			if p.space.Read(addr+uint64(n), b[n:n+part]) != nil {
				break
			}
			n += part
		}
		if n == 0 && len(b) > 0 {
			return access("read memory", err)
		}
		return nil
	})
	return n, err
}

// WriteMemory stores b at addr, also in pages that the program cannot write to.
// Breakpoints stay in place: what is below them changes.
func (p *Process) WriteMemory(addr uint64, b []byte) error {
	return p.do(func() error { return access("write memory", p.space.Write(addr, b)) })
}

// Memory is the memory of a process whose threads may run. It is valid only during the call that it was given
// to.
type Memory struct{ sp *inject.Workspace }

// ReadMem fills b from addr, or fails as a whole.
func (m *Memory) ReadMem(addr uint64, b []byte) error { return m.sp.Read(addr, b) }

// WriteMem stores b at addr, into code too. No thread may be about to execute what it changes.
func (m *Memory) WriteMem(addr uint64, b []byte) error { return m.sp.Write(addr, b) }

// Access runs f on the tracer's goroutine; threads run.
func (p *Process) Access(f func(*Memory) error) error {
	return p.do(func() error { return f(&Memory{p.space}) })
}

// access names what was attempted.
func access(op string, err error) error {
	var e *fail.Error
	if err == nil || errors.Is(err, ErrGone) || errors.As(err, &e) {
		return err
	}
	return &fail.Error{Op: op, Err: err}
}
