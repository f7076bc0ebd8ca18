package dwarf

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// LineSites returns every address where GDB's `break file:line` would stop: one
// for each function, block and inlined copy that has code for the line. When no
// code has the line, the next line with code is taken and Site.ActualLine says
// so. file matches by its last path components. The error is a
// *debuginfo.NotFoundError when the file is unknown or has no code from line on.
func (m *Module) LineSites(file string, line int) (sites []Site, err error) {
	defer m.guard(&err)()
	tables := m.tables(file)
	if len(tables) == 0 {
		return nil, m.noFile(file)
	}
	pcs, best := exactPCs(tables, line)
	if len(pcs) == 0 && best > 0 {
		line = best
		pcs, _ = exactPCs(tables, line)
	}
	pcs = m.onePerBlock(pcs)
	set := siteSet{m: m}
	for _, p := range pcs {
		s := sal{file: p.file, line: line, pc: p.pc}
		if !p.file.isAsm() {
			s = m.skipPrologue(s)
		}
		set.add(s, Site{ActualLine: s.line, place: p.file.full})
	}
	if len(set.sites) == 0 {
		return nil, noLine(file, line, tables)
	}
	return set.sorted(), nil
}

// tables returns the line tables of the files that the user's name means.
func (m *Module) tables(file string) []*subfile {
	var out []*subfile
	for _, u := range m.names().withSource(file) {
		for _, f := range u.sourceNames() {
			if !f.ok || !f.matches(file) {
				continue
			}
			for _, s := range u.lineTab().files {
				if (lineFile{s.name, s.full, true}).matches(file) && len(s.entries) > 0 {
					out = append(out, s)
				}
			}
			break
		}
	}
	return out
}

// eachUnit visits the units that can have lines.
func (m *Module) eachUnit(visit func(*unit)) {
	if m.d == nil {
		return
	}
	x := m.names()
	for id := range x.main {
		if x.hasCode(id) {
			visit(x.units[id])
		}
	}
}

type linePC struct {
	pc   uint64
	file *subfile
}

// exactPCs finds the statements of a line, and the smallest later line.
func exactPCs(tables []*subfile, line int) (pcs []linePC, best int) {
	for _, t := range tables {
		next := t.eachOf(line, func(e *lineEntry) { pcs = append(pcs, linePC{e.pc, t}) })
		if next > 0 && (best == 0 || next < best) {
			best = next
		}
	}
	return pcs, best
}

// fewLookups is how often a table is searched before an index of its lines is made: one
// place does not pay for sorting, a listing of all lines must not search for each.
const fewLookups = 4

// eachOf calls f for the statements of a line in the order of addresses, and returns the
// next line that has statements; 0: none.
func (t *subfile) eachOf(line int, f func(*lineEntry)) (next int) {
	if t.lookups++; t.lookups > fewLookups {
		return t.indexed(line, f)
	}
	for i := range t.entries {
		e := &t.entries[i]
		switch l := int(e.line); {
		case !e.stmt || l < line:
		case l == line:
			f(e)
		case next == 0 || l < next:
			next = l
		}
	}
	return next
}

// indexed is eachOf by an index, which is made at first use.
func (t *subfile) indexed(line int, f func(*lineEntry)) (next int) {
	if t.byLine == nil {
		t.byLine = make([]int32, 0, len(t.entries))
		for i := range t.entries {
			if t.entries[i].stmt {
				t.byLine = append(t.byLine, int32(i))
			}
		}
		slices.SortStableFunc(t.byLine, func(a, b int32) int { return cmp.Compare(t.entries[a].line, t.entries[b].line) })
	}
	at := sort.Search(len(t.byLine), func(i int) bool { return int(t.entries[t.byLine[i]].line) >= line })
	for ; at < len(t.byLine); at++ {
		e := &t.entries[t.byLine[at]]
		if int(e.line) != line {
			return int(e.line)
		}
		f(e)
	}
	return 0
}

// onePerBlock keeps the first address in each block: optimised code scatters a
// line over many places of one function.
func (m *Module) onePerBlock(pcs []linePC) []linePC {
	seen := map[any]bool{}
	out := pcs[:0]
	for _, p := range pcs {
		var key any
		if b := m.blockAt(p.pc, true); b != nil {
			key = b
		} else if u := m.unitFor(p.pc); u != nil {
			key = u
		}
		if key != nil && seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, p)
	}
	return out
}

func noLine(file string, line int, tables []*subfile) error {
	e := &debuginfo.NotFoundError{What: "line", Name: file + ":" + strconv.Itoa(line)}
	lines := stmtLines(tables)
	if len(lines) == 0 {
		e.Hint = "no code of the module comes from this file"
		return e
	}
	e.Hint = fmt.Sprintf("the last line of %s with code is %d", path.Base(file), lines[len(lines)-1])
	i := sort.SearchInts(lines, line)
	for _, l := range lines[max(0, i-2):min(len(lines), i+2)] {
		e.Nearest = append(e.Nearest, strconv.Itoa(l))
	}
	return e
}

func (m *Module) noFile(file string) error {
	e := &debuginfo.NotFoundError{What: "source file", Name: file}
	if m.d == nil {
		e.Hint = m.path + " has no debug information"
		return e
	}
	all := m.fileNames()
	base := path.Base(file)
	var names []string
	for _, f := range all {
		if path.Base(f) == base {
			e.Nearest = append(e.Nearest, f)
		}
		names = append(names, path.Base(f))
	}
	if len(e.Nearest) == 0 {
		e.Nearest = nearest(base, names, 5)
	}
	if len(e.Nearest) > 5 {
		e.Nearest = e.Nearest[:5]
	}
	return e
}

// fileNames lists every source file of the module once.
func (m *Module) fileNames() []string {
	seen := map[string]bool{}
	m.eachUnit(func(u *unit) {
		for _, f := range u.sourceNames() {
			if f.ok {
				seen[f.full] = true
			}
		}
	})
	out := make([]string, 0, len(seen))
	for f := range seen {
		out = append(out, f)
	}
	sort.Strings(out)
	return out
}

// Files returns the source files whose path, or its last components, match the
// glob; "" and "*" match all.
func (m *Module) Files(glob string) (files []string) {
	defer m.guard(nil)()
	for _, f := range m.fileNames() {
		if glob == "" || globMatch(glob, f) || globMatch("*/"+glob, f) {
			files = append(files, f)
		}
	}
	return files
}

// Lines returns the lines of a source file that have code, ascending.
func (m *Module) Lines(file string) (lines []int) {
	defer m.guard(nil)()
	return stmtLines(m.tables(file))
}

func stmtLines(tables []*subfile) []int {
	var out []int
	for _, t := range tables {
		for _, e := range t.entries {
			if e.stmt && e.line > 0 {
				out = append(out, int(e.line))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
