package inproc

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// module is a file of the process's image with what the engine knows of its code.
type module struct {
	*image.Module
	dw          *dwarf.Module // set, like bias, by open
	bias        uint64
	running     bool        // threads have run code of the module and were interrupted in it
	text        *patch.Text // made when needed, see textOf
	textErr     error
	copies      []copies // of code; see copied
	copiesKnown bool
	stack       func() (*patch.GoStack, error) // made when needed, see gostack.go
}

// open reads the file's headers and finds the load bias.
func (m *module) open() error {
	err := m.Open()
	m.dw, m.bias = m.Info(), m.Bias()
	return err
}

// modules are those of a process.
type modules struct {
	*target
	space *image.Image // nil: the process was not looked at yet
	list  []*module    // of space
}

// update looks at what the process has mapped, and keeps what is known of modules that
// are where they were.
func (l *modules) update(maps []process.Mapping) {
	if l.space == nil {
		l.space = image.New(l.p.Pid(), l.newFiles())
	}
	old := map[*image.Module]*module{}
	for _, m := range l.list {
		old[m.Module] = m
	}
	l.space.Update(maps)
	l.list = nil
	for _, im := range l.space.Modules() {
		m := old[im]
		if m == nil {
			m = &module{Module: im}
		}
		m.running = !l.fresh
		l.list = append(l.list, m)
	}
}

func (l *modules) newFiles() *image.Files {
	return image.NewFiles(dwarf.Options{DebugDirs: l.opt.DebugDirs, Warn: func(m string) { l.logf("%s", m) }})
}

// close closes the files.
func (l *modules) close() {
	for _, m := range l.list {
		if m.dw != nil {
			_ = m.dw.Close() // it was only read
		}
	}
	l.space, l.list = nil, nil
}

// indirect is the warning for a site in the resolver of an indirect function.
func indirect(w *Site) string {
	return fmt.Sprintf("%s is an indirect function: the site at %#x is the resolver, which runs once, not the function that it chooses", w.site.Func, w.Addr())
}

// Symbol names a run-time address in code or data: "main", "main+4", "" when nothing is
// known.
func (e *Engine) Symbol(addr uint64) string {
	if e.mods.space == nil {
		return ""
	}
	return e.mods.space.Symbol(addr)
}

// Unwind gives the frames of a $bt field.
func (e *Engine) Unwind(v *event.Value) []debuginfo.Frame {
	if e.mods.space == nil {
		return nil
	}
	return e.mods.space.Unwind(v.Data, v.Stack)
}

// HasLinker reports whether a program at its first instruction has ld.so mapped
// beside it. A static program has its functions, but never gets there.
func HasLinker(pid int) bool {
	im, err := image.OfProcess(pid, nil)
	return err == nil && len(im.Modules()) > 1
}
