// Package pclntab reads the table of functions and lines that each program of Go has for its own tracebacks, stripped or
// not (cmd/internal/obj/pcln.go, runtime/symtab.go). Nothing in a table is trusted: what is damaged is an error.
package pclntab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// The head of a table (runtime/symtab.go, pcHeader): the version, two zeros, the least size of instructions, the size of
// pointers, and eight words.
const (
	head      = "\xff\xff\xff\x00\x00" // behind the byte of the version
	headSize  = 8 * (1 + headWords)
	headWords = 8
	alignment = 8

	quantumAt  = 6
	pointersAt = 7
)

// The words of the head.
const (
	wordFunctions = iota
	wordFiles
	wordText
	wordNames
	wordUnits
	wordFileNames
	wordValues
	wordRows
)

// StartAt is the offset of the word in a table that has the address of the first function. The dynamic linker may write it.
const StartAt = 8 * (1 + wordText)

const maxFunctions = 4 << 20 // a program of the size of Kubernetes has 200,000

// ErrDamaged is the error of a table whose contents contradict each other.
var ErrDamaged = errors.New("Go's table of functions is damaged")

// Table is an opened table. It refers to the bytes that it was opened from.
type Table struct {
	whole   []byte
	n       int
	start   uint64
	quantum uint64
	names   []byte // of functions
	units   []byte // of each unit, the offsets of its files' names
	files   []byte // names
	values  []byte
	rows    []byte // of functions: two words each, then their records
	startLine,
	flags uint32 // offsets in a record; startLine 0: it has none
}

// Open checks the head of a table of Go 1.18 or later.
func Open(b []byte) (*Table, error) {
	le := binary.LittleEndian
	if len(b) < headSize {
		return nil, errors.New("Go's table of functions is too short")
	}
	t := &Table{whole: b}
	switch magic := le.Uint32(b); magic {
	case 0xfffffff0: // Go 1.18
		t.flags = 37
	case 0xfffffff1: // Go 1.20
		t.startLine, t.flags = 36, 41
	default:
		return nil, fmt.Errorf("Go's table of functions has the unknown version %#x", magic)
	}
	if b[pointersAt] != 8 {
		return nil, errors.New("Go's table of functions is not that of a 64-bit program")
	}
	word := func(i int) uint64 { return le.Uint64(b[8*(1+i):]) }
	part := func(i int) []byte { return b[min(word(i), uint64(len(b))):] }
	t.start, t.quantum = word(wordText), uint64(b[quantumAt])
	t.names, t.units, t.files, t.values, t.rows = part(wordNames), part(wordUnits), part(wordFileNames), part(wordValues), part(wordRows)
	n := word(wordFunctions)
	if n == 0 || n >= uint64(len(t.rows))/8 || n > maxFunctions || t.quantum == 0 {
		return nil, ErrDamaged
	}
	t.n = int(n)
	return t, nil
}

// Index returns where in data a table begins, by what it begins with; -1: nowhere.
func Index(data []byte) int {
	for from := 0; ; {
		k := bytes.Index(data[from:], []byte(head))
		if k < 0 {
			return -1
		}
		at := from + k - 1
		from = at + 2
		if at < 0 || at%alignment != 0 || len(data)-at < headSize || data[at] < 0xf0 || data[at+pointersAt] != 8 {
			continue
		}
		if n := binary.LittleEndian.Uint64(data[at+8*(1+wordFunctions):]); n > 0 && n < uint64(len(data)-at)/8 {
			return at
		}
	}
}

// Clone returns a table that does not refer to the bytes that it was opened from.
func (t *Table) Clone() *Table {
	clone, err := Open(bytes.Clone(t.whole))
	if err != nil { // another process has changed the file
		return &Table{}
	}
	return clone
}

// Len is the number of functions.
func (t *Table) Len() int { return t.n }

// Start is the address of the first function as the file has it: 0 where only the dynamic linker writes it.
func (t *Table) Start() uint64 { return t.start }

// Names has the names of all functions; Func.Name is an offset in it, and a zero ends each.
func (t *Table) Names() []byte { return t.names }

// Func is a function of a table.
type Func struct {
	Lo, Hi uint64 // from the address of the first function
	Name   uint32 // in Names
	// Asm: the function is assembler. SetsSP: it sets the stack pointer (internal/abi.FuncFlagAsm and FuncFlagSPWrite).
	Asm, SetsSP bool
	// StartLine is the line of its declaration; 0: not known.
	StartLine int

	taken, file, line, unit uint32
}

const (
	flagSetsSP = 2
	flagAsm    = 4
)

// Func reads function i.
func (t *Table) Func(i int) (f Func, err error) {
	le := binary.LittleEndian
	row := t.rows[8*i:]
	f.Lo, f.Hi = uint64(le.Uint32(row)), uint64(le.Uint32(row[8:]))
	at := uint64(le.Uint32(row[4:]))
	if f.Hi < f.Lo || at+uint64(t.flags) >= uint64(len(t.rows)) {
		return f, ErrDamaged
	}
	record := t.rows[at:]
	f.Name = le.Uint32(record[4:])
	f.taken, f.file, f.line, f.unit = le.Uint32(record[16:]), le.Uint32(record[20:]), le.Uint32(record[24:]), le.Uint32(record[32:])
	f.Asm, f.SetsSP = record[t.flags]&flagAsm != 0, record[t.flags]&flagSetsSP != 0
	if t.startLine > 0 {
		f.StartLine = int(int32(le.Uint32(record[t.startLine:])))
	}
	if uint64(f.Name) >= uint64(len(t.names)) {
		return f, ErrDamaged
	}
	return f, nil
}

// At returns the function that covers an offset from the first function; -1: none.
func (t *Table) At(off uint64) int {
	le := binary.LittleEndian
	i := sort.Search(t.n, func(i int) bool { return uint64(le.Uint32(t.rows[8*i:])) > off }) - 1
	if i < 0 || off >= uint64(le.Uint32(t.rows[8*i+8:])) {
		return -1
	}
	return i
}

// HasName reports whether the name of a function begins with prefix.
func (t *Table) HasName(f *Func, prefix string) bool {
	return bytes.HasPrefix(t.names[f.Name:], []byte(prefix))
}

// NameOf returns the name of a function of the run-time system; "" where it is longer than those have.
func (t *Table) NameOf(f *Func) string { return text(t.names, uint64(f.Name), 64) }

// text reads a text that a zero ends.
func text(b []byte, at uint64, limit int) string {
	if at >= uint64(len(b)) {
		return ""
	}
	b = b[at:min(at+uint64(limit), uint64(len(b)))]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return string(b[:n])
	}
	return ""
}
