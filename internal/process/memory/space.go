package memory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Space is an address space: that of the process, or of a child with a copy.
type Space struct {
	Pid    int // the process that it was opened by
	mem    *os.File
	memErr error

	place uint64 // of the memory that was placed last: see Place

	Breaks map[uint64]uint8 // int3 of jalon's own (not sites) -> the byte below
}

// Open opens the memory of a process. The file is bound to the memory that it
// has now: after exec it leads nowhere.
func Open(pid int) *Space {
	s := &Space{Pid: pid, Breaks: map[uint64]uint8{}}
	s.mem, s.memErr = procdir.Mem(pid, os.O_RDWR)
	return s
}

// Close closes the file. The memory cannot be accessed after it.
func (s *Space) Close() {
	if s.mem != nil {
		_ = s.mem.Close()
		s.mem = nil
		s.memErr = ErrGone
	}
}

// Err returns why the memory cannot be accessed, or nil.
func (s *Space) Err() error { return s.memErr }

// Read fills b from addr, or fails as a whole. Jalon's own breakpoints do not show.
func (s *Space) Read(addr uint64, b []byte) error {
	if err := s.ReadRaw(addr, b); err != nil {
		return err
	}
	s.hideBreaks(addr, b)
	return nil
}

// hideBreaks puts the bytes below jalon's own breakpoints into bytes that were read at addr.
func (s *Space) hideBreaks(addr uint64, b []byte) {
	for a, orig := range s.Breaks {
		if a-addr < uint64(len(b)) {
			b[a-addr] = orig
		}
	}
}

// ReadRaw is read with the breakpoints.
func (s *Space) ReadRaw(addr uint64, b []byte) error {
	if s.memErr != nil {
		return s.memErr
	}
	n, err := s.mem.ReadAt(b, int64(addr))
	if n == len(b) {
		err = nil
	}
	if err != nil {
		return readError(addr, n, err)
	}
	return nil
}

func readError(addr uint64, n int, err error) error {
	if errors.Is(err, io.EOF) { // the memory is that of a program that ended
		return ErrGone
	}
	return fmt.Errorf("memory at %#x cannot be read: %w", addr+uint64(n), err)
}

// Write stores b at addr, into pages without write permission too.
func (s *Space) Write(addr uint64, b []byte) error {
	if s.memErr != nil {
		return s.memErr
	}
	for a := range s.Breaks {
		if a-addr < uint64(len(b)) {
			s.Breaks[a] = b[a-addr]
			b = bytes.Clone(b)
			b[a-addr] = Int3
		}
	}
	return s.WriteRaw(addr, b)
}

// WriteRaw is Write that overwrites breakpoints.
func (s *Space) WriteRaw(addr uint64, b []byte) error {
	n, err := s.mem.WriteAt(b, int64(addr))
	if err == nil {
		return nil
	}
	// Linux 6.12 can be set to refuse writes to read-only pages by this way
	// (proc_mem.force_override=never); ptrace itself still may.
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.EFAULT) {
		if s.poke(addr, b) {
			return nil
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrShortWrite) || errors.Is(err, io.EOF) {
		return ErrGone
	}
	return fmt.Errorf("memory at %#x cannot be written: %w", addr+uint64(n), err)
}

// WriteWhole is Write of a few bytes that lie in two pages: all or none are written. A write to /proc/PID/mem goes page
// by page, and a SIGKILL of jalon ends it in between: the first bytes of a jump would be in the program, and not the
// rest. process_vm_writev looks for signals only before it has both pages. False: it is to be written as all else.
//
// The process must not be able to call exec: the bytes would go to the new program.
func (s *Space) WriteWhole(addr uint64, b []byte) bool {
	const few = 32
	if s.memErr != nil || len(b) > few || !InTwoPages(addr, len(b)) {
		return false
	}
	for a := range s.Breaks {
		if a-addr < uint64(len(b)) {
			return false
		}
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMWritev(s.Pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	return err == nil && n == len(b)
}

// InTwoPages reports whether n bytes cross the end of a page.
func InTwoPages(addr uint64, n int) bool { return addr&(PageSize-1)+uint64(n) > PageSize }

// poke writes by way of any thread that is stopped.
func (s *Space) poke(addr uint64, b []byte) bool {
	tids, err := sys.ThreadsOf(s.Pid)
	if err != nil {
		return false
	}
	for _, tid := range tids {
		_, err := unix.PtracePokeData(tid, uintptr(addr), b)
		if !errors.Is(err, unix.ESRCH) { // it runs, or has ended
			return err == nil
		}
	}
	return false
}

// Int3 is the breakpoint instruction of x86-64.
const Int3 = 0xcc

// PageSize is the size of a page.
const PageSize = 4096

// ReadSome reads from addr as far as there is something, and gives the number of bytes.
func (s *Space) ReadSome(addr uint64, b []byte) int {
	if s.memErr != nil {
		return 0
	}
	n, _ := s.mem.ReadAt(b, int64(addr)) // an error: there is no more
	s.hideBreaks(addr, b[:n])
	return n
}

// ErrGone is the error of the memory of a process that has ended.
var ErrGone = errors.New("the process is gone")
