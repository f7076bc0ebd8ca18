package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/pclntab"
)

// goTables finds the table of functions that Go's run-time system has (pclntab). Stripped programs have it, too.
type goTables struct {
	*image
	words  *pointers
	listed *symbolTable

	once  sync.Once
	table *pclntab.Table
	text  uint64
}

// GoTable returns Go's table of functions, and the address that the offsets in it are counted from. The table refers to the
// file's data.
func (gt *goTables) GoTable() (table *pclntab.Table, text uint64, ok bool) {
	gt.once.Do(gt.find)
	return gt.table, gt.text, gt.table != nil
}

func (gt *goTables) find() {
	at, size := gt.place()
	table, err := pclntab.Open(gt.ReadVaddr(at, int(min(size, maxGoTable))))
	if err != nil {
		return // a version that is not known
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
		if gt.countsFrom(table, text) {
			gt.table, gt.text = table, text
			return
		}
	}
}

const maxGoTable = 1 << 30

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
		if off := pclntab.Index(slice(gt.data, s.Offset, s.FileSize)); off >= 0 {
			return s.Addr + uint64(off), s.Size - uint64(off)
		}
	}
	return 0, 0
}

// starts returns the addresses from which the offsets of the table at an address may be counted: the one in its head, the
// addresses of code in the run-time system's description of the program, which alone has it since Go 1.26 (the dynamic
// linker may write both), and the beginning of the section with code, if no C code is before Go's.
func (gt *goTables) starts(at uint64) (list []uint64) {
	words := []uint64{at + pclntab.StartAt}
	if s := gt.sections[".go.module"]; s != nil {
		for off := uint64(0); off+8 <= min(s.Size, maxModule); off += 8 {
			words = append(words, s.Addr+off)
		}
	}
	for _, at := range words {
		if b, err := gt.words.ReadLoaded(at, 8, 0); err == nil && len(b) == 8 {
			if addr := binary.LittleEndian.Uint64(b); gt.IsCode(addr) && !slices.Contains(list, addr) {
				list = append(list, addr)
			}
		}
	}
	if s := gt.sections[".text"]; s != nil {
		list = append(list, s.Addr)
	}
	return list
}

// maxModule bounds the description (runtime.moduledata): the beginning of the code is in its first 200 bytes.
const maxModule = 512

// countsFrom reports whether the offsets of a table are counted from an address: the code there calls what the table says
// that Go's functions call.
func (gt *goTables) countsFrom(t *pclntab.Table, text uint64) bool {
	if !gt.IsCode(text) {
		return false
	}
	more := map[uint64]bool{}
	for i := range t.Len() {
		if f, err := t.Func(i); err == nil && t.HasName(&f, "runtime.morestack") {
			more[text+f.Lo] = true
		}
	}
	for i, budget := 0, uint64(maxGoSearched); i < t.Len() && budget > 0; i++ { // the functions of a damaged table may overlap
		f, err := t.Func(i)
		if err != nil {
			continue
		}
		n := min(f.Hi-f.Lo, budget)
		if budget -= n; gt.callsAny(text+f.Lo, text+f.Lo+n, more) {
			return true
		}
	}
	return false
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

// symbolsOfStripped returns the functions of Go's table as symbols, and their names; for files without a table of symbols. A
// damaged table can have more names than there is memory: they stay in it.
func (gt *goTables) symbolsOfStripped() (raw []rawSym, names []byte) {
	t, text, ok := gt.GoTable()
	if !ok {
		return nil, nil
	}
	section := uint16(0)
	for i, s := range gt.elf.Sections {
		if text >= s.Addr && text-s.Addr < s.Size && s.Flags&stdelf.SHF_EXECINSTR != 0 {
			section = uint16(i)
		}
	}
	for i := range t.Len() {
		if f, err := t.Func(i); err == nil && f.Lo < f.Hi {
			raw = append(raw, rawSym{
				value: text + f.Lo, size: f.Hi - f.Lo, name: f.Name, shndx: section, info: uint8(stdelf.STB_LOCAL)<<4 | uint8(stdelf.STT_FUNC),
			})
		}
	}
	return raw, t.Names()
}
