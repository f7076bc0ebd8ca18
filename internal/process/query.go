package process

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Maps lists the memory of a process without stopping it.
func Maps(pid int) ([]Mapping, error) { return readMaps(pid) }

// WatchesModules reports whether OnModules will be called: whether the process
// has a dynamic linker that can be watched.
func (p *Process) WatchesModules() bool {
	found := false
	_ = p.do(func() error { found = p.modules.addr != 0; return nil }) // ErrGone: it is not watched
	return found
}

// rseqConf is struct ptrace_rseq_configuration (Linux 5.13).
type rseqConf struct {
	addr             uint64
	size, sig, flags uint32
	_                uint32
}

func getRseq(tid int) (c rseqConf, ok bool) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_RSEQ_CONFIGURATION, uintptr(tid),
		unsafe.Sizeof(c), uintptr(unsafe.Pointer(&c)), 0, 0)
	return c, e == 0 && c.addr != 0
}

// RseqOffset is the distance of the threads' struct rseq (rseq(2)) from their
// thread pointers, when there is one that holds for all of them.
func (s *Stopped) RseqOffset() (offset int64, ok bool) {
	threads, err := s.Threads()
	if err != nil {
		return 0, false
	}
	for _, t := range threads {
		if t.Parked || t.Foreign {
			continue
		}
		c, has := getRseq(t.TID)
		if !has || t.Regs.ThreadPointer() == 0 {
			return 0, false
		}
		o := int64(c.addr - t.Regs.ThreadPointer())
		if ok && o != offset {
			return 0, false
		}
		offset, ok = o, true
	}
	return offset, ok
}
