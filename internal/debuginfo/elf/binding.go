package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"sync"
)

// binding is how the dynamic linker binds the file's symbols: which words it writes their addresses to, and which of
// the file's own objects and functions those of another file may replace.
type binding struct {
	*pointers
	once   sync.Once
	global map[string]uint64   // by symbol: the word of R_X86_64_GLOB_DAT
	words  map[string][]uint64 // by symbol: this word, and those through which functions are called
	bound  map[uint64]bool     // all these words
	own    bool                // no other file's symbols come before the file's
}

// Slot is the address of a word that holds, when the file is loaded, where its exported object or function at vaddr
// is: a copy in the program (R_X86_64_COPY), the stub of the program by which it is known everywhere, or what a
// library that comes before has under that name. The file's own code takes the address from there. name is preferred
// where the object has several.
func (bi *binding) Slot(vaddr uint64, name string) (slot uint64, ok bool) {
	bi.once.Do(bi.find)
	for _, n := range bi.exported(vaddr, false, name) {
		if slot, ok = bi.global[n]; ok {
			return slot, true
		}
	}
	return 0, false
}

// Replaceable is the symbol of an exported object or function of a library in place of which the library uses one of
// that name that another file has, if the dynamic linker finds that first. value is an address, or the offset in the
// thread-local block.
func (bi *binding) Replaceable(value uint64, tls bool, name string) (symbol string, ok bool) {
	bi.once.Do(bi.find)
	if names := bi.exported(value, tls, name); len(names) > 0 {
		return names[0], true
	}
	return "", false
}

// Words are the words that hold, when the dynamic linker has bound them, the address of a symbol.
func (bi *binding) Words(symbol string) []uint64 {
	bi.once.Do(bi.find)
	return bi.words[symbol]
}

// Bound reports whether a word is one of Words for a symbol.
func (bi *binding) Bound(word uint64) bool {
	bi.once.Do(bi.find)
	return bi.bound[word]
}

func (bi *binding) find() {
	var err error
	defer guard(bi.Path, &err)() // of a file that is being truncated those that were read count
	bi.global, bi.words, bi.bound = map[string]uint64{}, map[string][]uint64{}, map[uint64]bool{}
	d := bi.dynamic()
	bi.own = bi.isProgram(d) || symbolic(d)
	for _, t := range [][2]stdelf.DynTag{{stdelf.DT_RELA, stdelf.DT_RELASZ}, {stdelf.DT_JMPREL, stdelf.DT_PLTRELSZ}} {
		b, err := bi.table(d, t[0], t[1])
		if err != nil {
			return
		}
		for ; len(b) >= 24; b = b[24:] {
			at, info := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			typ := stdelf.R_X86_64(uint32(info))
			if typ != stdelf.R_X86_64_GLOB_DAT && typ != stdelf.R_X86_64_JMP_SLOT {
				continue
			}
			name := bi.symbolName(d, info>>32)
			bi.words[name], bi.bound[at] = append(bi.words[name], at), true
			if typ == stdelf.R_X86_64_GLOB_DAT {
				bi.global[name] = at
			}
		}
	}
}

// exported lists the names of what the file exports at an address, except what is protected from being replaced;
// only the given one if it is among them.
func (bi *binding) exported(value uint64, tls bool, name string) (names []string) {
	var err error
	defer guard(bi.Path, &err)()
	for _, s := range bi.elf.Sections {
		if s.Type != stdelf.SHT_DYNSYM || bi.own {
			continue
		}
		d := bi.dynamic()
		b := slice(bi.data, s.Offset, s.FileSize)
		for i := uint64(0); uint64(len(b)) >= (i+1)*symSize; i++ {
			e := b[i*symSize:]
			if binary.LittleEndian.Uint64(e[8:]) != value || binary.LittleEndian.Uint16(e[6:]) == 0 {
				continue
			}
			typ, vis := stdelf.SymType(e[4]&15), stdelf.SymVis(e[5]&3)
			if stdelf.SymBind(e[4]>>4) != stdelf.STB_LOCAL && vis == stdelf.STV_DEFAULT && (typ == stdelf.STT_TLS) == tls {
				names = append(names, bi.symbolName(d, i))
			}
		}
	}
	if slices.Contains(names, name) {
		return []string{name}
	}
	return names
}

// isProgram reports whether the file is a program: nothing comes before its symbols.
func (bi *binding) isProgram(d map[stdelf.DynTag]uint64) bool {
	_, debugged := d[stdelf.DT_DEBUG] // the dynamic linker stores an address for debuggers there, in programs only
	return !bi.PIE || debugged || d[stdelf.DT_FLAGS_1]&uint64(stdelf.DF_1_PIE) != 0
}

// symbolic reports whether the file's own symbols come before all others (-Bsymbolic).
func symbolic(d map[stdelf.DynTag]uint64) bool {
	_, yes := d[stdelf.DT_SYMBOLIC]
	return yes || d[stdelf.DT_FLAGS]&uint64(stdelf.DF_SYMBOLIC) != 0
}

// symbolName is the name of entry i of the dynamic symbols.
func (bi *binding) symbolName(d map[stdelf.DynTag]uint64, i uint64) string {
	sym := bi.ReadVaddr(d[stdelf.DT_SYMTAB]+i*symSize, symSize)
	if len(sym) < symSize {
		return ""
	}
	const longest = 1 << 16
	off := uint64(binary.LittleEndian.Uint32(sym))
	return cstring(bi.ReadVaddr(d[stdelf.DT_STRTAB]+off, longest))
}
