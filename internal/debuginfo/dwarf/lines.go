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
func (l *unitLines) lineHeader() (*line.Header, error) {
	h := l.u.head()
	if !h.hasStmt {
		return nil, nil
	}
	d := l.u.d
	d.mu.Lock()
	got, ok := d.headers[h.stmtList]
	d.mu.Unlock()
	if !ok {
		got.h, got.err = line.ParseHeader(l.lineSource(h.stmtList))
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
func (l *unitLines) lineSource(off uint64) *line.Input {
	return &line.Input{
		Section: l.u.d.sec(secLine), Off: off, AddrSize: l.u.f.AddrSize, CompDir: l.u.head().compDir,
		Str: func(v raw.Value) []byte { return val{v, l.u}.strBytes() },
	}
}

// eachSource visits the names of the unit's file table unchanged, without their directories. The header is
// not kept.
func (l *unitLines) eachSource(visit func(name []byte)) {
	l = &l.u.lineUnit().unitLines
	if h := l.u.head(); h.hasStmt {
		line.EachFile(l.lineSource(h.stmtList), visit)
	}
}

// lineTab runs the unit's line program once.
func (l *unitLines) lineTab() *line.Table {
	l = &l.u.lineUnit().unitLines
	l.lineOnce.Do(func() {
		l.lines = &line.Table{}
		lh, err := l.lineHeader()
		if err == nil && lh != nil {
			// Units hardly ever share a program: many runs mean damaged data.
			if l.u.d.linesIn += len(lh.Program); l.u.d.linesIn > 16*len(l.u.d.sec(secLine))+1<<20 {
				err = errors.New("too many units use the same line table")
			}
		}
		if err != nil {
			l.u.d.in.warn("line numbers of " + l.u.head().name + " are missing: " + err.Error())
			return
		}
		if lh == nil {
			return
		}
		in := line.Options{CompDir: l.u.head().compDir, Low: l.u.lowest(), Assembler: l.u.head().lang == langAssembler, Rows: l.u.d.rows}
		t, rows, full := line.New(lh, in)
		if full {
			l.u.d.in.warn(fmt.Sprintf("line numbers of %s are incomplete: the line table has more than %d rows, or those of the module more than %d", l.u.head().name, line.MaxRows, line.MaxModuleRows))
		}
		l.u.d.rows += rows
		l.lines = t
	})
	return l.lines
}

// lowest is the unit's lowest address.
func (l *unitLists) lowest() uint64 {
	lo := l.u.head().low
	for i, r := range l.pcs() {
		if i == 0 || r.Lo < lo {
			lo = r.Lo
		}
	}
	return lo
}

// sourceNames returns the unit's file table without running the program.
func (l *unitLines) sourceNames() []line.File {
	if lh, _ := l.u.lineUnit().lineHeader(); lh != nil {
		return lh.Files
	}
	return nil
}

// findLine finds the line that covers pc among all files of the unit.
func (l *unitLines) findLine(pc uint64) line.Place {
	s := l.lineTab().Find(pc)
	if s.File != nil && s.End == 0 {
		for _, r := range l.u.pcs() {
			s.End = max(s.End, r.Hi)
		}
	}
	return s
}
