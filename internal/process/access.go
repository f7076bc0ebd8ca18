package process

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/fail"
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

// access names what was attempted.
func access(op string, err error) error {
	var e *fail.Error
	if err == nil || errors.Is(err, ErrGone) || errors.As(err, &e) {
		return err
	}
	return &fail.Error{Op: op, Err: err}
}
