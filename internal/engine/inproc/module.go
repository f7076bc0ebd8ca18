package inproc

import (
	"fmt"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// module is a file of the process's image with its code.
type module struct {
	*image.Module
	dw          *dwarf.Module // set, like bias, by open
	bias        uint64
	cancelled   func() bool // the user has ended the session; may be nil
	running     bool        // threads have run code of the module and were interrupted in it
	text        *patch.Text // made on first use, see textOf
	textErr     error
	copies      []copies      // of code; see copied
	pages       []patch.Range // of its segments; made on first use
	copiesKnown bool
	stackOnce   sync.Once
	stack       func() (*patch.GoStack, error) // made on first use, see gostack.go
}

// open reads the file's headers and finds the load bias.
func (m *module) open() error {
	err := m.Open()
	m.dw, m.bias = m.Info(), m.Bias()
	return err
}

// modules are the modules of a process.
type modules struct {
	*target
	space *image.Image // nil: the process has not been read yet
	list  []*module    // of space
}

// update reads the mappings of the process, and keeps modules that are mapped where they were.
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
			m = &module{Module: im, cancelled: func() bool { return l.interrupted() != nil }}
		}
		m.running = !l.fresh
		l.list = append(l.list, m)
	}
}

func (l *modules) newFiles() *image.Files {
	return image.NewFiles(dwarf.Options{DebugDirs: l.opt.DebugDirs, Warn: func(m string) { l.logf("%s", m) }})
}

// libcSequences is where libc has the threads' struct rseq, from their thread pointers; 0: nowhere, or not known.
func (l *modules) libcSequences() int64 {
	if l.space == nil {
		return 0
	}
	offset, ok := l.space.LibcSequences(func(addr uint64, b []byte) error {
		_, err := l.p.ReadMemory(addr, b)
		return err
	})
	if !ok {
		return 0
	}
	return offset
}

// close closes the files.
func (l *modules) close() {
	for _, m := range l.list {
		if m.dw != nil {
			_ = m.dw.Close() // it was only read from
		}
	}
	l.space, l.list = nil, nil
}

// indirect returns the warning for a site in the resolver of an indirect function.
func indirect(w *Site) string {
	return fmt.Sprintf("%s is an indirect function: the site at %#x is the resolver, which runs once, not the function that it chooses", w.site.Func, w.Addr())
}

// Symbol names a run-time address in code or data: "main", "main+4"; "" if unknown.
func (e *Engine) Symbol(addr uint64) string {
	if e.mods.space == nil {
		return ""
	}
	return e.mods.space.Symbol(addr)
}

// Unwind returns the frames of a $bt field of a hit between two times, in nanoseconds of CLOCK_MONOTONIC.
func (e *Engine) Unwind(v *event.Value, from, to int64) []debuginfo.Frame {
	if e.mods.space == nil {
		return nil
	}
	space := e.mods.space.Within(from, to)
	if v.Field.Kind == event.Stack {
		return space.Unwind(v.Data, v.Stack)
	}
	return space.Walked(v.Frames(), unwind.End(v.End))
}

// Epoch identifies the modules by which Unwind names a stack.
func (e *Engine) Epoch(from, to int64) uint64 {
	if e.mods.space == nil {
		return 0
	}
	return e.mods.space.Epoch(from, to)
}

// HasLinker reports whether ld.so is mapped beside a program at its first instruction. A static program
// contains ld.so's functions, but never calls them.
func HasLinker(pid int) bool {
	im, err := image.OfProcess(pid, nil)
	return err == nil && len(im.Modules()) > 1
}
