package process

import (
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Mapping is one line of /proc/PID/maps.
type Mapping = memory.Mapping

// Maps lists the memory of a process without stopping it.
func Maps(pid int) ([]Mapping, error) { return memory.ReadMaps(pid) }

// WatchesModules reports whether OnModules will be called: whether the process
// has a dynamic linker that can be watched.
func (p *Process) WatchesModules() bool {
	found := false
	_ = p.do(func() error { found = p.linker.modules.addr != 0; return nil }) // ErrGone: it is not watched
	return found
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
		c, has := sys.GetRseq(t.TID)
		if !has || t.Regs.ThreadPointer() == 0 {
			return 0, false
		}
		o := int64(c.Addr - t.Regs.ThreadPointer())
		if ok && o != offset {
			return 0, false
		}
		offset, ok = o, true
	}
	return offset, ok
}
