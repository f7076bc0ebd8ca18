package image

import (
	"debug/elf"
	"errors"
	"fmt"
)

// symbols is the table that a library exports, as it is in memory: a hash table of
// GNU's form leads to the symbols of a name (DT_GNU_HASH):
//
//	nbuckets symoffset bloom_size bloom_shift  32 bits each
//	bloom    bloom_size words of 64 bits
//	buckets  nbuckets words of 32 bits: the first symbol, or 0
//	chain    a word of 32 bits for each symbol from symoffset on: its hash, the
//	         lowest bit of the last one of a bucket set
type symbols struct {
	read                 Memory
	base                 uint64
	symtab, strtab       uint64
	buckets, chain       uint64
	nbuckets, firstChain uint32
}

const symbolSize = 24 // Elf64_Sym

// maxChain bounds the symbols of a bucket; they are about one.
const maxChain = 4096

var errNoSymbol = errors.New("no such symbol")

// relocate makes an address of a dynamic section's entry. glibc has stored it
// relocated, musl as it is in the file.
func relocate(v, base uint64) uint64 {
	if v < base {
		return v + base
	}
	return v
}

func readSymbols(read Memory, base, dynamic uint64) (*symbols, error) {
	s := &symbols{read: read, base: base}
	var hash uint64
	err := readDynamic(read, dynamic, func(tag elf.DynTag, v uint64) bool {
		switch tag {
		case elf.DT_SYMTAB:
			s.symtab = relocate(v, base)
		case elf.DT_STRTAB:
			s.strtab = relocate(v, base)
		case elf.DT_GNU_HASH:
			hash = relocate(v, base)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if hash == 0 || s.symtab == 0 || s.strtab == 0 {
		return nil, fmt.Errorf("the library at %#x has no hash table", base)
	}
	head, err := read.words(hash, 2)
	if err != nil {
		return nil, err
	}
	bloom := head[1] & 0xffffffff
	s.nbuckets, s.firstChain = uint32(head[0]), uint32(head[0]>>32)
	s.buckets = hash + 16 + 8*bloom
	s.chain = s.buckets + 4*uint64(s.nbuckets)
	if s.nbuckets == 0 {
		return nil, errNoSymbol
	}
	return s, nil
}

// lookup returns the address of a symbol that the library defines.
func (s *symbols) lookup(name string) (uint64, error) {
	h := gnuHash(name)
	n, err := s.read.word32(s.buckets + 4*uint64(h%s.nbuckets))
	if err != nil || n < s.firstChain {
		return 0, errors.Join(errNoSymbol, err)
	}
	for range maxChain {
		c, err := s.read.word32(s.chain + 4*uint64(n-s.firstChain))
		if err != nil {
			return 0, err
		}
		if (c^h)>>1 == 0 {
			// st_name, st_info, st_other, st_shndx; st_value; st_size
			sym, err := s.read.words(s.symtab+symbolSize*uint64(n), 2)
			if err != nil {
				return 0, err
			}
			if sym[0]>>48 != 0 && s.isName(s.strtab+sym[0]&0xffffffff, name) {
				return s.base + sym[1], nil
			}
		}
		if c&1 != 0 {
			break
		}
		n++
	}
	return 0, errNoSymbol
}

func (s *symbols) isName(addr uint64, name string) bool {
	b := make([]byte, len(name)+1)
	return s.read(addr, b) == nil && string(b) == name+"\x00"
}

// gnuHash is the hash of DT_GNU_HASH (Bernstein's).
func gnuHash(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}
