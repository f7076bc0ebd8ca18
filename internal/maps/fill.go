package maps

import (
	"encoding/binary"
	"slices"
)

// Fill makes a table of keys and values, in memory that is zero, as writers leave it. It serves tests: nothing else may use
// the memory meanwhile. full: there is no room for other keys. With cells or Reuse and an odd number of keys, the free slots are gone ones.
func (s Shape) Fill(mem []byte, full bool, entries func(add func(key []uint64, shown bool, value []uint64))) {
	put := func(at uint64, words ...uint64) {
		for n, v := range words {
			binary.LittleEndian.PutUint64(mem[at+8*uint64(n):], v)
		}
	}
	used := make([]bool, s.Count())
	entries(func(key []uint64, shown bool, value []uint64) {
		tag, i := uint64(0), uint64(0)
		if !s.Single {
			h := Hash(key...)
			tag = h&^StateMask | Hidden
			i = s.Index(h)
			i += uint64(slices.Index(used[i:], false))
		}
		if shown {
			tag |= Shown
		}
		used[i] = true
		at := HeaderSize + i*s.Stride()
		put(at+Tag, tag)
		put(at+Key, key...)
		if s.Sets == 0 {
			put(at+uint64(s.Value()), value...)
			return
		}
		put(s.CellsAt()+(i%uint64(s.Sets))*s.SetStride()+i*s.Stride(), value...) // in any set
	})
	keys := 0
	for _, taken := range used {
		if taken {
			keys++
		}
	}
	free := uint64(0)
	switch {
	case s.Single:
	case full && s.Limit == 0:
		free = Claimed
	case (s.Sets > 0 || s.Reuse) && keys%2 == 1:
		free = Gone
	}
	if s.Limit > 0 && !full {
		put(Room, uint64(s.Limit-keys))
	}
	for i, taken := range used {
		if !taken {
			put(HeaderSize+uint64(i)*s.Stride()+Tag, free)
		}
	}
}
