package elf

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// pointers is what relocations make of the file's data.
type pointers struct {
	*image
	*unpacker
	relocOnce sync.Once
	words     []word // see relocated
	wordsErr  error
}

// CodePointers returns the addresses in executable segments, sorted, that the
// dynamic linker writes into data: where code may be called or jumped to without
// an instruction naming it. The load bias is not added.
func (pt *pointers) CodePointers() ([]uint64, error) {
	words, err := pt.relocated()
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, w := range words {
		if pt.inCode(w.value) {
			out = append(out, w.value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ReadLoaded is ReadVaddr with words relocated for a load bias, as far as this follows from the file. The slice
// is a copy.
func (pt *pointers) ReadLoaded(vaddr uint64, n int, bias uint64) ([]byte, error) {
	words, err := pt.relocated()
	if err != nil {
		return nil, err
	}
	b := slices.Clone(pt.ReadVaddr(vaddr, n))
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
func (pt *pointers) EachPointer(take func(at uint64)) error {
	words, err := pt.relocated()
	if err != nil {
		return err
	}
	for _, w := range words {
		if pt.inCode(w.value) {
			take(w.at)
		}
	}
	if pt.PIE {
		return nil
	}
	low, high := ^uint64(0), uint64(0) // most words are outside
	for _, s := range pt.segments {
		if s.Exe {
			low, high = min(low, s.Vaddr), max(high, s.Vaddr+s.Memsz)
		}
	}
	for _, s := range pt.segments {
		if s.Exe {
			continue
		}
		b := slice(pt.data, s.Offset, s.Filesz)
		for off := -s.Vaddr & 7; off+8 <= uint64(len(b)); off += 8 {
			if v := binary.LittleEndian.Uint64(b[off:]); v >= low && v < high && pt.inCode(v) {
				take(s.Vaddr + off)
			}
		}
	}
	return nil
}

// word is a word of data into which the dynamic linker writes an address of the
// file, before the load bias is added.
type word struct{ at, value uint64 }

// relocated lists these words by address.
func (pt *pointers) relocated() ([]word, error) {
	pt.relocOnce.Do(func() { pt.words, pt.wordsErr = pt.relocations() })
	return pt.words, pt.wordsErr
}

func (pt *pointers) relocations() (out []word, err error) {
	d := pt.dynamic()
	for _, t := range [][2]stdelf.DynTag{{stdelf.DT_RELA, stdelf.DT_RELASZ}, {stdelf.DT_JMPREL, stdelf.DT_PLTRELSZ}} {
		b, err := pt.table(d, t[0], t[1])
		if err != nil {
			return nil, err
		}
		for ; len(b) >= 24; b = b[24:] {
			at, info, addend := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
			switch stdelf.R_X86_64(uint32(info)) {
			case stdelf.R_X86_64_RELATIVE, stdelf.R_X86_64_IRELATIVE:
				out = append(out, word{at, addend})
			case stdelf.R_X86_64_64, stdelf.R_X86_64_GLOB_DAT, stdelf.R_X86_64_JMP_SLOT:
				sym := pt.ReadVaddr(d[stdelf.DT_SYMTAB]+info>>32*symSize, symSize)
				if len(sym) == symSize && binary.LittleEndian.Uint16(sym[6:]) != 0 {
					out = append(out, word{at, binary.LittleEndian.Uint64(sym[8:]) + addend})
				}
			}
		}
	}
	table, err := pt.table(d, dtRELR, dtRELRSZ)
	if err != nil {
		return nil, err
	}
	eachRELR(table, func(at uint64) {
		if b := pt.ReadVaddr(at, 8); len(b) == 8 {
			out = append(out, word{at, binary.LittleEndian.Uint64(b)})
		}
	})
	slices.SortFunc(out, func(a, b word) int { return cmp.Compare(a.at, b.at) })
	return out, nil
}

// The tags of compact relative relocations, which debug/elf lacks.
const (
	dtRELRSZ stdelf.DynTag = 35
	dtRELR   stdelf.DynTag = 36
)

// dynamic reads the dynamic segment.
func (pt *pointers) dynamic() map[stdelf.DynTag]uint64 {
	d := map[stdelf.DynTag]uint64{}
	for _, p := range pt.elf.Progs {
		if p.Type != stdelf.PT_DYNAMIC {
			continue
		}
		for b := slice(pt.data, p.Off, p.Filesz); len(b) >= 16; b = b[16:] {
			tag := stdelf.DynTag(binary.LittleEndian.Uint64(b))
			if tag == stdelf.DT_NULL {
				break
			}
			d[tag] = binary.LittleEndian.Uint64(b[8:])
		}
	}
	return d
}

func (pt *pointers) table(d map[stdelf.DynTag]uint64, at, size stdelf.DynTag) ([]byte, error) {
	n := d[size]
	if n == 0 {
		return nil, nil
	}
	if n > uint64(len(pt.data)) {
		return nil, fmt.Errorf("%s: relocations of %d bytes are more than the file has", pt.Path, n)
	}
	b := pt.ReadVaddr(d[at], int(n))
	if uint64(len(b)) < n {
		return nil, fmt.Errorf("%s: the relocations at %#x are not in the file", pt.Path, d[at])
	}
	return b, nil
}

// eachRELR calls f with the addresses of the words in a table of compact relocations: an even entry is an
// address, an odd one a bitmap of the next 63 words (generic ELF ABI, SHT_RELR).
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

// Relative returns the addends of R_X86_64_RELATIVE relocations of [lo, hi) by
// address: what a pointer there holds before the load bias is added.
func (pt *pointers) Relative(lo, hi uint64) (map[uint64]uint64, error) {
	out := map[uint64]uint64{}
	b, err := pt.Bytes(".rela.dyn")
	if err != nil {
		return nil, fmt.Errorf("reading the relocations: %w", err)
	}
	for ; len(b) >= 24; b = b[24:] {
		off := binary.LittleEndian.Uint64(b)
		if off >= lo && off < hi && uint32(binary.LittleEndian.Uint64(b[8:])) == uint32(stdelf.R_X86_64_RELATIVE) {
			out[off] = binary.LittleEndian.Uint64(b[16:])
		}
	}
	return out, nil
}

// Relocated returns the bytes of [lo, hi) that the dynamic linker changes, as ranges of
// vaddrs in the order of the table.
func (pt *pointers) Relocated(lo, hi uint64) (list [][2]uint64, err error) {
	b, err := pt.Bytes(".rela.dyn")
	if err != nil {
		return nil, fmt.Errorf("reading the relocations: %w", err)
	}
	for ; len(b) >= 24; b = b[24:] {
		off, n := binary.LittleEndian.Uint64(b), uint64(8)
		switch stdelf.R_X86_64(binary.LittleEndian.Uint32(b[8:])) {
		case stdelf.R_X86_64_32, stdelf.R_X86_64_32S, stdelf.R_X86_64_PC32, stdelf.R_X86_64_PLT32:
			n = 4
		}
		if off < hi && lo < off+n {
			list = append(list, [2]uint64{off, off + n})
		}
	}
	return list, nil
}
