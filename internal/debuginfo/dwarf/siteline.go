package dwarf

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
)

// LineSites returns every address where GDB's `break file:line` would stop: one for each function, block
// and inlined copy that has code for the line. If no code has the line, it uses the next line with code, as
// GDB 13 does, also of another function: Site.ActualLine, Asked and Begins report that. file matches by its
// last path components. The error is a *debuginfo.NotFoundError if the file is unknown or has no code from
// line on.
func (ps *places) LineSites(file string, number int) (sites []Site, err error) {
	defer ps.guard(&err)()
	tables := ps.tables(file)
	if len(tables) == 0 {
		return nil, ps.noFile(file)
	}
	pcs, best := exactPCs(tables, number)
	asked := 0
	if len(pcs) == 0 && best > 0 {
		asked, number = number, best
		pcs, _ = exactPCs(tables, number)
	}
	pcs = ps.onePerBlock(pcs)
	set := siteSet{m: ps}
	for _, p := range pcs {
		s := line.Place{File: p.file, Line: number, PC: p.pc}
		meant := uint64(0)
		u := ps.unitFor(p.pc)
		switch {
		case u == nil:
			s.PC = ps.onceACall(p.pc)
		case !p.file.IsAssembler():
			s = ps.skipPrologue(s)
		}
		if u != nil && s.PC != p.pc { // the line where a function begins
			if f := u.functions().at(p.pc); f != nil {
				meant = f.d.off
			}
		}
		set.add(s, Site{ActualLine: s.Line, Asked: asked, place: p.file.Full, meant: meant})
	}
	if len(set.sites) == 0 {
		return nil, noLine(file, number, tables)
	}
	return set.sorted(), nil
}

// onceACall is the address that each call of a function of Go runs once, for one that it may run again.
func (ps *places) onceACall(pc uint64) uint64 {
	if f, _, ok := ps.symbolAt(pc); ok {
		return max(pc, ps.behindGoCheck(f.Value))
	}
	return pc
}

// beginsBehind looks for the function that begins between the requested line, which has no code, and that of the site.
// Of those inlined at its address, the line may belong to any.
func (s *Site) beginsBehind(b *block) {
	for o := b.owner(); s.Asked > 0; o = o.parent.owner() {
		if v, ok := o.d.deep(atDeclLine); ok && v.N > uint64(s.Asked) && v.N <= uint64(s.ActualLine) {
			if file, _ := o.d.declared(); file == s.place {
				s.Begins, s.Beginning = int(v.N), o.d.funcName()
				return
			}
		}
		if o.parent == nil {
			return
		}
	}
}

// tables returns the line tables of the files that the user's name means.
func (ps *places) tables(file string) []*line.Source {
	var out []*line.Source
	for _, u := range ps.names().withSource(file) {
		for _, f := range u.sourceNames() {
			if !f.OK || !f.Matches(file) {
				continue
			}
			for _, s := range u.lineTab().Sources {
				if (line.File{Name: s.Name, Full: s.Full, OK: true}).Matches(file) && len(s.Entries) > 0 {
					out = append(out, s)
				}
			}
			break
		}
	}
	if len(out) == 0 {
		return ps.golang.sources(file)
	}
	return out
}

// eachUnit visits the units that can have lines.
func (in *info) eachUnit(visit func(*unit)) {
	if in.d == nil {
		return
	}
	x := in.names()
	for id := range x.main {
		if x.hasCode(id) {
			visit(x.units[id])
		}
	}
}

type linePC struct {
	pc   uint64
	file *line.Source
}

// exactPCs finds the statements of a line, and the smallest later line.
func exactPCs(tables []*line.Source, number int) (pcs []linePC, best int) {
	for _, t := range tables {
		next := t.Statements(number, func(e *line.Entry) { pcs = append(pcs, linePC{e.PC, t}) })
		if next > 0 && (best == 0 || next < best) {
			best = next
		}
	}
	return pcs, best
}

// onePerBlock keeps the first address in each block: optimised code scatters a
// line over many places of one function.
func (ps *places) onePerBlock(pcs []linePC) []linePC {
	seen := map[any]bool{}
	out := pcs[:0]
	for _, p := range pcs {
		var key any
		if b := ps.blockAt(p.pc, true); b != nil {
			key = b
		} else if u := ps.unitFor(p.pc); u != nil {
			key = u
		} else if f, _, ok := ps.symbolAt(p.pc); ok {
			key = f.Value
		}
		if key != nil && seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, p)
	}
	return out
}

func noLine(file string, line int, tables []*line.Source) error {
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

func (ps *places) noFile(file string) error {
	e := &debuginfo.NotFoundError{What: "source file", Name: file}
	all := ps.fileNames()
	if ps.d == nil && len(all) == 0 {
		e.Hint = ps.path + " has no debug information"
		return e
	}
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
func (ps *places) fileNames() []string {
	seen := map[string]bool{}
	ps.eachUnit(func(u *unit) {
		for _, f := range u.sourceNames() {
			if f.OK {
				seen[f.Full] = true
			}
		}
	})
	if ps.d == nil {
		ps.golang.eachFile(func(name string) { seen[name] = true })
	}
	out := make([]string, 0, len(seen))
	for f := range seen {
		out = append(out, f)
	}
	sort.Strings(out)
	return out
}

// Files returns the source files whose path, or its last components, match the
// glob; "" and "*" match all.
func (ps *places) Files(glob string) (files []string) {
	defer ps.guard(nil)()
	for _, f := range ps.fileNames() {
		if glob == "" || globMatch(glob, f) || globMatch("*/"+glob, f) {
			files = append(files, f)
		}
	}
	return files
}

// Lines returns the lines of a source file that have code, ascending.
func (ps *places) Lines(file string) (lines []int) {
	defer ps.guard(nil)()
	return stmtLines(ps.tables(file))
}

func stmtLines(tables []*line.Source) []int {
	var out []int
	for _, t := range tables {
		for _, e := range t.Entries {
			if e.Stmt && e.Line > 0 {
				out = append(out, int(e.Line))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
