package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
)

// Versioned is an exported function with the version of its symbol.
type Versioned struct {
	Symbol
	Version string
	Default bool // f@@V: the version to which programs are linked today
}

const (
	versionIndex  = 0x7fff
	versionHidden = 0x8000
	verdefSize    = 20
)

// Versions lists the functions of that name that have a version, in the order of the dynamic symbols.
func (f *File) Versions(name string) (out []Versioned, err error) {
	defer guard(f.Path, &err)()
	f.symbols() // the strings
	names := f.versionNames()
	if len(names) == 0 {
		return nil, nil
	}
	index := f.sectionOf(stdelf.SHT_GNU_VERSYM)
	for i, s := range f.dynamicSymbols() {
		if s.shndx == 0 || !f.syms.isNamed(&s, name) {
			continue
		}
		v := versionOf(index, i)
		sym := f.syms.symbol(&s)
		if version := names[v&versionIndex]; version != "" && f.IsFunc(sym) {
			out = append(out, Versioned{sym, version, v&versionHidden == 0})
		}
	}
	return out, nil
}

// sectionOf is the data of the first section of that type.
func (f *File) sectionOf(typ stdelf.SectionType) []byte {
	for _, s := range f.elf.Sections {
		if s.Type == typ {
			return slice(f.data, s.Offset, s.FileSize)
		}
	}
	return nil
}

// dynamicSymbols are all entries of .dynsym, so that their numbers are those of the versions.
func (f *File) dynamicSymbols() (out []rawSym) {
	for b := f.sectionOf(stdelf.SHT_DYNSYM); len(b) >= symSize; b = b[symSize:] {
		out = append(out, rawSym{
			name: binary.LittleEndian.Uint32(b), info: b[4], dyn: true, shndx: binary.LittleEndian.Uint16(b[6:]),
			value: binary.LittleEndian.Uint64(b[8:]), size: binary.LittleEndian.Uint64(b[16:]),
		})
	}
	return out
}

// versionNames are the names of the versions that the file defines, by index. Its own name (the base
// definition) is none.
func (f *File) versionNames() map[uint16]string {
	const base = 1 // VER_FLG_BASE
	names := map[uint16]string{}
	b := f.sectionOf(stdelf.SHT_GNU_VERDEF)
	for len(b) >= verdefSize {
		flags, index := binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint16(b[4:])
		aux, next := uint64(binary.LittleEndian.Uint32(b[12:])), uint64(binary.LittleEndian.Uint32(b[16:]))
		if flags&base == 0 && aux+4 <= uint64(len(b)) {
			names[index&versionIndex] = text(f.syms.dyn, binary.LittleEndian.Uint32(b[aux:]))
		}
		if next == 0 || next > uint64(len(b)) {
			break
		}
		b = b[next:]
	}
	return names
}

// versionOf is entry i of the table of versions; 0 (local) where there is none.
func versionOf(index []byte, i int) uint16 {
	if 2*i+2 > len(index) {
		return 0
	}
	return binary.LittleEndian.Uint16(index[2*i:])
}

// neededVersions are the names of the versions that the file asks others for, by index.
func (f *File) neededVersions() map[uint16]string {
	const needSize, auxSize = 16, 16
	names := map[uint16]string{}
	b := f.sectionOf(stdelf.SHT_GNU_VERNEED)
	for len(b) >= needSize {
		aux, next := uint64(binary.LittleEndian.Uint32(b[8:])), uint64(binary.LittleEndian.Uint32(b[12:]))
		for a := b; aux != 0 && aux+auxSize <= uint64(len(a)); aux = uint64(binary.LittleEndian.Uint32(a[12:])) {
			a = a[aux:]
			names[binary.LittleEndian.Uint16(a[6:])&versionIndex] = text(f.syms.dyn, binary.LittleEndian.Uint32(a[8:]))
		}
		if next == 0 || next > uint64(len(b)) {
			break
		}
		b = b[next:]
	}
	return names
}

// text is the string at off of a table of strings.
func text(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	s, _, _ := bytes.Cut(table[off:], []byte{0})
	return string(s)
}
