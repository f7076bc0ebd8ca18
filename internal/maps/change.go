package maps

import "sync/atomic"

// Changes by jalon, while hit programs run.

// Take returns the value of an entry and removes it from the map. No writer may have the key meanwhile.
func (r *Reader) Take(e *Entry, sums int) (value []uint64) {
	tag := r.word(r.slot(e.slot) + Tag)
	if r.shape.Sets == 0 {
		at := r.slot(e.slot) + uint64(r.shape.Value())
		value = r.load(at, r.shape.Words)
		r.remove(tag)
		r.zero(at)
		return value
	}
	value = r.Sum(e, sums)
	r.remove(tag)
	for set := range r.shape.Sets {
		r.zero(r.shape.CellsAt() + uint64(set)*r.shape.SetStride() + e.slot*r.shape.Stride())
	}
	return value
}

// Clear removes all keys. zero: the next addition to a key begins at 0. A key that is changed meanwhile may stay.
func (r *Reader) Clear(zero bool) {
	for e := range r.Entries() {
		if r.remove(r.word(r.slot(e.slot) + Tag)) {
			r.moreRoom(1)
		}
		if zero && r.shape.Sets == 0 {
			r.zero(r.slot(e.slot) + uint64(r.shape.Value()))
		}
	}
}

// Subtract takes from the numbers of a map, to which sites only add, what it had before; keys that have nothing left are
// removed. A site shows its key after it has added to it, and a key to which was added meanwhile is shown again, so no addition is lost.
func (r *Reader) Subtract(before Merged) {
	for e := range r.shown() {
		t := before[keyBytes(e.Key)]
		if t == nil || !t.Shown {
			continue
		}
		at := r.slot(e.slot) + uint64(r.shape.Value())
		if atomic.AddUint64(r.word(at), -t.Value[0]) != 0 {
			continue
		}
		tag := r.word(r.slot(e.slot) + Tag)
		removed := r.remove(tag)
		if atomic.LoadUint64(r.word(at)) != 0 {
			if v := atomic.LoadUint64(tag); v&StateMask == Hidden { // the state changes to shown only
				atomic.CompareAndSwapUint64(tag, v, v|Shown)
			}
		} else if removed {
			r.moreRoom(1)
		}
	}
}

// Begin makes room for Limit keys, in a table that no hit has used.
func (r *Reader) Begin() {
	if r.shape.Limit > 0 {
		atomic.StoreUint64(r.word(Room), uint64(r.shape.Limit))
	}
}

// Put sets the number of a map without keys and shows it.
func (r *Reader) Put(n uint64) {
	atomic.StoreUint64(r.word(r.slot(0)+uint64(r.shape.Value())), n)
	tag := r.word(r.slot(0) + Tag)
	atomic.StoreUint64(tag, atomic.LoadUint64(tag)&^StateMask|Shown)
}

// remove hides a key, unless its slot is being changed.
func (r *Reader) remove(tag *uint64) bool {
	v := atomic.LoadUint64(tag)
	return v&StateMask == Shown && atomic.CompareAndSwapUint64(tag, v, v&^(Shown^Hidden))
}

// NoneLeft reports whether the table takes no more keys.
func (r *Reader) NoneLeft() bool { return r.shape.Limit > 0 && r.Left() <= 0 }

// Left is how many more keys a table with Limit takes.
func (r *Reader) Left() int64 { return int64(atomic.LoadUint64(r.word(Room))) }

// GiveRoom makes room for as many keys as there are slots beside one for each key, of which it has been done for given before. It returns how many there are.
func (r *Reader) GiveRoom(given int) (doubles int) {
	seen := map[string]bool{}
	for e := range r.Entries() {
		id := keyBytes(e.Key)
		if seen[id] {
			doubles++
		}
		seen[id] = true
	}
	r.moreRoom(doubles - given)
	return doubles
}

// moreRoom makes room for keys.
func (r *Reader) moreRoom(n int) {
	if r.shape.Limit > 0 {
		atomic.AddUint64(r.word(Room), uint64(n))
	}
}

func (r *Reader) zero(at uint64) {
	for n := range uint64(r.shape.Words) {
		atomic.StoreUint64(r.word(at+8*n), 0)
	}
}
