package process

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// space is an address space: that of the process, or of a child with a copy.
type space struct {
	pid     int // the process
	mem     *os.File
	memErr  error
	escape  uint64 // where injected calls run, 0 = not made yet; see escape.go
	scratch uint64 // a page of ours for arguments, 0 = none

	breaks map[uint64]uint8 // int3 of jalon's own (not sites) -> the byte below
}

// newSpace opens the memory of a process. The file is bound to the memory that it
// has now: after exec it leads nowhere.
func newSpace(pid int) *space {
	s := &space{pid: pid, breaks: map[uint64]uint8{}}
	s.mem, s.memErr = procdir.Mem(pid, os.O_RDWR)
	return s
}

func (s *space) close() {
	if s != nil && s.mem != nil {
		_ = s.mem.Close()
		s.mem = nil
		s.memErr = ErrGone
	}
}

// read fills b from addr, or fails as a whole. Jalon's own breakpoints do not show.
func (s *space) read(addr uint64, b []byte) error {
	if err := s.readRaw(addr, b); err != nil {
		return err
	}
	s.hideBreaks(addr, b)
	return nil
}

// hideBreaks puts the bytes below jalon's own breakpoints into what was read at addr.
func (s *space) hideBreaks(addr uint64, b []byte) {
	for a, orig := range s.breaks {
		if a-addr < uint64(len(b)) {
			b[a-addr] = orig
		}
	}
}

// readRaw is read with the breakpoints.
func (s *space) readRaw(addr uint64, b []byte) error {
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

// write stores b at addr, into pages without write permission too.
func (s *space) write(addr uint64, b []byte) error {
	if s.memErr != nil {
		return s.memErr
	}
	for a := range s.breaks {
		if a-addr < uint64(len(b)) {
			s.breaks[a] = b[a-addr]
			b = bytes.Clone(b)
			b[a-addr] = int3
		}
	}
	return s.writeRaw(addr, b)
}

func (s *space) writeRaw(addr uint64, b []byte) error {
	n, err := s.mem.WriteAt(b, int64(addr))
	if err == nil {
		return nil
	}
	// Linux 6.12 can be told to refuse writes to read-only pages by this way
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

// poke writes by way of any thread that is stopped.
func (s *space) poke(addr uint64, b []byte) bool {
	tids, err := sys.ThreadsOf(s.pid)
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

const int3 = 0xcc

// find searches a mapping for bytes.
func (s *space) find(m *Mapping, want []byte) (uint64, bool) {
	buf := make([]byte, 64<<10)
	for at := m.Start; at < m.End; {
		n := min(uint64(len(buf)), m.End-at)
		if s.read(at, buf[:n]) != nil {
			return 0, false
		}
		if i := bytes.Index(buf[:n], want); i >= 0 {
			return at + uint64(i), true
		}
		if at+n >= m.End {
			break
		}
		at += n - uint64(len(want)-1)
	}
	return 0, false
}

// withScratch runs f with the address of memory for arguments. What f injects, it
// injects into t. The page stays until Detach.
func (p *Process) withScratch(t *task, f func(scratch uint64) error) error {
	err := p.needScratch(t, p.space)
	if err == nil {
		err = f(p.space.scratch)
	}
	if e := p.endInjection(); err == nil {
		err = e
	}
	return err
}

func (p *Process) needScratch(t *task, sp *space) error {
	if sp.scratch != 0 {
		return nil
	}
	addr, err := p.inject(t, sp, unix.SYS_MMAP, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return fmt.Errorf("allocating a page in the process: %w", err)
	}
	sp.scratch = addr
	return nil
}

const pageSize = 4096

// is64 reads the class of the program's ELF file: "not ours" is better said
// before anything is touched.
func is64(pid int) (bool, error) {
	f, err := procdir.Via(pid, func(dir string) (*os.File, error) { return os.Open(dir + "/exe") })
	if err != nil {
		return false, err
	}
	defer f.Close()
	var ident [20]byte
	if _, err := f.ReadAt(ident[:], 0); err != nil {
		return false, err
	}
	return string(ident[:4]) == elf.ELFMAG && ident[elf.EI_CLASS] == byte(elf.ELFCLASS64) &&
		elf.Machine(uint16(ident[18])|uint16(ident[19])<<8) == elf.EM_X86_64, nil
}
