package image

import (
	"debug/elf"
	"fmt"
)

// maxRelocations bounds the number of relocations that are read of a library.
const maxRelocations = 1 << 20

// vector is the form of a thread's DTV, whose address is the second word after the thread pointer: the
// block of module n is the first word of element n.
type vector struct {
	size   uint64 // of an element, bytes
	length int64  // where the number of modules is, bytes from the vector
}

var (
	muslVector  = vector{size: 8, length: 0}
	glibcVector = vector{size: 16, length: -16}
)

// vectorOf looks for glibc among the libraries.
func vectorOf(read Memory, list []LinkMap) vector {
	for _, lib := range list {
		if table, err := readSymbols(read, lib.Base, lib.Dynamic); err == nil {
			if _, err := table.lookup("gnu_get_libc_version"); err == nil {
				return glibcVector
			}
		}
	}
	return muslVector
}

// relocatedBlock finds a library's block by what the dynamic linker has stored in the
// library: R_X86_64_TPOFF64 is replaced by symbol + addend - distance below the
// thread pointer, R_X86_64_DTPMOD64 by the number of the module. musl has no other
// source, nor has glibc before 2.34.
func relocatedBlock(read Memory, m *LinkMap, v vector, fsBase uint64) (block uint64, err error) {
	found := false
	err = eachRelocation(read, m, func(symtab uint64, w []uint64) bool {
		block, found = blockOfRelocation(read, m, v, symtab, w, fsBase)
		return found
	})
	if err == nil && !found {
		err = fmt.Errorf("no relocation of %s gives the address of its thread-local data", m.Name)
	}
	return block, err
}

// fixedByRelocation is fixedBlock of a library by its R_X86_64_TPOFF64.
func fixedByRelocation(read Memory, m *LinkMap) (distance uint64, err error) {
	err = eachRelocation(read, m, func(symtab uint64, w []uint64) bool {
		if elf.R_X86_64(w[1]&0xffffffff) != elf.R_X86_64_TPOFF64 {
			return false
		}
		block, found := blockOfRelocation(read, m, vector{}, symtab, w, 0)
		distance = -block
		return found
	})
	return distance, err
}

// eachRelocation calls f with the words of a library's relocations (r_offset, r_info,
// r_addend) until f returns true.
func eachRelocation(read Memory, m *LinkMap, f func(symtab uint64, w []uint64) bool) error {
	var rela, size, jmprel, jmpsize, symtab uint64
	err := readDynamic(read, m.Dynamic, func(tag elf.DynTag, value uint64) bool {
		switch tag {
		case elf.DT_RELA:
			rela = relocate(value, m.Base)
		case elf.DT_RELASZ:
			size = value
		case elf.DT_JMPREL:
			jmprel = relocate(value, m.Base)
		case elf.DT_PLTRELSZ:
			jmpsize = value
		case elf.DT_SYMTAB:
			symtab = relocate(value, m.Base)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, t := range []struct{ at, size uint64 }{{rela, size}, {jmprel, jmpsize}} {
		for i := range min(t.size/24, maxRelocations) {
			w, err := read.words(t.at+24*i, 3)
			if err != nil {
				return err
			}
			if f(symtab, w) {
				return nil
			}
		}
	}
	return nil
}

func blockOfRelocation(read Memory, m *LinkMap, v vector, symtab uint64, w []uint64, fsBase uint64) (uint64, bool) {
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
	stored, err := read.word(m.Base + w[0])
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
	count, err := read.word(dtv + uint64(v.length))
	if err != nil || stored == 0 || stored > count {
		return 0, false
	}
	block, err := read.word(dtv + v.size*stored)
	return block, err == nil && block != 0 && block != 1<<64-1
}
