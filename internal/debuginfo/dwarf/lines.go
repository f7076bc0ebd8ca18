package dwarf

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// The line tables of units: read once, and bounded together.

// lineHeader reads the unit's line table header; units that share one (type and
// partial units) read it once.
func (u *unit) lineHeader() (*line.Header, error) {
	h := u.head()
	if !h.hasStmt {
		return nil, nil
	}
	d := u.d
	d.mu.Lock()
	got, ok := d.headers[h.stmtList]
	d.mu.Unlock()
	if !ok {
		got.h, got.err = line.ParseHeader(u.lineSource(h.stmtList))
		d.mu.Lock()
		d.headers[h.stmtList] = got
		d.mu.Unlock()
	}
	return got.h, got.err
}

type parsedHeader struct {
	h   *line.Header
	err error
}

// lineSource is where the line table at off of .debug_line is, and what it refers to.
func (u *unit) lineSource(off uint64) *line.Input {
	return &line.Input{
		Section: u.d.sec(secLine), Off: off, AddrSize: u.f.AddrSize, CompDir: u.head().compDir,
		Str: func(v raw.Value) []byte { return val{v, u}.strBytes() },
	}
}

// eachSource visits the names of the unit's file table unchanged, without their directories. The header is
// not kept.
func (u *unit) eachSource(visit func(name []byte)) {
	u = u.lineUnit()
	if h := u.head(); h.hasStmt {
		line.EachFile(u.lineSource(h.stmtList), visit)
	}
}

// lineTab runs the unit's line program once.
func (u *unit) lineTab() *line.Table {
	u = u.lineUnit()
	u.lineOnce.Do(func() {
		u.lines = &line.Table{}
		lh, err := u.lineHeader()
		if err == nil && lh != nil {
			// Units hardly ever share a program: many runs mean damaged data.
			if u.d.linesIn += len(lh.Program); u.d.linesIn > 16*len(u.d.sec(secLine))+1<<20 {
				err = errors.New("too many units use the same line table")
			}
		}
		if err != nil {
			u.d.in.warn("line numbers of " + u.head().name + " are missing: " + err.Error())
			return
		}
		if lh == nil {
			return
		}
		in := line.Options{CompDir: u.head().compDir, Low: u.lowest(), Assembler: u.head().lang == langAssembler, Rows: u.d.rows}
		t, rows, full := line.New(lh, in)
		if full {
			u.d.in.warn(fmt.Sprintf("line numbers of %s are incomplete: the line table has more than %d rows, or those of the module more than %d", u.head().name, line.MaxRows, line.MaxModuleRows))
		}
		u.d.rows += rows
		u.lines = t
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
func (u *unit) sourceNames() []line.File {
	if lh, _ := u.lineUnit().lineHeader(); lh != nil {
		return lh.Files
	}
	return nil
}

// findLine finds the line that covers pc among all files of the unit.
func (u *unit) findLine(pc uint64) line.Place {
	s := u.lineTab().Find(pc)
	if s.File != nil && s.End == 0 {
		for _, r := range u.pcs() {
			s.End = max(s.End, r.Hi)
		}
	}
	return s
}
