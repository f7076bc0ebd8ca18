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
	Key   []uint64
	Value []uint64 // without cells
	Shown bool
	slot  uint64
}

// Shape is the form of the table.
func (r *Reader) Shape() Shape { return r.shape }

func (r *Reader) word(off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&r.mem[off])) }

func (r *Reader) slots() uint64 { return uint64(r.shape.Count()) }

func (r *Reader) slot(i uint64) uint64 { return HeaderSize + i*r.shape.Stride() }

// NoRoom is how many times a key found no room.
func (r *Reader) NoRoom() uint64 { return atomic.LoadUint64(r.word(Full)) }

// Entries are the slots that have a key, in the order of the slots. A key may have two: see the protocol.
func (r *Reader) Entries() iter.Seq[Entry] { return r.entries(r.shape.has) }

// shown are those of the keys that are in the map. Where keys are deleted, most slots have one that is not.
func (r *Reader) shown() iter.Seq[Entry] {
	return r.entries(func(tag uint64) bool { return tag&StateMask == Shown })
}

func (r *Reader) entries(has func(tag uint64) bool) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range r.slots() {
			at := r.slot(i)
			tag := atomic.LoadUint64(r.word(at + Tag))
			if !has(tag) {
				continue
			}
			e := Entry{Shown: tag&StateMask == Shown, Key: r.load(at+Key, r.shape.KeyWords()), slot: i}
			if r.shape.Sets == 0 {
				e.Value = r.load(at+uint64(r.shape.Value()), r.shape.Words)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// has reports whether a slot with this tag has a key.
func (s Shape) has(tag uint64) bool {
	return s.Single || tag&StateMask >= Hidden || s.Sets > 0 && isRetired(tag)
}

func isRetired(tag uint64) bool { return tag&StateMask == Retired && tag > Freeing }

// load loads n words.
func (r *Reader) load(off uint64, n int) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = atomic.LoadUint64(r.word(off + 8*uint64(i)))
	}
	return words
}

// Cell is what one set has for an entry.
func (r *Reader) Cell(e *Entry, set int) []uint64 {
	return r.load(r.shape.CellsAt()+uint64(set)*r.shape.SetStride()+e.slot*r.shape.Stride(), r.shape.Words)
}

// Sum is the value of an entry with cells: words up to sums are added up, of the others it is the largest.
func (r *Reader) Sum(e *Entry, sums int) []uint64 {
	total := make([]uint64, r.shape.Words)
	for set := range r.shape.Sets {
		for n, v := range r.Cell(e, set) {
			if n < sums {
				total[n] += v
			} else {
				total[n] = max(total[n], v)
			}
		}
	}
	return total
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
