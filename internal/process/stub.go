package process

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// space is an address space with what jalon has put there to run system calls.
type space struct {
	*memory.Space
	stub    uint64 // where injected calls run, 0 = not made yet; see stub.go
	scratch uint64 // a page of ours for arguments, 0 = none
}

func newSpace(pid int) *space { return &space{Space: memory.Open(pid)} }

// withScratch runs f with the address of memory for arguments. What f injects, it
// injects into t. The page stays until Detach.
func (p *injector) withScratch(t *task, f func(scratch uint64) error) error {
	err := p.needScratch(t, p.space)
	if err == nil {
		err = f(p.space.scratch)
	}
	if e := p.endInjection(); err == nil {
		err = e
	}
	return err
}

func (p *injector) needScratch(t *task, sp *space) error {
	if sp.scratch != 0 {
		return nil
	}
	addr, err := p.inject(t, sp, unix.SYS_MMAP, 0, memory.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return fmt.Errorf("allocating a page in the process: %w", err)
	}
	sp.scratch = addr
	return nil
}

// emptyStub reports whether no thread runs in a part of the code or comes back to it
// from a signal handler.
func (p *injector) emptyStub(sp *space) func(lo, hi uint64) bool {
	return func(lo, hi uint64) bool {
		for _, t := range p.threads.All() {
			var regs Regs
			if t.State != threads.Stopped || sys.GetRegs(t.TID, &regs) != nil || regs.PC()-lo < hi-lo {
				return false
			}
			if memory.StackLeadsTo(sp.Space, regs.SP(), lo, hi) {
				return false
			}
		}
		return true
	}
}

// needEscape makes the stub in an address space, or makes sure that it is still there:
// a program may replace its own pages.
func (p *injector) needStub(sp *space) error {
	code := stubBytes()
	if sp.stub != 0 {
		got := make([]byte, stubData)
		if sp.ReadRaw(sp.stub, got) == nil && bytes.Equal(got, code[:stubData]) {
			return nil
		}
		sp.stub = 0
	}
	at, err := sp.TakeSlack(code, stubData, p.emptyStub(sp))
	if errors.Is(err, memory.ErrNoSlack) {
		return &fail.Error{Op: fmt.Sprintf("run a system call in process %d", sp.Pid), Err: err}
	}
	sp.stub = at
	return err
}

// dropEscape takes the stub out again. No thread may be in it.
func (s *space) dropStub() {
	if s.stub == 0 {
		return
	}
	got, code := make([]byte, stubData), stubBytes()
	if s.ReadRaw(s.stub, got) == nil && bytes.Equal(got, code[:stubData]) {
		_ = s.WriteRaw(s.stub, make([]byte, len(code))) // an error: the memory is gone
	}
	s.stub = 0
}

// inheritEscape uses the copy of the parent's stub that a forked child has.
func (sp *space) inheritStub(parent *space) {
	sp.stub = parent.stub // needEscape and dropEscape look whether it is there
}
