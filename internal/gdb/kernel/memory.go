package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// page bounds what is read at once: a page is readable or not.
const page = 4096

// memory reads the kernel's memory: from /proc/kcore where the kernel has that and
// lets it be read, else by a program of eBPF.
type memory struct {
	core   *core // nil: there is none
	reason error // why not
	peek   func(addr uint64, n int) ([]byte, error)
}

// openMemory looks for the file that is the kernel's memory.
func openMemory(path string, peek func(uint64, int) ([]byte, error)) *memory {
	m := &memory{peek: peek}
	f, err := os.Open(path)
	if err == nil {
		if m.core, err = readCore(f); err != nil {
			_ = f.Close()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.reason = fmt.Errorf("this kernel has no %s (CONFIG_PROC_KCORE)", path)
	case errors.Is(err, unix.EPERM):
		m.reason = fmt.Errorf("%s is closed: the kernel is locked down (confidentiality), or jalon lacks CAP_SYS_RAWIO", path)
	case err != nil:
		m.reason = fmt.Errorf("%s cannot be used: %w", path, err)
	}
	return m
}

func (m *memory) close() error {
	if m.core == nil {
		return nil
	}
	return m.core.close()
}

// read fills b from addr and returns how many bytes could be read; the error is about the next byte.
func (m *memory) read(addr uint64, b []byte) (int, error) {
	done := 0
	for done < len(b) {
		at := addr + uint64(done)
		n := min(len(b)-done, page-int(at%page))
		if err := m.readPage(at, b[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// readPage reads a part of one page. Where nothing is mapped the file has zeros, as
// it has where there are some: then the program of eBPF reads more.
func (m *memory) readPage(addr uint64, b []byte) error {
	if m.core != nil {
		ok, err := m.core.read(addr, b)
		if ok && err == nil && !allZero(b) {
			return nil
		}
	}
	data, err := m.peek(addr, len(b))
	switch {
	case err == nil:
		copy(b, data)
		return nil
	case errors.Is(err, unix.EFAULT):
		return fmt.Errorf("the kernel has no readable memory at %#x", addr)
	}
	if m.core != nil { // no eBPF: what the file says must do
		ok, cerr := m.core.read(addr, b)
		switch {
		case ok && cerr == nil:
			return nil
		case cerr != nil && !errors.Is(cerr, io.EOF):
			return fmt.Errorf("reading the kernel's memory at %#x: %w", addr, cerr)
		}
		return fmt.Errorf("the kernel has no readable memory at %#x", addr)
	}
	return fmt.Errorf("the kernel's memory cannot be read: %w; and by eBPF: %w", m.reason, err)
}

var zeros [page]byte

func allZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }
