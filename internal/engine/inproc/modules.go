package inproc

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
)

// updateModules keeps the modules that are already open.
func (e *Engine) updateModules(maps []process.Mapping) {
	old := map[mapped]*module{}
	for _, m := range e.mods {
		old[mappedFile(&m.maps[0])] = m
	}
	e.mods = modules(e.p.Pid(), e.withCovered(maps))
	e.calls = uprobeCalls(maps)
	for i, m := range e.mods {
		if o := old[mappedFile(&m.maps[0])]; o != nil && o.maps[0].Start == m.maps[0].Start {
			o.maps = m.maps
			e.mods[i] = o
		}
		e.mods[i].running = !e.fresh
	}
}

// HasLinker reports whether a program at its first instruction has ld.so mapped
// beside it. A static program has its functions, but never gets there.
func HasLinker(pid int) bool {
	maps, err := process.Maps(pid)
	return err == nil && len(modules(pid, maps)) > 1
}

// root is the process's root directory when it is another than ours.
func (e *Engine) root() string {
	theirs := procdir.Link(e.p.Pid(), "root")
	if openfile.Same(theirs, "/") {
		return ""
	}
	return theirs
}

func indirect(w *Site) string {
	return fmt.Sprintf("%s is an indirect function: the site at %#x is the resolver, which runs once, not the function that it chooses", w.site.Func, w.Addr())
}
