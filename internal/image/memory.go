package image

import "encoding/binary"

// Memory fills b from addr of an address space, or fails.
type Memory func(addr uint64, b []byte) error

func (read Memory) word(addr uint64) (uint64, error) {
	var b [8]byte
	err := read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (read Memory) word32(addr uint64) (uint32, error) {
	var b [4]byte
	err := read(addr, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// words reads consecutive words.
func (read Memory) words(addr uint64, n int) ([]uint64, error) {
	b := make([]byte, 8*n)
	if err := read(addr, b); err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out, nil
}
