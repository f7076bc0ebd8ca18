package dwarf

import (
	"fmt"
	"path"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// lineHeader is the header of one line number program.
type lineHeader struct {
	f           raw.Format
	minInst     uint64
	maxOps      uint64
	defaultStmt bool
	lineBase    int64
	lineRange   uint64
	opcodeBase  uint8
	opLens      []uint8
	dirs        []string
	files       []lineFile // by file register value; index 0 is unused before version 5
	program     []byte
}

// lineFile is one row of the file table.
type lineFile struct {
	name string // joined with its directory, as GDB names the source file
	full string // joined with the compilation directory too, cleaned
	ok   bool
}

// maxLineFiles bounds the file and directory tables.
const maxLineFiles = 1 << 20

// lineHeader reads the unit's line table header; units that share one (type and
// partial units) read it once.
func (u *unit) lineHeader() (*lineHeader, error) {
	h := u.head()
	if !h.hasStmt {
		return nil, nil
	}
	d := u.d
	d.mu.Lock()
	got, ok := d.headers[h.stmtList]
	d.mu.Unlock()
	if !ok {
		got.h, got.err = u.parseLineHeader(h.stmtList)
		d.mu.Lock()
		d.headers[h.stmtList] = got
		d.mu.Unlock()
	}
	return got.h, got.err
}

type parsedHeader struct {
	h   *lineHeader
	err error
}

// parseLineHeader reads the header at off of .debug_line.
func (u *unit) parseLineHeader(off uint64) (*lineHeader, error) {
	h, c, err := u.startLineHeader(off)
	if err != nil {
		return nil, err
	}
	if h.f.Version < 5 {
		h.dirs, h.files = []string{u.head().compDir}, []lineFile{{}}
	}
	h.readTables(u, &c,
		func(name []byte, _ uint64) { h.dirs = append(h.dirs, string(name)) },
		func(name []byte, dir uint64) { h.addFile(u, string(name), dir) })
	return h, nil
}

// eachSource visits the names of the unit's file table as they stand there,
// without their directories. The header is not kept.
func (u *unit) eachSource(visit func(name []byte)) {
	u = u.lineUnit()
	if h := u.head(); h.hasStmt {
		if lh, c, err := u.startLineHeader(h.stmtList); err == nil {
			lh.readTables(u, &c, func([]byte, uint64) {}, func(name []byte, _ uint64) { visit(name) })
		}
	}
}

// startLineHeader reads the header at off up to the tables, where the cursor
// then is.
func (u *unit) startLineHeader(off uint64) (*lineHeader, raw.Cursor, error) {
	sec := u.d.sec(secLine)
	c := raw.At(sec, off)
	h := &lineHeader{}
	n, is64 := c.InitialLength()
	if c.Bad || n > uint64(c.Left()) {
		return nil, c, fmt.Errorf("the line table at %#x is longer than its section", off)
	}
	c.B = c.B[:c.Off+int(n)]
	h.f = raw.Format{Version: c.U16(), Is64: is64, AddrSize: u.f.AddrSize}
	if h.f.Version < 2 || h.f.Version > 5 {
		return nil, c, fmt.Errorf("the line table at %#x has the unknown version %d", off, h.f.Version)
	}
	if h.f.Version >= 5 {
		h.f.AddrSize = c.U8()
		c.U8() // segment selector size
	}
	hlen := c.Offset(is64)
	if c.Bad || hlen > uint64(c.Left()) {
		return nil, c, fmt.Errorf("the line table at %#x has a damaged header", off)
	}
	h.program = c.B[c.Off+int(hlen):]
	c.B = c.B[:c.Off+int(hlen)]
	h.minInst = uint64(c.U8())
	h.maxOps = 1
	if h.f.Version >= 4 {
		h.maxOps = max(1, uint64(c.U8()))
	}
	h.defaultStmt = c.U8() != 0
	h.lineBase = int64(int8(c.U8()))
	h.lineRange = uint64(c.U8())
	h.opcodeBase = c.U8()
	if c.Bad || h.lineRange == 0 || h.opcodeBase == 0 {
		return nil, c, fmt.Errorf("the line table at %#x has a damaged header", off)
	}
	h.opLens = c.Bytes(int(h.opcodeBase) - 1)
	return h, c, nil
}

// readTables visits the directories, then the files.
func (h *lineHeader) readTables(u *unit, c *raw.Cursor, dir, file func(name []byte, dir uint64)) {
	if h.f.Version >= 5 {
		h.readEntries(u, c, dir)
		h.readEntries(u, c, file)
		return
	}
	for range maxLineFiles {
		s := c.CString()
		if len(s) == 0 {
			break
		}
		dir(s, 0)
	}
	for range maxLineFiles {
		s := c.CString()
		if len(s) == 0 {
			break
		}
		d := c.ULEB()
		c.ULEB()
		c.ULEB()
		file(s, d)
	}
}

// addFile joins as GDB does: directory 0 is the compilation directory, which is
// not part of the displayed name in versions before 5.
func (h *lineHeader) addFile(u *unit, name string, dir uint64) {
	f := lineFile{name: name, ok: true}
	if !path.IsAbs(name) && dir < uint64(len(h.dirs)) && (dir > 0 || h.f.Version >= 5) {
		f.name = join(h.dirs[dir], name)
	}
	f.full = f.name
	// From version 5 on directory 0 is the compilation directory itself, which
	// may be relative (reproducible builds): it is not joined twice.
	if !path.IsAbs(f.full) && !(h.f.Version >= 5 && dir < uint64(len(h.dirs)) && h.dirs[dir] == h.dirs[0]) {
		f.full = join(u.head().compDir, f.full)
	}
	f.full = path.Clean(f.full)
	h.files = append(h.files, f)
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Content types of DWARF 5 line tables.
const (
	lnctPath = 1
	lnctDir  = 2
)

type lnctSpec struct{ typ, form uint64 }

func (h *lineHeader) readEntries(u *unit, c *raw.Cursor, add func(name []byte, dir uint64)) {
	specs := make([]lnctSpec, c.U8())
	for i := range specs {
		specs[i] = lnctSpec{c.ULEB(), c.ULEB()}
	}
	n := c.ULEB()
	if len(specs) == 0 {
		return
	}
	for i := uint64(0); i < n && i < maxLineFiles && !c.Done(); i++ {
		before := c.Off
		var name []byte
		var dir uint64
		for _, s := range specs {
			v := val{h.f.Read(c, uint16(min(s.form, 0xffff)), 0), u}
			switch s.typ {
			case lnctPath:
				name = v.strBytes()
			case lnctDir:
				dir = v.N
			}
		}
		if c.Bad || c.Off == before { // damaged, or rows without content
			return
		}
		add(name, dir)
	}
}
