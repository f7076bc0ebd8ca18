package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"strings"
	"sync"
)

// goTables finds the table of functions that Go's run-time system has (pclntab). Stripped programs have it, too.
type goTables struct {
	*image
	words  *pointers
	listed *symbolTable

	once  sync.Once
	table []byte
	text  uint64
	funcs goFuncs // of a file without symbols
}

// GoTable returns Go's table of functions (runtime/symtab.go), and the address that the offsets in it are counted from.
// The slice is of the file.
func (gt *goTables) GoTable() (table []byte, text uint64, ok bool) {
	gt.once.Do(gt.find)
	return gt.table, gt.text, gt.table != nil
}

func (gt *goTables) find() {
	at, size := gt.place()
	table := gt.ReadVaddr(at, int(min(size, maxGoTable)))
	if len(table) < goTextStart+8 {
		return
	}
	if gt.listed.HasSymtab() {
		for _, s := range gt.listed.Lookup("runtime.text") {
			gt.table, gt.text = table, s.Value
		}
	}
	if gt.table != nil {
		return
	}
	for _, text := range gt.starts(at) {
		if funcs, ok := gt.functionsFrom(table, text); ok {
			gt.table, gt.text, gt.funcs = table, text, funcs
			return
		}
	}
}

// place finds the table: in a section of its own, or, where lld has put it into a section with other data, by its
// symbols; in a file without symbols, by what it begins with.
func (gt *goTables) place() (at, size uint64) {
	for _, s := range gt.elf.Sections {
		if strings.HasSuffix(s.Name, ".gopclntab") {
			return s.Addr, s.Size
		}
	}
	if gt.listed.HasSymtab() {
		first, end := gt.listed.Lookup("runtime.pclntab"), gt.listed.Lookup("runtime.epclntab")
		if len(first) == 1 && len(end) == 1 && first[0].Value < end[0].Value {
			return first[0].Value, end[0].Value - first[0].Value
		}
	}
	if _, is := gt.sections[".go.buildinfo"]; !is {
		return 0, 0
	}
	for _, name := range []string{".data.rel.ro", ".rodata"} {
		s := gt.sections[name]
		if s == nil || s.Type == stdelf.SHT_NOBITS {
			continue
		}
		if off := goTableIn(slice(gt.data, s.Offset, s.FileSize)); off >= 0 {
			return s.Addr + uint64(off), s.Size - uint64(off)
		}
	}
	return 0, 0
}

// starts returns the addresses from which the offsets of the table at an address may be counted: the one in its head, which the
// dynamic linker may write there, and the beginning of the section with code, if no C code is before Go's.
func (gt *goTables) starts(at uint64) (list []uint64) {
	if b, err := gt.words.ReadLoaded(at+goTextStart, 8, 0); err == nil && len(b) == 8 {
		list = append(list, binary.LittleEndian.Uint64(b))
	}
	if s := gt.sections[".text"]; s != nil {
		list = append(list, s.Addr)
	}
	return list
}

// The head of the table (runtime/symtab.go, pcHeader): the version, two zeros, the least size of instructions, the size of
// pointers, the numbers of functions and files, and the address of the first function.
const (
	goHead      = "\xff\xff\xff\x00\x00" // behind the byte of the version
	goFunctions = 8
	goTextStart = 24
	goAlign     = 8

	maxGoTable = 1 << 30
	maxGoFuncs = 4 << 20 // a program of the size of Kubernetes has 200,000
)

// goTableIn returns where a table begins, -1: nowhere.
func goTableIn(data []byte) int {
	for from := 0; ; {
		k := bytes.Index(data[from:], []byte(goHead))
		if k < 0 {
			return -1
		}
		at := from + k - 1
		from = at + 2
		if at < 0 || at%goAlign != 0 || len(data)-at < goTextStart+8 || data[at] < 0xf0 || data[at+7] != 8 {
			continue
		}
		if n := binary.LittleEndian.Uint64(data[at+goFunctions:]); n > 0 && n < uint64(len(data)-at)/8 {
			return at
		}
	}
}

// goFuncs reads the functions of a table. The names stay in the table: debug/gosym copies each, and a damaged
// table can have more of them than there is memory.
type goFuncs struct {
	names, funcs []byte
	n            int
	text         uint64
}

