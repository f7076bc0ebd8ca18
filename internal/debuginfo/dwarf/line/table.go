package line

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
)

// Entry is one address of a source file where a line starts. Line 0 marks
// the end of the file's code there.
type Entry struct {
	PC          uint64
	Line        int32
	Stmt        bool
	PrologueEnd bool
}

// Source is the line table of one source file within one unit.
type Source struct {
	Name    string
	Full    string
	Entries []Entry // sorted by pc; entries of one pc in the program's order
	byLine  []int32 // statements among entries, by line; see Statements
	lookups int
	asm     bool // the unit's language is assembler
}

// Table is what GDB makes of a unit's line program: one table for each
// source file, so that places resolve to the same addresses.
type Table struct {
	Sources    []*Source
	ByRegister []*Source // by file register
}

// MaxRows bounds the rows kept for one unit, MaxModuleRows those of a module:
// some 600 MB.
const (
	MaxRows       = 1 << 23
	MaxModuleRows = 3 << 23
)

// Options is what a table depends on beside the line program.
type Options struct {
	CompDir   string
	Low       uint64 // the unit's lowest address
	Assembler bool   // its language is assembler
	Rows      int    // rows that other units of the module have kept
}

// New runs the line program. rows is how many it has kept; with full there
// are more.
func New(h *Header, in Options) (t *Table, rows int, full bool) {
	b := &builder{t: &Table{}, in: in, h: h, byPath: map[string]*Source{}}
	h.run(in.CompDir, b)
	b.finish()
	return b.t, b.n, b.full()
}

// builder collects rows as GDB 13 does (observed behaviour: changing the
// file closes the old file's line at that address; repeated rows of a line with
// discriminators are one; empty lines before an end vanish).
type builder struct {
	t      *Table
	in     Options
	h      *Header
	byPath map[string]*Source
	n      int

	cur, last   *Source
	lastLine    int64
	lineDiscrim bool // the line has had a non-zero discriminator
	recording   bool
	lastAddr    uint64
	stmtAtAddr  bool
}

func (b *builder) file(reg uint64) *Source {
	if reg >= uint64(len(b.h.Files)) || !b.h.Files[reg].OK {
		return nil
	}
	for uint64(len(b.t.ByRegister)) <= reg {
		b.t.ByRegister = append(b.t.ByRegister, nil)
	}
	if s := b.t.ByRegister[reg]; s != nil {
		return s
	}
	f := b.h.Files[reg]
	s := b.byPath[f.Full]
	if s == nil {
		s = &Source{Name: f.Name, Full: f.Full, asm: b.in.Assembler}
		b.byPath[f.Full] = s
		b.t.Sources = append(b.t.Sources, s)
	}
	b.t.ByRegister[reg] = s
	return s
}

func (b *builder) start(file uint64) {
	if s := b.file(file); s != nil {
		b.cur = s
	}
	b.last, b.lastLine, b.lineDiscrim, b.recording = nil, 0, false, true
	b.lastAddr, b.stmtAtAddr = 0, false
}

func (b *builder) setFile(file, discrim uint64) {
	if s := b.file(file); s != nil {
		b.last = b.cur
		b.lineDiscrim = discrim != 0
		b.cur = s
	}
}

func (b *builder) discriminator(d uint64) { b.lineDiscrim = b.lineDiscrim || d != 0 }

func (b *builder) lineAdvanced(delta int64, discrim uint64) {
	if delta != 0 {
		b.lineDiscrim = discrim != 0
	}
}

// setAddress stops recording for code that the linker discarded.
func (b *builder) setAddress(addr uint64) {
	if addr == 0 && b.in.Low > 0 || addr >= ^uint64(1) || addr == 1 {
		b.recording = false
	}
}

func (b *builder) row(r *row) {
	if r.end {
		b.recording = true // as GDB: the end itself is always recorded
	}
	if b.cur != nil && b.file(r.file) != nil && (r.opIndex == 0 || r.end) {
		b.record(r)
	}
	if b.lastAddr != r.addr {
		b.stmtAtAddr, b.lastAddr = false, r.addr
	}
	b.stmtAtAddr = b.stmtAtAddr || r.stmt
}

func (b *builder) record(r *row) {
	changed := b.last != b.cur
	ignore := changed && !r.end && b.lastAddr == r.addr && !r.stmt && b.stmtAtAddr || !r.end && r.line == 0
	if changed && !ignore || r.end {
		b.add(b.last, 0, r.addr, true, false)
	}
	if r.end || ignore {
		return
	}
	if changed || r.line != b.lastLine || !b.lineDiscrim {
		b.add(b.cur, r.line, r.addr, r.stmt, r.prologueEnd)
	}
	b.last, b.lastLine = b.cur, r.line
}

