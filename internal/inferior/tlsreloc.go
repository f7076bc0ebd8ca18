package inferior

import (
	"debug/elf"
	"fmt"
)

// maxRelocations bounds what is looked at of a library.
const maxRelocations = 1 << 20

// relocatedBlock finds a library's block by what the dynamic linker has stored in the
// library: R_X86_64_TPOFF64 is replaced by symbol + addend - distance below the
// thread pointer, R_X86_64_DTPMOD64 by the number of the module. The thread's
// vector, which is the second word behind the thread pointer, has the address of its
// block as its element of that number: one word each in musl, which has no other
// way to tell.
func relocatedBlock(read memoryReader, m *linkMap, fsBase uint64) (uint64, error) {
	var rela, size, jmprel, jmpsize, symtab uint64
	err := readDynamic(read, m.dynamic, func(tag elf.DynTag, v uint64) bool {
		switch tag {
		case elf.DT_RELA:
			rela = relocate(v, m.base)
		case elf.DT_RELASZ:
			size = v
		case elf.DT_JMPREL:
			jmprel = relocate(v, m.base)
		case elf.DT_PLTRELSZ:
			jmpsize = v
		case elf.DT_SYMTAB:
			symtab = relocate(v, m.base)
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	for _, t := range []struct{ at, size uint64 }{{rela, size}, {jmprel, jmpsize}} {
		for i := range min(t.size/24, maxRelocations) {
			w, err := read.words(t.at+24*i, 3) // r_offset, r_info, r_addend
			if err != nil {
				return 0, err
			}
			if block, ok := blockOfRelocation(read, m, symtab, w, fsBase); ok {
				return block, nil
			}
		}
	}
	return 0, fmt.Errorf("no relocation of %s tells where its thread-local data is", m.name)
}

func blockOfRelocation(read memoryReader, m *linkMap, symtab uint64, w []uint64, fsBase uint64) (uint64, bool) {
	typ := elf.R_X86_64(w[1] & 0xffffffff)
	if typ != elf.R_X86_64_TPOFF64 && typ != elf.R_X86_64_DTPMOD64 {
		return 0, false
	}
	value := w[2]
	if n := w[1] >> 32; n != 0 {
		sym, err := read.words(symtab+symbolSize*n, 2)
		if err != nil || sym[0]>>48 == 0 { // st_shndx: another module's
			return 0, false
		}
		value += sym[1]
	}
	stored, err := read.word(m.base + w[0])
	if err != nil {
		return 0, false
	}
	if typ == elf.R_X86_64_TPOFF64 {
		return fsBase + stored - value, true
	}
	dtv, err := read.word(fsBase + 8)
	if err != nil {
		return 0, false
	}
	count, err := read.word(dtv)
	if err != nil || stored == 0 || stored > count {
		return 0, false
	}
	block, err := read.word(dtv + 8*stored)
	return block, err == nil && block != 0
}
