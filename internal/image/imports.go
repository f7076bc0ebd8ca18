package image

import (
	"path/filepath"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// The rule for a place with a file and a function that the file does not have: if the file imports the
// function, the place means the function that the dynamic linker finds. It is in the first module that
// exports the symbol
//
//  1. of the modules loaded at the start of the program, in the linker's order: the program, preloaded
//     libraries, the libraries that they are linked with
//  2. of the libraries that the file itself is linked with, and those that these are linked with, breadth
//     first
//
// A function of that name that is not exported is a different one. If the file does not import the
// function, a library's function of that name has no relation to it.

// Provider is the module of the process from which m takes a function; nil: it takes
// none of that name, or it is not known from where.
func (im *Image) Provider(m *Module, name string) *Module {
	if m.Open() != nil {
		return nil
	}
	symbols := m.info.ImportedAs(name)
	if len(symbols) == 0 {
		return nil
	}
	if p := firstExporter(im.initial(), m, symbols); p != nil {
		return p
	}
	return firstExporter(closure(m, im.bySoname), m, symbols)
}

// Provider is the file from which the file at path takes a function, where no process
// shows more; find gives the path of a library by the name that files are linked with.
func (f *Files) Provider(path, name string, find func(needed string) string) *Module {
	m := f.module(path)
	if m == nil {
		return nil
	}
	symbols := m.info.ImportedAs(name)
	if len(symbols) == 0 {
		return nil
	}
	return firstExporter(f.linked(m, find), m, symbols)
}

// Linked are the libraries that the file at path is linked with, those that they are
// linked with, and so on, breadth first.
func (f *Files) Linked(path string, find func(needed string) string) []*Module {
	if m := f.module(path); m != nil {
		return f.linked(m, find)
	}
	return nil
}

func (f *Files) linked(m *Module, find func(needed string) string) []*Module {
	byPath := map[string]*Module{}
	return closure(m, func(needed string) *Module {
		path := find(needed)
		if path != "" && byPath[path] == nil {
			byPath[path] = f.module(path)
		}
		return byPath[path]
	})
}

// module is the file as a module, nil when it cannot be read.
func (f *Files) module(path string) *Module {
	m, err := OfFile(path, func(*dwarf.Module) uint64 { return 0 }, f)
	if err != nil {
		return nil
	}
	return m
}

// firstExporter is the first of some modules that exports one of some symbols.
func firstExporter(list []*Module, but *Module, symbols []string) *Module {
	for _, m := range list {
		if m == but || m.Open() != nil {
			continue
		}
		for _, s := range symbols {
			if yes, err := m.info.File().Exports(s); err == nil && yes {
				return m
			}
		}
	}
	return nil
}

// maxClosure bounds how many libraries are looked at.
const maxClosure = 4096

// closure are the libraries that m is linked with, those that they are linked with, and
// so on, breadth first.
func closure(m *Module, find func(needed string) *Module) (list []*Module) {
	queue := []*Module{m}
	seen := map[string]bool{}
	for i := 0; i < len(queue) && i < maxClosure; i++ {
		if queue[i].Open() != nil {
			continue
		}
		needed, _, err := queue[i].info.File().Needed()
		if err != nil {
			continue
		}
		for _, name := range needed {
			if seen[name] {
				continue
			}
			seen[name] = true
			if l := find(name); l != nil && !slices.Contains(queue, l) {
				queue = append(queue, l)
			}
		}
	}
	return queue[1:]
}

// bySoname is the module that files are linked with by a name.
func (im *Image) bySoname(needed string) *Module {
	for _, m := range im.mods {
		if m.Path == needed || filepath.Base(m.Path) == needed {
			return m
		}
	}
	for _, m := range im.mods {
		if m.Open() != nil {
			continue
		}
		if _, soname, err := m.info.File().Needed(); err == nil && soname == needed {
			return m
		}
	}
	return nil
}

// initial are the modules that the process began with, in the order in which the dynamic
// linker looks for symbols; none where its list cannot be read.
func (im *Image) initial() (list []*Module) {
	if im.pid == 0 || len(im.mods) == 0 {
		return nil
	}
	read, mem, err := im.Memory()
	if err != nil {
		return nil
	}
	defer mem.Close()
	auxv, err := procdir.Auxv(im.pid)
	if err != nil {
		return nil
	}
	spaces, err := LinkMaps(read, auxv)
	if err != nil || len(spaces) == 0 {
		return nil
	}
	// Libraries loaded later come after all of these.
	needed := closure(im.mods[0], im.bySoname)
	last := 0
	for _, l := range spaces[0].List {
		m := im.Owner(l.Dynamic)
		if m == nil {
			continue
		}
		if list = append(list, m); m == im.mods[0] || slices.Contains(needed, m) {
			last = len(list)
		}
	}
	return list[:last]
}