// openGoFuncs checks the head of a table of Go 1.18 or later.
func openGoFuncs(table []byte, text uint64) (g goFuncs, ok bool) {
	const headWords = 8
	le := binary.LittleEndian
	if len(table) < 8*(1+headWords) || table[7] != 8 {
		return g, false
	}
	if v := le.Uint32(table); v != 0xfffffff0 && v != 0xfffffff1 { // of Go 1.18 and 1.20
		return g, false
	}
	word := func(i int) uint64 { return le.Uint64(table[8+8*i:]) }
	part := func(i int) []byte { return table[min(word(i), uint64(len(table))):] }
	g = goFuncs{names: part(3), funcs: part(7), text: text}
	if n := word(0); n > 0 && n < uint64(len(g.funcs))/8 && n < maxGoFuncs {
		g.n = int(n)
	}
	return g, g.n > 0
}

// function returns the bounds of a function, and where its name is; ok false: it is damaged.
func (g *goFuncs) function(i int) (lo, hi uint64, name uint32, ok bool) {
	le := binary.LittleEndian
	row := g.funcs[8*i:]
	from, at, to := le.Uint32(row), le.Uint32(row[4:]), le.Uint32(row[8:])
	if from >= to || uint64(at)+8 > uint64(len(g.funcs)) {
		return 0, 0, 0, false
	}
	name = le.Uint32(g.funcs[at+4:])
	return g.text + uint64(from), g.text + uint64(to), name, uint64(name) < uint64(len(g.names))
}

// functionsFrom opens a table; ok false: its offsets are not counted from that address, because the code there
// does not call what the table says that Go's functions call.
func (gt *goTables) functionsFrom(table []byte, text uint64) (g goFuncs, ok bool) {
	g, ok = openGoFuncs(table, text)
	if !ok || !gt.IsCode(text) {
		return g, false
	}
	more := map[uint64]bool{}
	for i := range g.n {
		if lo, _, name, ok := g.function(i); ok && bytes.HasPrefix(g.names[name:], []byte("runtime.morestack")) {
			more[lo] = true
		}
	}
	for i, budget := 0, uint64(maxGoSearched); i < g.n && budget > 0; i++ { // the functions of a damaged table may overlap
		lo, hi, _, ok := g.function(i)
		if !ok {
			continue
		}
		hi = min(hi, lo+budget)
		if budget -= hi - lo; gt.callsAny(lo, hi, more) {
			return g, true
		}
	}
	return g, false
}

// maxGoSearched bounds the bytes of code that are searched for one of these calls: most of Go's functions have one.
const maxGoSearched = 16 << 20

// callsAny reports whether code calls one of the functions.
func (gt *goTables) callsAny(lo, hi uint64, to map[uint64]bool) bool {
	code := gt.ReadVaddr(lo, int(hi-lo))
	if gt.elf.Machine == stdelf.EM_AARCH64 {
		for i := 0; i+4 <= len(code); i += 4 {
			if w := binary.LittleEndian.Uint32(code[i:]); w>>26 == 0x25 && to[lo+uint64(i)+uint64(int64(int32(w<<6)>>6)*4)] { // bl
				return true
			}
		}
		return false
	}
	for i := 0; i+5 <= len(code); i++ {
		if code[i] == 0xe8 && to[lo+uint64(i)+5+uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))] { // call
			return true
		}
	}
	return false
}

// symbolsOfStripped returns the functions of Go's table as symbols, and their names; for files without a table of symbols.
func (gt *goTables) symbolsOfStripped() (raw []rawSym, names []byte) {
	if _, _, ok := gt.GoTable(); !ok {
		return nil, nil
	}
	section := uint16(0)
	for i, s := range gt.elf.Sections {
		if gt.text >= s.Addr && gt.text-s.Addr < s.Size && s.Flags&stdelf.SHF_EXECINSTR != 0 {
			section = uint16(i)
		}
	}
	for i := range gt.funcs.n {
		if lo, hi, name, ok := gt.funcs.function(i); ok {
			raw = append(raw, rawSym{
				value: lo, size: hi - lo, name: name, shndx: section, info: uint8(stdelf.STB_LOCAL)<<4 | uint8(stdelf.STT_FUNC),
			})
		}
	}
	return raw, gt.funcs.names
}
