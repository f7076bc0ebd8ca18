package dwarf

import (
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
)

// lineEntry is one address of a source file where a line starts. Line 0 marks
// the end of the file's code there.
type lineEntry struct {
	pc          uint64
	line        int32
	stmt        bool
	prologueEnd bool
}

// subfile is the line table of one source file within one unit.
type subfile struct {
	u       *unit
	name    string
	full    string
	entries []lineEntry // sorted by pc; entries of one pc in the program's order
	byLine  []int32     // statements among entries, by line; see eachOf
	lookups int
}

// lineTable is what GDB makes of a unit's line program: one table for each
// source file, so that places resolve to the same addresses.
type lineTable struct {
	files []*subfile
	byReg []*subfile // by file register
}

// maxLineEntries bounds the rows kept for one unit, maxModuleLines those of a module:
// some 600 MB.
const (
	maxLineEntries = 1 << 23
	maxModuleLines = 3 << 23
)

// lineTab runs the unit's line program once.
func (u *unit) lineTab() *lineTable {
	u = u.lineUnit()
	u.lineOnce.Do(func() {
		u.lines = &lineTable{}
		lh, err := u.lineHeader()
		if err == nil && lh != nil {
			// Units hardly ever share a program: many runs mean damaged data.
			if u.d.linesIn += len(lh.program); u.d.linesIn > 16*len(u.d.sec(secLine))+1<<20 {
				err = errors.New("too many units use the same line table")
			}
		}
		if err != nil {
			u.d.m.warn("line numbers of " + u.head().name + " are missing: " + err.Error())
			return
		}
		if lh == nil {
			return
		}
		b := &lineBuilder{t: u.lines, u: u, h: lh, byPath: map[string]*subfile{}, low: u.lowest()}
		lh.run(u, b)
		b.finish()
	})
	return u.lines
}

// lowest is the unit's lowest address.
func (u *unit) lowest() uint64 {
	lo := u.head().low
	for i, r := range u.pcs() {
		if i == 0 || r.Lo < lo {
			lo = r.Lo
		}
	}
	return lo
}

// sourceNames returns the unit's file table without running the program.
func (u *unit) sourceNames() []lineFile {
	if lh, _ := u.lineUnit().lineHeader(); lh != nil {
		return lh.files
	}
	return nil
}

// lineBuilder collects rows as GDB 13 does (observed behaviour: changing the
// file closes the old file's line at that address; repeated rows of a line with
// discriminators are one; empty lines before an end vanish).
type lineBuilder struct {
	t      *lineTable
	u      *unit
	h      *lineHeader
	byPath map[string]*subfile
	n      int
	low    uint64

	cur, last   *subfile
	lastLine    int64
	lineDiscrim bool // the line has had a non-zero discriminator
	recording   bool
	lastAddr    uint64
	stmtAtAddr  bool
}

func (b *lineBuilder) file(reg uint64) *subfile {
	if reg >= uint64(len(b.h.files)) || !b.h.files[reg].ok {
		return nil
	}
	for uint64(len(b.t.byReg)) <= reg {
		b.t.byReg = append(b.t.byReg, nil)
	}
	if s := b.t.byReg[reg]; s != nil {
		return s
	}
	f := b.h.files[reg]
	s := b.byPath[f.full]
	if s == nil {
		s = &subfile{u: b.u, name: f.name, full: f.full}
		b.byPath[f.full] = s
		b.t.files = append(b.t.files, s)
	}
	b.t.byReg[reg] = s
	return s
}

func (b *lineBuilder) start(file uint64) {
	if s := b.file(file); s != nil {
		b.cur = s
	}
	b.last, b.lastLine, b.lineDiscrim, b.recording = nil, 0, false, true
	b.lastAddr, b.stmtAtAddr = 0, false
}

func (b *lineBuilder) setFile(file, discrim uint64) {
	if s := b.file(file); s != nil {
		b.last = b.cur
		b.lineDiscrim = discrim != 0
		b.cur = s
	}
}

func (b *lineBuilder) discriminator(d uint64) { b.lineDiscrim = b.lineDiscrim || d != 0 }

func (b *lineBuilder) lineAdvanced(delta int64, discrim uint64) {
	if delta != 0 {
		b.lineDiscrim = discrim != 0
	}
}

