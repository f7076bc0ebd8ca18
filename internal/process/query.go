package process

import "github.com/jalon-trace/jalon/internal/process/memory"

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
