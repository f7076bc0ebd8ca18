package patch

import "encoding/binary"

// BranchInto reports whether any bytes of text, which lies at base, read as a
// branch with an 8 or 32-bit displacement that lands strictly between lo and hi.
// Every byte offset is tried, so no real direct branch is missed and some that do
// not exist are found.
func BranchInto(text []byte, base, lo, hi uint64) bool {
	found := false
	scan(Region{base, text}, func(_, t uint64) bool {
		found = t > lo && t < hi
		return !found
	})
	return found
}

// scan calls f with the address and the target of whatever reads as a direct
// branch, at any byte offset, until f returns false.
func scan(r Region, f func(at, target uint64) bool) {
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
		if !f(r.Addr+uint64(i), r.Addr+uint64(i+n)+uint64(rel)) {
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
	scan(r, func(_, t uint64) bool {
		if t >= lo && t < hi {
			list = append(list, t)
		}
		return true
	})
	return list
}
