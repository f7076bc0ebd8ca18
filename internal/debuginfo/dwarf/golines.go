package dwarf

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
	"github.com/jalon-trace/jalon/internal/debuginfo/pclntab"
)

// goLines are the lines that a program of Go has without DWARF: those of its own tracebacks. Code that is inlined has the lines
// of its own source, but not the name of its function.
type goLines struct {
	*object

	once  sync.Once
	table *pclntab.Table // nil if the program has none that can be read
	start uint64
	files map[string]*line.Source // without entries
	lists map[string][]*line.Source
}

func (gl *goLines) opened() bool {
	gl.once.Do(func() {
		if gl.ofGo() {
			gl.table, gl.start, _ = gl.file.GoTable()
			gl.files, gl.lists = map[string]*line.Source{}, map[string][]*line.Source{}
		}
	})
	return gl.table != nil
}

// source is the file of a name: one for each.
func (gl *goLines) source(name string) *line.Source {
	s := gl.files[name]
	if s == nil {
		s = &line.Source{Name: name, Full: name}
		gl.files[name] = s
	}
	return s
}

// find finds the line that covers a pc.
func (gl *goLines) find(pc uint64) line.Place {
	if f := gl.function(pc); f != nil {
		lines, _ := gl.table.Lines(f) // a damaged function has none
		for _, l := range lines {
			if at := pc - gl.start; at >= l.Lo && at < l.Hi {
				return line.Place{File: gl.source(l.File), Line: l.Line, PC: gl.start + l.Lo, End: gl.start + l.Hi, Stmt: true}
			}
		}
	}
	return line.Place{PC: pc}
}

// function returns the function that covers an address; nil if the table has none, or it is damaged.
func (gl *goLines) function(addr uint64) *pclntab.Func {
	if !gl.opened() || addr < gl.start {
		return nil
	}
	i := gl.table.At(addr - gl.start)
	if i < 0 {
		return nil
	}
	f, err := gl.table.Func(i)
	if err != nil {
		return nil
	}
	return &f
}

// sources returns the lines of the files that the user's name means.
func (gl *goLines) sources(file string) []*line.Source {
	if !gl.opened() {
		return nil
	}
	if list, ok := gl.lists[file]; ok {
		return list
	}
	meant, made := map[string]*line.Source{}, []*line.Source{}
	of := func(name string) *line.Source {
		s, known := meant[name]
		if !known && (line.File{Name: name, Full: name, OK: true}).Matches(file) {
			s = &line.Source{Name: name, Full: name}
			made = append(made, s)
		}
		meant[name] = s
		return s
	}
	gl.eachFunc(func(f *pclntab.Func) {
		any := false
		gl.table.Files(f, func(name string) { any = of(name) != nil || any })
		if !any {
			return
		}
		lines, _ := gl.table.Lines(f)
		for i, l := range lines {
			s := of(l.File)
			if s == nil {
				continue
			}
			s.Entries = append(s.Entries, line.Entry{PC: gl.start + l.Lo, Line: int32(l.Line), Stmt: true})
			if i+1 == len(lines) || lines[i+1].File != l.File || lines[i+1].Lo != l.Hi {
				s.Entries = append(s.Entries, line.Entry{PC: gl.start + l.Hi, Stmt: true}) // the end of the file's code there
			}
		}
	})
	gl.lists[file] = made
	return made
}

// eachFile visits the names of the source files, some of them more than once.
func (gl *goLines) eachFile(visit func(name string)) {
	if gl.opened() {
		gl.eachFunc(func(f *pclntab.Func) { gl.table.Files(f, visit) })
	}
}

func (gl *goLines) eachFunc(visit func(*pclntab.Func)) {
	for i := range gl.table.Len() {
		if f, err := gl.table.Func(i); err == nil {
			visit(&f)
		}
	}
}

// declared is where the function that begins at an address is declared.
func (gl *goLines) declared(addr uint64) (file string, number int) {
	f := gl.function(addr)
	if f == nil || f.Lo != addr-gl.start || f.StartLine <= 0 {
		return "", 0
	}
	gl.table.Files(f, func(name string) {
		if file == "" { // a function begins with its own code
			file = name
		}
	})
	return file, f.StartLine
}
