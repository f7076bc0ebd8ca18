package index

import (
	"bytes"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Name records that a unit has an entry with such a name.
type Name struct {
	Hash uint32
	Off  uint32 // from the unit's start
	Unit uint32
	Tag  uint16
}

// Range is a part of a unit's code.
type Range struct {
	debuginfo.Range
	Unit uint32
}

// Hash is FNV-1a.
func Hash(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// Bare cuts template arguments off: f<int> is found as f.
func Bare(b []byte) []byte {
	if i := bytes.IndexByte(b, '<'); i > 0 && !bytes.HasPrefix(b, []byte("operator")) {
		return b[:i]
	}
	return b
}

// Key is FNV-1a of a tag and a name, never 0.
func Key(tag uint16, name []byte) uint64 {
	h := uint64(14695981039346656037) ^ uint64(tag)
	h *= 1099511628211
	for _, c := range name {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return max(h, 1)
}
