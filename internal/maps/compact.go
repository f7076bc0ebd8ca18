package maps

import (
	"slices"
	"sync/atomic"
)

// Slots are given back while no hit program runs, and none is interrupted that goes on later: no thread has found a slot that it
// will use. Then
//
//  1. The shown keys that are needed are copied.
//  2. All slots are set to zero, the tag first. If jalon ends here or in 3, keys are missing, and none has another's value.
//  3. The keys are inserted as by 6 to 8 of the protocol: words and value first, then the tag.

// Used is how many slots of n from slot `from` on are taken. from counts modulo the slots.
func (r *Reader) Used(from, n uint64) uint64 {
	return r.tags(from, n, func(tag uint64) bool { return tag != 0 && tag != Gone && tag != Freeing })
}

// Deleted is how many of these slots are those of hidden keys.
func (r *Reader) Deleted(from, n uint64) uint64 {
	return r.tags(from, n, func(tag uint64) bool { return tag&StateMask == Hidden })
}

func (r *Reader) tags(from, n uint64, is func(tag uint64) bool) (found uint64) {
	for i := range n {
		if is(atomic.LoadUint64(r.word(r.slot((from+i)%uint64(r.shape.Slots)) + Tag))) {
			found++
		}
	}
	return found
}

// Compact gives back all slots but those of shown keys for which needed is true. It returns how many are taken then. The caller makes
// sure that no hit program runs. The table has no cells.
func (r *Reader) Compact(needed func(key []uint64) bool) (used int) {
	if r.shape.Sets > 0 || r.shape.Single {
		panic("BUG: maps: slots with cells do not move")
	}
	var list []Entry
	for e := range r.shown() {
		if needed(e.Key) {
			list = append(list, e)
		}
	}
	for i := range r.slots() {
		at := r.slot(i)
		if atomic.LoadUint64(r.word(at+Tag)) == 0 {
			continue
		}
		atomic.StoreUint64(r.word(at+Tag), 0)
		clear(r.mem[at+Key : at+r.shape.Stride()])
	}
	for _, e := range list {
		if r.insert(e) {
			used++
		}
	}
	if r.shape.Limit > 0 {
		atomic.StoreUint64(r.word(Room), uint64(r.shape.Limit-used))
	}
	return used
}

// insert enters a key; false: there is no room, or it is there.
func (r *Reader) insert(e Entry) bool {
	hash := Hash(e.Key...)
	for i := range uint64(Window) {
		at := r.slot(r.shape.Index(hash) + i)
		tag := atomic.LoadUint64(r.word(at + Tag))
		if tag == 0 {
			for n, v := range slices.Concat(e.Key, e.Value) {
				atomic.StoreUint64(r.word(at+Key+8*uint64(n)), v)
			}
			atomic.StoreUint64(r.word(at+Tag), hash&^StateMask|Shown)
			return true
		}
		if tag == hash&^StateMask|Shown && slices.Equal(r.load(at+Key, len(e.Key)), e.Key) {
			return false
		}
	}
	return false
}
