package image

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// The rule for a place with a file and a function that the file does not have: if the file imports the
// function, the place means the function that the dynamic linker finds. It searches
//
//  1. the modules loaded at the start of the program, in the linker's order: the program, preloaded
//     libraries, the libraries that they are linked with
//  2. for a file that dlopen loaded, and for what such files were linked with: those that were opened with RTLD_GLOBAL,
//     and the libraries that were loaded with the file; before all others if it was opened with RTLD_DEEPBIND
//
// in the namespace of the file (dlmopen), and takes the first that exports the symbol, in the version that the file asks
// for. How a file was opened is not recorded where a debugger could read it. So where several export the symbol, the words through
// which the file calls say which it is, if they are bound already; else it is known for files of the first kind.
//
// A function of that name that is not exported is a different one. If the file does not import the
// function, a library's function of that name has no relation to it.

// UnsureError: it is not known which of several files a file uses.
type UnsureError struct {
	File, Name string
	Several    []string
}

func (e *UnsureError) Error() string {
	return fmt.Sprintf("%s imports %s, and %s export it; which of them it uses is not known before it has called it: name that file",
		e.File, e.Name, strings.Join(e.Several, " and "))
}

// Provider is the module of the process from which m takes a function; nil: it takes
// none of that name. The error is an *UnsureError.
func (im *Image) Provider(m *Module, name string) (*Module, error) {
	if m.Open() != nil {
		return nil, nil
	}
	symbols := m.info.ImportedAs(name)
	if len(symbols) == 0 {
		return nil, nil
	}
	list, initial := im.linked(m)
	all := exporters(list, m, symbols)
	if len(all) < 2 {
		return first(all), nil
	}
	if p := im.bound(m, symbols, all); p != nil {
		return p, nil
	}
	atStart := exporters(list[:initial], m, symbols)
	if len(atStart) > 0 && slices.Contains(list[:initial], m) {
		return atStart[0], nil
	}
	unsure := &UnsureError{File: m.Path, Name: name}
	for _, p := range all {
		unsure.Several = append(unsure.Several, p.Path)
	}
	return nil, unsure
}

// bound is the one of some modules to which a word leads through which m uses a symbol.
func (im *Image) bound(m *Module, symbols []elf.Import, of []*Module) *Module {
	read, mem, err := im.Memory()
	if err != nil {
		return nil
	}
	defer mem.Close()
	for _, s := range symbols {
		for _, at := range m.info.File().Words(s.Name) {
			if v, err := read.word(m.bias + at); err == nil {
				if p := im.Owner(v); slices.Contains(of, p) {
					return p
				}
			}
		}
	}
	return nil
}

// Replaces returns why m may use a symbol of another module in place of its own of that name, though no word of m shows
// it; "" if m uses its own.
func (im *Image) Replaces(m *Module, symbol string) (why string) {
	list, initial := im.linked(m)
	atStart := slices.Contains(list[:initial], m)
	for i, o := range list {
		switch {
		case o == m && atStart:
			return "" // it comes first
		case o == m || o.Open() != nil:
			continue
		}
		if l, err := o.info.File().Exports(symbol); err != nil || len(l) == 0 {
			continue
		}
		if atStart && i < initial {
			return fmt.Sprintf("this file uses the %s of %s in its place", symbol, o.Path)
		}
		return Unknown(o.Path, symbol)
	}
	return ""
}

// Unknown says that a file's exported symbol is also exported by another one.
func Unknown(other, symbol string) string {
	return fmt.Sprintf("%s exports %s too, and which of the two this file uses is not known", other, symbol)
}

// Rank is the place of a module in the dynamic linker's order; large where it is not known.
func (im *Image) Rank() func(*Module) int {
	order := map[*Module]int{}
	if spaces, ok := im.spaces(); ok {
		for _, s := range spaces {
			for _, m := range im.members(s) {
				order[m] = len(order)
			}
		}
	}
	return func(m *Module) int {
		if n, ok := order[m]; ok {
			return n
		}
		return len(order)
	}
}

// Replaces is what Image.Replaces returns where no process shows more: for the file at path in processes of a program.
func (f *Files) Replaces(program, path, symbol string, find func(needed string) string) (why string) {
	m := f.module(program)
	if m == nil {
		return fmt.Sprintf("a program may have a %s of its own, which this file then uses in place of its own", symbol)
	}
	for _, o := range append([]*Module{m}, f.linked(m, find)...) {
		if openfile.Same(o.File(), path) {
			return ""
		}
		if l, err := o.info.File().Exports(symbol); err == nil && len(l) > 0 {
			return Unknown(o.Path, symbol)
		}
	}
	return ""
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
	return first(exporters(f.linked(m, find), m, symbols))
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

// exporters are those of some modules that export one of some symbols as a function.
func exporters(list []*Module, but *Module, symbols []elf.Import) (out []*Module) {
	for _, m := range list {
		if m != but && m.Open() == nil && slices.ContainsFunc(symbols, m.exports) {
			out = append(out, m)
		}
	}
	return out
}

func (m *Module) exports(im elf.Import) bool {
	f := m.info.File()
	list, err := f.Exports(im.Name)
	return err == nil && slices.ContainsFunc(list, func(v elf.Versioned) bool { return f.IsFunc(v.Symbol) && v.Satisfies(im) })
}

func first(list []*Module) *Module {
	if len(list) == 0 {
		return nil
	}
	return list[0]
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

// linked are the modules in the namespace of m, in the order in which the dynamic linker looks for symbols; those that
// the process began with come first. Where the linker's lists cannot be read, they are all modules, by address.
func (im *Image) linked(m *Module) (list []*Module, initial int) {
	spaces, ok := im.spaces()
	if !ok {
		return im.mods, 0
	}
	for i, s := range spaces {
		list = im.members(s)
		if !slices.Contains(list, m) {
			continue
		}
		if i == 0 {
			initial = im.initial(list)
		}
		return list, initial
	}
	return im.mods, 0
}

// spaces are the dynamic linker's lists.
func (im *Image) spaces() ([]Namespace, bool) {
	if im.pid == 0 || len(im.mods) == 0 {
		return nil, false
	}
	read, mem, err := im.Memory()
	if err != nil {
		return nil, false
	}
	defer mem.Close()
	auxv, err := procdir.Auxv(im.pid)
	if err != nil {
		return nil, false
	}
	spaces, err := LinkMaps(read, auxv)
	return spaces, err == nil && len(spaces) > 0
}

func (im *Image) members(s Namespace) (list []*Module) {
	for _, l := range s.List {
		if m := im.Owner(l.Dynamic); m != nil {
			list = append(list, m)
		}
	}
	return list
}

// initial is how many modules of the linker's first list the process began with: libraries loaded later come after all
// of these.
func (im *Image) initial(list []*Module) (n int) {
	needed := closure(im.mods[0], im.bySoname)
	for i, m := range list {
		if m == im.mods[0] || slices.ContainsFunc(needed, m.SameFile) {
			n = i + 1
		}
	}
	return n
}
