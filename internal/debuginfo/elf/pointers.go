package elf

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// CodePointers returns the addresses in executable segments, sorted, that the
// dynamic linker writes into data: where code may be called or jumped to without
// an instruction naming it. The load bias is not added.
func (f *File) CodePointers() ([]uint64, error) {
	words, err := f.relocated()
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, w := range words {
		if f.inCode(w.value) {
			out = append(out, w.value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ReadLoaded is ReadVaddr with words relocated for a load bias, as far as this follows from the file. The slice
// is a copy.
func (f *File) ReadLoaded(vaddr uint64, n int, bias uint64) ([]byte, error) {
	words, err := f.relocated()
	if err != nil {
		return nil, err
	}
	b := slices.Clone(f.ReadVaddr(vaddr, n))
	i, _ := slices.BinarySearchFunc(words, max(vaddr, 7)-7, func(w word, v uint64) int { return cmp.Compare(w.at, v) })
	for ; i < len(words) && words[i].at < vaddr+uint64(len(b)); i++ {
		var v [8]byte
		binary.LittleEndian.PutUint64(v[:], words[i].value+bias)
		if from := int64(words[i].at - vaddr); from < 0 {
			copy(b, v[-from:])
		} else {
			copy(b[from:], v[:])
		}
	}
	return b, nil
}

// EachPointer calls f with the addresses of the words of data that hold an address of
// executable code: by relocations, and in files at fixed addresses by their content.
func (f *File) EachPointer(take func(at uint64)) error {
	words, err := f.relocated()
	if err != nil {
		return err
	}
	for _, w := range words {
		if f.inCode(w.value) {
			take(w.at)
		}
	}
	if f.PIE {
		return nil
	}
	for _, s := range f.segments {
		if s.Exe {
			continue
		}
		b := slice(f.data, s.Offset, s.Filesz)
		for off := -s.Vaddr & 7; off+8 <= uint64(len(b)); off += 8 {
			if f.inCode(binary.LittleEndian.Uint64(b[off:])) {
				take(s.Vaddr + off)
			}
		}
	}
	return nil
}

func (f *File) inCode(v uint64) bool {
	for _, s := range f.segments {
		if s.Exe && v >= s.Vaddr && v-s.Vaddr < s.Memsz {
			return true
		}
	}
	return false
}

// word is a word of data into which the dynamic linker writes an address of the
// file, before the load bias is added.
type word struct{ at, value uint64 }

// relocated lists these words by address.
func (f *File) relocated() ([]word, error) {
	f.relocOnce.Do(func() { f.words, f.wordsErr = f.relocations() })
	return f.words, f.wordsErr
}

func (f *File) relocations() (out []word, err error) {
	d := f.dynamic()
	for _, t := range [][2]stdelf.DynTag{{stdelf.DT_RELA, stdelf.DT_RELASZ}, {stdelf.DT_JMPREL, stdelf.DT_PLTRELSZ}} {
		b, err := f.table(d, t[0], t[1])
		if err != nil {
			return nil, err
		}
		for ; len(b) >= 24; b = b[24:] {
			at, info, addend := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
			switch stdelf.R_X86_64(uint32(info)) {
			case stdelf.R_X86_64_RELATIVE, stdelf.R_X86_64_IRELATIVE:
				out = append(out, word{at, addend})
			case stdelf.R_X86_64_64, stdelf.R_X86_64_GLOB_DAT, stdelf.R_X86_64_JMP_SLOT:
				sym := f.ReadVaddr(d[stdelf.DT_SYMTAB]+info>>32*symSize, symSize)
				if len(sym) == symSize && binary.LittleEndian.Uint16(sym[6:]) != 0 {
					out = append(out, word{at, binary.LittleEndian.Uint64(sym[8:]) + addend})
				}
			}
		}
	}
	table, err := f.table(d, dtRELR, dtRELRSZ)
	if err != nil {
		return nil, err
	}
	eachRELR(table, func(at uint64) {
		if b := f.ReadVaddr(at, 8); len(b) == 8 {
			out = append(out, word{at, binary.LittleEndian.Uint64(b)})
		}
	})
	slices.SortFunc(out, func(a, b word) int { return cmp.Compare(a.at, b.at) })
	return out, nil
}

// Slot is the address of a word that holds, when the file is loaded, where its exported
// object at vaddr is: a copy in the program (R_X86_64_COPY), or the object of that name of
// a library that comes before. The file's own code takes the address from there.
func (f *File) Slot(vaddr uint64) (slot uint64, ok bool) {
	f.slotOnce.Do(f.findSlots)
	slot, ok = f.slots[vaddr]
	return slot, ok
}

func (f *File) findSlots() {
	var err error
	defer guard(f.Path, &err)() // of a file that is being truncated those that were read count
	f.slots = map[uint64]uint64{}
	d := f.dynamic()
	b, err := f.table(d, stdelf.DT_RELA, stdelf.DT_RELASZ)
	if err != nil {
		return
	}
	for ; len(b) >= 24; b = b[24:] {
		at, info := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if stdelf.R_X86_64(uint32(info)) != stdelf.R_X86_64_GLOB_DAT {
			continue
		}
		sym := f.ReadVaddr(d[stdelf.DT_SYMTAB]+info>>32*symSize, symSize)
		if len(sym) == symSize && binary.LittleEndian.Uint16(sym[6:]) != 0 && stdelf.SymType(sym[4]&15) == stdelf.STT_OBJECT {
			f.slots[binary.LittleEndian.Uint64(sym[8:])] = at
		}
	}
}

// The tags of compact relative relocations, which debug/elf lacks.
const (
	dtRELRSZ stdelf.DynTag = 35
	dtRELR   stdelf.DynTag = 36
)

// dynamic reads the dynamic segment.
func (f *File) dynamic() map[stdelf.DynTag]uint64 {
	d := map[stdelf.DynTag]uint64{}
	for _, p := range f.elf.Progs {
		if p.Type != stdelf.PT_DYNAMIC {
			continue
		}
		for b := slice(f.data, p.Off, p.Filesz); len(b) >= 16; b = b[16:] {
			tag := stdelf.DynTag(binary.LittleEndian.Uint64(b))
			if tag == stdelf.DT_NULL {
				break
			}
			d[tag] = binary.LittleEndian.Uint64(b[8:])
		}
	}
	return d
}

func (f *File) table(d map[stdelf.DynTag]uint64, at, size stdelf.DynTag) ([]byte, error) {
	n := d[size]
	if n == 0 {
		return nil, nil
	}
	if n > uint64(len(f.data)) {
		return nil, fmt.Errorf("%s: relocations of %d bytes are more than the file has", f.Path, n)
	}
	b := f.ReadVaddr(d[at], int(n))
	if uint64(len(b)) < n {
		return nil, fmt.Errorf("%s: the relocations at %#x are not in the file", f.Path, d[at])
	}
	return b, nil
}

// eachRELR gives the addresses of the words that a table of compact relocations
// lists: an even entry is an address, an odd one a bitmap of the 63 words behind the
// last (generic ELF ABI, SHT_RELR).
func eachRELR(table []byte, take func(at uint64)) {
	next := uint64(0)
	for ; len(table) >= 8; table = table[8:] {
		e := binary.LittleEndian.Uint64(table)
		if e&1 == 0 {
			take(e)
			next = e + 8
			continue
		}
		for i := range uint64(63) {
			if e>>(i+1)&1 != 0 {
				take(next + 8*i)
			}
		}
		next += 63 * 8
	}
}

// CodeSymbols returns the addresses strictly between lo and hi that symbols of
// code have. Making the index takes as long as looking at all symbols many times.
func (f *File) CodeSymbols(lo, hi uint64) (out []uint64) {
	t := f.symbols()
	f.mu.Lock()
	f.asked++
	indexed := t.byAddr != nil || f.asked > 16
	f.mu.Unlock()
	if indexed {
		idx := f.codeIndex()
		i := sort.Search(len(idx), func(i int) bool { return t.raw[idx[i]].value > lo })
		for ; i < len(idx) && t.raw[idx[i]].value < hi; i++ {
			out = append(out, t.raw[idx[i]].value)
		}
		return slices.Compact(out)
	}
	for i := range t.raw {
		if r := &t.raw[i]; r.value > lo && r.value < hi && f.isCode(r) {
			out = append(out, r.value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isCode: a function, or an untyped symbol in an executable section.
func (f *File) isCode(r *rawSym) bool {
	switch stdelf.SymType(r.info & 15) {
	case stdelf.STT_FUNC, stdelf.STT_GNU_IFUNC:
		return true
	case stdelf.STT_NOTYPE:
		return f.codeLabel(false, int(r.shndx))
	}
	return false
}