func (b *builder) add(s *Source, line int64, pc uint64, stmt, prologue bool) {
	if s == nil || !b.recording || line < 0 || line > 1<<31-1 || b.full() {
		return
	}
	if line == 0 {
		n := len(s.Entries)
		seen, lastLine := false, int32(0)
		for n > 0 {
			seen, lastLine = true, s.Entries[n-1].Line
			if s.Entries[n-1].PC != pc {
				break
			}
			n--
		}
		s.Entries = s.Entries[:n]
		if !seen || lastLine == 0 {
			return
		}
	}
	b.n++
	s.Entries = append(s.Entries, Entry{pc, int32(line), stmt, prologue})
}

// full reports that no more rows are kept.
func (b *builder) full() bool { return b.n >= MaxRows || b.in.Rows+b.n >= MaxModuleRows }

func (b *builder) finish() {
	for reg := range b.h.Files {
		b.file(uint64(reg)) // files without lines have a table too, empty
	}
	for _, s := range b.t.Sources {
		e := s.Entries
		sort.SliceStable(e, func(i, j int) bool {
			if e[i].PC == e[j].PC && (e[i].Line == 0) != (e[j].Line == 0) {
				return e[i].Line == 0
			}
			return e[i].PC < e[j].PC
		})
	}
}

// Place is a source line and the addresses it covers around a pc.
type Place struct {
	File    *Source // nil when no line is known
	Line    int
	PC, End uint64
	Stmt    bool
}

// Find finds the line that covers pc among all files of the unit. End is 0 when
// the line reaches to the end of the unit.
func (t *Table) Find(pc uint64) Place {
	var best *Entry
	var file *Source
	var end, alt uint64
	for _, s := range t.Sources {
		e := s.Entries
		if len(e) == 0 {
			continue
		}
		if e[0].PC > pc && (alt == 0 || e[0].PC < alt) {
			alt = e[0].PC
		}
		i := sort.Search(len(e), func(i int) bool { return e[i].PC > pc })
		if i > 0 && e[i-1].Line != 0 && (best == nil || e[i-1].PC > best.PC) {
			best, file = preferStmt(e, i-1), s
			if end <= best.PC {
				end = 0
			}
		}
		if best != nil && i < len(e) && e[i].PC > best.PC && (end == 0 || end > e[i].PC) {
			end = e[i].PC
		}
	}
	if best == nil {
		return Place{PC: pc}
	}
	out := Place{File: file, Line: int(best.Line), PC: best.PC, Stmt: best.Stmt, End: end}
	if end == 0 || alt != 0 && end >= alt {
		out.End = alt
	}
	return out
}

// preferStmt moves back from a non-statement entry to a statement at the same pc.
func preferStmt(e []Entry, i int) *Entry {
	for j := i; !e[j].Stmt; j-- {
		if j == 0 || e[j-1].PC != e[j].PC || e[j-1].Line == 0 {
			return &e[i]
		}
		if e[j-1].Stmt {
			return &e[j-1]
		}
	}
	return &e[i]
}

// Matches reports whether a source file is meant by what the user wrote: the
// whole path or its last components, as in GDB.
func (f File) Matches(want string) bool {
	return suffixPath(f.Name, want) || suffixPath(f.Full, want) || suffixPath(f.Full, path.Clean(want))
}

func suffixPath(name, want string) bool {
	if want == "" || !strings.HasSuffix(name, want) {
		return false
	}
	n := len(name) - len(want)
	return n == 0 || !path.IsAbs(want) && name[n-1] == '/'
}

// IsAssembler reports whether the file is assembly, where GDB skips no prologue.
func (s *Source) IsAssembler() bool {
	switch path.Ext(s.Name) {
	case ".s", ".S", ".sx":
		return true
	}
	return s.asm
}

// fewLookups is how often a table is searched before an index of its lines is made: one
// place does not pay for sorting, a listing of all lines must not search for each.
const fewLookups = 4

// Statements calls f for the statements of a line in the order of addresses, and returns the
// next line that has statements; 0: none.
func (t *Source) Statements(line int, f func(*Entry)) (next int) {
	if t.lookups++; t.lookups > fewLookups {
		return t.indexed(line, f)
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		switch l := int(e.Line); {
		case !e.Stmt || l < line:
		case l == line:
			f(e)
		case next == 0 || l < next:
			next = l
		}
	}
	return next
}

// indexed is Statements by an index, which is made at first use.
func (t *Source) indexed(line int, f func(*Entry)) (next int) {
	if t.byLine == nil {
		t.byLine = make([]int32, 0, len(t.Entries))
		for i := range t.Entries {
			if t.Entries[i].Stmt {
				t.byLine = append(t.byLine, int32(i))
			}
		}
		slices.SortStableFunc(t.byLine, func(a, b int32) int { return cmp.Compare(t.Entries[a].Line, t.Entries[b].Line) })
	}
	at := sort.Search(len(t.byLine), func(i int) bool { return int(t.Entries[t.byLine[i]].Line) >= line })
	for ; at < len(t.byLine); at++ {
		e := &t.Entries[t.byLine[at]]
		if int(e.Line) != line {
			return int(e.Line)
		}
		f(e)
	}
	return 0
}
