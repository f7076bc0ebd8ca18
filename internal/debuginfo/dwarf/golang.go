package dwarf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

// IsGo reports whether the module has code of Go's compiler, whose run-time system moves
// stacks and preempts goroutines at any instruction.
func (ob *object) IsGo() bool {
	defer ob.guard(nil)()
	return ob.ofGo()
}

func (ob *object) ofGo() bool {
	ob.isGoOnce.Do(func() { ob.isGo = ob.looksLikeGo() })
	return ob.isGo
}

func (ob *object) looksLikeGo() bool {
	for _, sec := range ob.Sections() {
		if strings.HasSuffix(sec.Name, ".gopclntab") || sec.Name == ".go.buildinfo" {
			return true
		}
	}
	return len(ob.lookupSymbols("runtime.morestack")) > 0
}

// GoCode reports whether the code at vaddr is Go's, as far as is known: without debug information all
// code of a module of Go is taken for it.
func (pr *prologues) GoCode(vaddr uint64) (is bool) {
	defer pr.guard(nil)()
	if u := pr.unitFor(vaddr); u != nil {
		return u.isGo()
	}
	return pr.ofGo()
}

// GoTable returns the table of functions that Go's run-time system has, and the address
// that the functions' offsets in it are counted from.
func (ob *object) GoTable() (table []byte, start uint64, err error) {
	at, size, own := ob.goTableAt()
	if size == 0 {
		return nil, 0, errors.New("Go's table of functions was not found: it has no section, no symbols, and no known version")
	}
	if table, err = ob.Text(at, int(min(size, maxGoTable))); err != nil {
		return nil, 0, err
	}
	if text := ob.Lookup("runtime.text"); len(text) > 0 {
		return table, text[len(text)-1].Value, nil
	}
	if !own && len(table) >= goTextStart+8 {
		return table, binary.LittleEndian.Uint64(table[goTextStart:]), nil
	}
	for _, sec := range ob.Sections() {
		if sec.Name == ".text" {
			start = sec.Vaddr
		}
	}
	return table, start, nil
}

// goTableAt finds the table: in a section of its own, or, where lld has put it into a section with other data, by its
// symbols; in a file without symbols, by what it begins with.
func (ob *object) goTableAt() (at, size uint64, own bool) {
	for _, sec := range ob.Sections() {
		if strings.HasSuffix(sec.Name, ".gopclntab") {
			return sec.Vaddr, sec.Size, true
		}
	}
	first, end := ob.Lookup("runtime.pclntab"), ob.Lookup("runtime.epclntab")
	if len(first) == 1 && len(end) == 1 && first[0].Value < end[0].Value {
		return first[0].Value, end[0].Value - first[0].Value, false
	}
	for _, sec := range ob.Sections() {
		if !sec.Alloc || sec.Exec || sec.NoBits || sec.Name != ".data.rel.ro" && sec.Name != ".rodata" {
			continue
		}
		data, err := ob.Text(sec.Vaddr, int(min(sec.Size, maxGoTable)))
		if err != nil {
			continue
		}
		if off := goTableIn(data); off >= 0 {
			return sec.Vaddr + uint64(off), sec.Size - uint64(off), false
		}
	}
	return 0, 0, false
}

// The head of the table (runtime/symtab.go, pcHeader): the version, two zeros, the least size of instructions, the size of
// pointers, the numbers of functions and files, and the address of the first function.
const (
	goHead      = "\xff\xff\xff\x00\x00\x01\x08" // behind the byte of the version
	goFunctions = 8
	goTextStart = 24
	goAlign     = 8
)

// goTableIn returns where a table begins, -1: nowhere.
func goTableIn(data []byte) int {
	for from := 0; ; {
		k := bytes.Index(data[from:], []byte(goHead))
		if k < 0 {
			return -1
		}
		at := from + k - 1
		if from = at + 2; at >= 0 && at%goAlign == 0 && data[at] >= 0xf0 && len(data)-at >= goTextStart+8 {
			if n := binary.LittleEndian.Uint64(data[at+goFunctions:]); n > 0 && n < uint64(len(data)-at)/8 {
				return at
			}
		}
	}
}

const maxGoTable = 1 << 30
