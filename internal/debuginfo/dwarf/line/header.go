package line

import (
	"fmt"
	"path"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Header is the header of one line number program.
type Header struct {
	f           raw.Format
	minInst     uint64
	maxOps      uint64
	defaultStmt bool
	lineBase    int64
	lineRange   uint64
	opcodeBase  uint8
	opLens      []uint8
	dirs        []string
	Files       []File // by file register value; index 0 is unused before version 5
	Program     []byte
}

// File is one row of the file table.
type File struct {
	Name string // joined with its directory, as GDB names the source file
	Full string // joined with the compilation directory too, cleaned
	OK   bool
}

// maxFiles bounds the file and directory tables.
const maxFiles = 1 << 20

// Input is where the line table of a unit is.
type Input struct {
	Section  []byte // .debug_line
	Off      uint64
	AddrSize uint8  // of the unit
	CompDir  string // of the unit
	// str is the string that a value of a string form refers to.
	Str func(raw.Value) []byte
}

// ParseHeader reads a header with its tables of directories and files.
func ParseHeader(in *Input) (*Header, error) {
	h, c, err := startHeader(in)
	if err != nil {
		return nil, err
	}
	if h.f.Version < 5 {
		h.dirs, h.Files = []string{in.CompDir}, []File{{}}
	}
	h.readTables(in, &c,
		func(name []byte, _ uint64) { h.dirs = append(h.dirs, string(name)) },
		func(name []byte, dir uint64) { h.addFile(in.CompDir, string(name), dir) })
	return h, nil
}

// EachFile visits the names of a file table unchanged, without their directories.
func EachFile(in *Input, visit func(name []byte)) {
	if h, c, err := startHeader(in); err == nil {
		h.readTables(in, &c, func([]byte, uint64) {}, func(name []byte, _ uint64) { visit(name) })
	}
}

// startHeader reads the header up to the tables, where the cursor
// then is.
func startHeader(in *Input) (*Header, raw.Cursor, error) {
	off := in.Off
	c := raw.At(in.Section, off)
	h := &Header{}
	n, is64 := c.InitialLength()
	if c.Bad || n > uint64(c.Left()) {
		return nil, c, fmt.Errorf("the line table at %#x is longer than its section", off)
	}
	c.B = c.B[:c.Off+int(n)]
	h.f = raw.Format{Version: c.U16(), Is64: is64, AddrSize: in.AddrSize}
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
	h.Program = c.B[c.Off+int(hlen):]
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
func (h *Header) readTables(in *Input, c *raw.Cursor, dir, file func(name []byte, dir uint64)) {
	if h.f.Version >= 5 {
		h.readEntries(in, c, dir)
		h.readEntries(in, c, file)
		return
	}
	for range maxFiles {
		s := c.CString()
		if len(s) == 0 {
			break
		}
		dir(s, 0)
	}
	for range maxFiles {
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
func (h *Header) addFile(compDir, name string, dir uint64) {
	f := File{Name: name, OK: true}
	if !path.IsAbs(name) && dir < uint64(len(h.dirs)) && (dir > 0 || h.f.Version >= 5) {
		f.Name = Join(h.dirs[dir], name)
	}
	f.Full = f.Name
	// From version 5 on directory 0 is the compilation directory itself, which
	// may be relative (reproducible builds): it is not joined twice.
	if !path.IsAbs(f.Full) && !(h.f.Version >= 5 && dir < uint64(len(h.dirs)) && h.dirs[dir] == h.dirs[0]) {
		f.Full = Join(compDir, f.Full)
	}
	f.Full = path.Clean(f.Full)
	h.Files = append(h.Files, f)
}

// Join is name in a directory, which may be unknown.
func Join(dir, name string) string {
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

func (h *Header) readEntries(in *Input, c *raw.Cursor, add func(name []byte, dir uint64)) {
	specs := make([]lnctSpec, c.U8())
	for i := range specs {
		specs[i] = lnctSpec{c.ULEB(), c.ULEB()}
	}
	n := c.ULEB()
	if len(specs) == 0 {
		return
	}
	for i := uint64(0); i < n && i < maxFiles && !c.Done(); i++ {
		before := c.Off
		var name []byte
		var dir uint64
		for _, s := range specs {
			v := h.f.Read(c, uint16(min(s.form, 0xffff)), 0)
			switch s.typ {
			case lnctPath:
				name = in.Str(v)
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