// setAddress stops recording for code that the linker discarded.
func (b *lineBuilder) setAddress(addr uint64) {
	if addr == 0 && b.low > 0 || addr >= ^uint64(1) || addr == 1 {
		b.recording = false
	}
}

func (b *lineBuilder) row(r *lineRow) {
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

func (b *lineBuilder) record(r *lineRow) {
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

func (b *lineBuilder) add(s *subfile, line int64, pc uint64, stmt, prologue bool) {
	if s == nil || !b.recording || line < 0 || line > 1<<31-1 || b.full() {
		return
	}
	if line == 0 {
		n := len(s.entries)
		seen, lastLine := false, int32(0)
		for n > 0 {
			seen, lastLine = true, s.entries[n-1].line
			if s.entries[n-1].pc != pc {
				break
			}
			n--
		}
		s.entries = s.entries[:n]
		if !seen || lastLine == 0 {
			return
		}
	}
	b.n++
	s.entries = append(s.entries, lineEntry{pc, int32(line), stmt, prologue})
}

// full reports that no more rows are kept.
func (b *lineBuilder) full() bool { return b.n >= maxLineEntries || b.u.d.rows+b.n >= maxModuleLines }

func (b *lineBuilder) finish() {
	if b.full() {
		b.u.d.m.warn(fmt.Sprintf("line numbers of %s are incomplete: the line table has more than %d rows, or those of the module more than %d", b.u.head().name, maxLineEntries, maxModuleLines))
	}
	b.u.d.rows += b.n
	for reg := range b.h.files {
		b.file(uint64(reg)) // files without lines have a table too, empty
	}
	for _, s := range b.t.files {
		e := s.entries
		sort.SliceStable(e, func(i, j int) bool {
			if e[i].pc == e[j].pc && (e[i].line == 0) != (e[j].line == 0) {
				return e[i].line == 0
			}
			return e[i].pc < e[j].pc
		})
	}
}

// sal is a source line and the addresses it covers around a pc.
type sal struct {
	file    *subfile // nil when no line is known
	line    int
	pc, end uint64
	stmt    bool
}

// findLine finds the line that covers pc among all files of the unit.
func (u *unit) findLine(pc uint64) sal {
	var best *lineEntry
	var file *subfile
	var end, alt uint64
	for _, s := range u.lineTab().files {
		e := s.entries
		if len(e) == 0 {
			continue
		}
		if e[0].pc > pc && (alt == 0 || e[0].pc < alt) {
			alt = e[0].pc
		}
		i := sort.Search(len(e), func(i int) bool { return e[i].pc > pc })
		if i > 0 && e[i-1].line != 0 && (best == nil || e[i-1].pc > best.pc) {
			best, file = preferStmt(e, i-1), s
			if end <= best.pc {
				end = 0
			}
		}
		if best != nil && i < len(e) && e[i].pc > best.pc && (end == 0 || end > e[i].pc) {
			end = e[i].pc
		}
	}
	if best == nil {
		return sal{pc: pc}
	}
	out := sal{file: file, line: int(best.line), pc: best.pc, stmt: best.stmt, end: end}
	if end == 0 || alt != 0 && end >= alt {
		if out.end = alt; alt == 0 {
			for _, r := range u.pcs() {
				out.end = max(out.end, r.Hi)
			}
		}
	}
	return out
}

// preferStmt moves back from a non-statement entry to a statement at the same pc.
func preferStmt(e []lineEntry, i int) *lineEntry {
	for j := i; !e[j].stmt; j-- {
		if j == 0 || e[j-1].pc != e[j].pc || e[j-1].line == 0 {
			return &e[i]
		}
		if e[j-1].stmt {
			return &e[j-1]
		}
	}
	return &e[i]
}

// matchesFile tells whether a source file is meant by what the user wrote: the
// whole path or its last components, as in GDB.
func (f lineFile) matches(want string) bool {
	return suffixPath(f.name, want) || suffixPath(f.full, want) || suffixPath(f.full, path.Clean(want))
}

func suffixPath(name, want string) bool {
	if want == "" || !strings.HasSuffix(name, want) {
		return false
	}
	n := len(name) - len(want)
	return n == 0 || !path.IsAbs(want) && name[n-1] == '/'
}

// isAsm tells whether the file is assembly, where GDB skips no prologue.
func (s *subfile) isAsm() bool {
	switch path.Ext(s.name) {
	case ".s", ".S", ".sx":
		return true
	}
	return s.u.head().lang == langAssembler
}
