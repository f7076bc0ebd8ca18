package patch

import (
	"encoding/binary"
	"sync"
)

// BranchInto reports whether any bytes of text, which lies at base, read as a
// branch with an 8 or 32-bit displacement that lands strictly between lo and hi.
// Every byte offset is tried, so no real direct branch is missed and some that do
// not exist are found.
func BranchInto(text []byte, base, lo, hi uint64) bool {
	found := false
	scan(Region{base, text}, func(t uint64) bool {
		found = t > lo && t < hi
		return !found
	})
	return found
}

// scan calls f with the target of whatever reads as a direct branch, at any
// byte offset, until f returns false.
func scan(r Region, f func(target uint64) bool) {
	b := r.Bytes
	for i := 0; i+1 < len(b); i++ {
		n, wide := branchAt(b[i], b[i+1])
		if n == 0 || i+n > len(b) {
			continue
		}
		rel := int64(int8(b[i+n-1]))
		if wide {
			rel = int64(int32(binary.LittleEndian.Uint32(b[i+n-4:])))
		}
		if !f(r.Addr + uint64(i+n) + uint64(rel)) {
			return
		}
	}
}

// branchAt gives the length of the direct branch that two bytes begin, and
// whether its displacement has 32 bits.
func branchAt(c, next byte) (n int, wide bool) {
	switch {
	case c == 0xe8 || c == 0xe9:
		return 5, true
	case c&0xf0 == 0x70 || c&0xfc == 0xe0 || c == 0xeb:
		return 2, false
	case c == 0x0f && next&0xf0 == 0x80 || c == 0xc7 && next == 0xf8:
		return 6, true
	}
	return 0, false
}

// appendRaw adds the targets of scan that lie in [lo, hi).
func appendRaw(list []uint64, r Region, lo, hi uint64) []uint64 {
	scan(r, func(t uint64) bool {
		if t >= lo && t < hi {
			list = append(list, t)
		}
		return true
	})
	return list
}

// Text is the executable part of a module, searched for branches that enter a
// function from outside. The search is done at first use, about 1 ms a megabyte.
type Text struct {
	Addr  uint64
	Bytes []byte

	once sync.Once
	far  []uint64 // a bit per byte: something that reads as a rel32 branch lands here
}

// mark fills in far.
func (t *Text) mark() {
	t.far = make([]uint64, (len(t.Bytes)+63)/64)
	b := t.Bytes
	for i := 0; i+6 <= len(b); i++ {
		n := 5
		switch c := b[i]; {
		case c == 0xe8 || c == 0xe9:
		case c == 0x0f && b[i+1]&0xf0 == 0x80 || c == 0xc7 && b[i+1] == 0xf8:
			n = 6
		default:
			continue
		}
		at := uint64(i+n) + uint64(int64(int32(binary.LittleEndian.Uint32(b[i+n-4:]))))
		if at < uint64(len(b)) {
			t.far[at/64] |= 1 << (at % 64)
		}
	}
}

// enters reports whether a branch from outside [fnLo, fnHi) may land strictly
// between lo and hi.
func (t *Text) enters(fnLo, fnHi, lo, hi uint64) (uint64, bool) {
	t.once.Do(t.mark)
	for a := lo + 1; a < hi; a++ {
		if off := a - t.Addr; off < uint64(len(t.Bytes)) && t.far[off/64]&(1<<(off%64)) != 0 {
			return a, true
		}
	}
	// An 8-bit displacement reaches 128 bytes: look before and after the function.
	var hit uint64
	for _, r := range []Region{t.slice(max(lo, 130)-130, fnLo), t.slice(fnHi, hi+130)} {
		scan(r, func(a uint64) bool {
			if a > lo && a < hi {
				hit = a
			}
			return hit == 0
		})
	}
	return hit, hit != 0
}

// slice is the part of the text between two addresses.
func (t *Text) slice(lo, hi uint64) Region {
	lo = max(lo, t.Addr)
	hi = min(hi, t.Addr+uint64(len(t.Bytes)))
	if lo >= hi {
		return Region{}
	}
	return Region{lo, t.Bytes[lo-t.Addr : hi-t.Addr]}
}
