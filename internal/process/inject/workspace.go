package inject

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

// Workspace is an address space with what jalon has put there to run system calls.
type Workspace struct {
	*memory.Space
	Stub    uint64 // where injected calls run, 0 = not made yet
	Scratch uint64 // memory of ours for arguments and lists, 0 = none

	lists, noLists bool // whether lists of calls can be run (list.go); neither: not known
}

// Open opens the memory of a process.
func Open(pid int) *Workspace { return &Workspace{Space: memory.Open(pid)} }

// WithScratch runs f with the address of memory for arguments. What f injects, it
// injects into t. The page stays until FreeScratch.
func (in *Injector[T]) WithScratch(t T, sp *Workspace, f func(scratch uint64) error) error {
	err := in.NeedScratch(t, sp)
	if err == nil {
		err = f(sp.Scratch)
	}
	if e := in.End(); err == nil {
		err = e
	}
	return err
}

// WithLimits returns the error of a call that maps memory, with the usual causes if no memory was left.
func WithLimits(err error) error {
	if !errors.Is(err, unix.ENOMEM) {
		return err
	}
	return fail.Explain("cannot allocate memory (its limits may be too low: RLIMIT_AS, RLIMIT_DATA, vm.max_map_count, or those of its control group)", err)
}

// scratchSize has room for lists of a thousand calls. What is not used takes no memory.
const scratchSize = 64 << 10

// NeedScratch allocates it, if there is none yet.
func (in *Injector[T]) NeedScratch(t T, sp *Workspace) error {
	if sp.Scratch != 0 {
		return nil
	}
	addr, err := in.Run(t, sp, unix.SYS_MMAP, sp.Place(scratchSize), scratchSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return fmt.Errorf("allocating memory in the process: %w", WithLimits(err))
	}
	sp.Scratch = addr
	return nil
}

// emptyStub reports whether no thread runs in a part of the code or will return to it from a signal
// handler.
func (in *Injector[T]) emptyStub(sp *Workspace) func(lo, hi uint64) bool {
	return func(lo, hi uint64) bool {
		for _, t := range in.threads.All() {
			var regs sys.Regs
			if t.Core().State != threads.Stopped || sys.GetRegs(t.Core().TID, &regs) != nil || regs.PC()-lo < hi-lo {
				return false
			}
			if memory.StackLeadsTo(sp.Space, regs.SP(), lo, hi) {
				return false
			}
		}
		return true
	}
}

// needStub makes the stub in an address space, or makes sure that it is still there:
// a program may replace its own pages.
func (in *Injector[T]) needStub(sp *Workspace) error {
	code := Stub()
	if sp.Stub != 0 {
		got := make([]byte, StubData)
		if sp.ReadRaw(sp.Stub, got) == nil && bytes.Equal(got, code[:StubData]) {
			return nil
		}
		sp.Stub = 0
	}
	at, err := sp.TakeSlack(code, StubData, in.emptyStub(sp))
	if errors.Is(err, memory.ErrNoSlack) {
		return &fail.Error{Op: fmt.Sprintf("run a system call in process %d", sp.Pid), Err: err}
	}
	sp.Stub = at
	return err
}

// DropStub takes the stub out again. No thread may be in it.
func (s *Workspace) DropStub() {
	if s.Stub == 0 {
		return
	}
	got, code := make([]byte, StubData), Stub()
	if s.ReadRaw(s.Stub, got) == nil && bytes.Equal(got, code[:StubData]) {
		_ = s.WriteRaw(s.Stub, make([]byte, len(code))) // an error: the memory is gone
	}
	s.Stub = 0
}

// InheritStub uses the copy of the parent's stub that a forked child has.
func (s *Workspace) InheritStub(parent *Workspace) {
	s.Stub = parent.Stub // needStub and DropStub look whether it is there
}

// FreeScratch takes out what injected calls use: the page of arguments, by a call, and
// the stub that they run in, when no thread is in it any more.
func (in *Injector[T]) FreeScratch(sp *Workspace, only T) {
	if sp.Scratch != 0 {
		if t, err := in.Pick(sp, only); err == nil {
			if _, err := in.Run(t, sp, unix.SYS_MUNMAP, sp.Scratch, scratchSize); err == nil {
				sp.Scratch = 0
			}
		}
	}
	_ = in.End() // an error: the thread is dying
	sp.DropStub()
}
