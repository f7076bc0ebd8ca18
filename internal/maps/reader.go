package maps

import (
	"iter"
	"sync/atomic"
	"unsafe"
)

// Reader reads a table in jalon's mapping of the memory. The contents may be anything.
type Reader struct {
	shape Shape
	mem   []byte
}

// NewReader reads the table at the start of mem, which has at least Bytes bytes and is aligned to 8.
func NewReader(s Shape, mem []byte) *Reader { return &Reader{s, mem[:s.Bytes()]} }

// Entry is a key of the map with its value. Words of a value that is being written may be of different times.
type Entry struct {
	Key   [2]uint64
	Value []uint64
	Shown bool
}

func (r *Reader) word(off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&r.mem[off])) }

func (r *Reader) slots() uint64 { return uint64(r.shape.Slots + Window - 1) }

func (r *Reader) slot(i uint64) uint64 { return HeaderSize + i*r.shape.Stride() }

// NoRoom is how many times a key found no room.
func (r *Reader) NoRoom() uint64 { return atomic.LoadUint64(r.word(Full)) }

// Entries are the slots that have a key, in the order of the slots. A key may have two: see the protocol.
func (r *Reader) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range r.slots() {
			at := r.slot(i)
			tag := atomic.LoadUint64(r.word(at + Tag))
			if tag&StateMask < Hidden {
				continue
			}
			e := Entry{Shown: tag&StateMask == Shown, Value: make([]uint64, r.shape.Words)}
			for n := range e.Key {
				e.Key[n] = atomic.LoadUint64(r.word(at + Key + 8*uint64(n)))
			}
			for n := range e.Value {
				e.Value[n] = atomic.LoadUint64(r.word(at + Value + 8*uint64(n)))
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Shown counts the keys that are in the map.
func (r *Reader) Shown() (n uint64) {
	for i := range r.slots() {
		if atomic.LoadUint64(r.word(r.slot(i)+Tag))&StateMask == Shown {
			n++
		}
	}
	return n
}

// HideAll deletes all keys. Writers may run: a key that is shown meanwhile may stay.
func (r *Reader) HideAll() {
	for i := range r.slots() {
		tag := r.word(r.slot(i) + Tag)
		if v := atomic.LoadUint64(tag); v&StateMask == Shown {
			atomic.StoreUint64(tag, v&^1)
		}
	}
}
