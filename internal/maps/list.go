package maps

import "sync/atomic"

// Changes of the table of the threads' numbers, which only jalon changes.

// List makes n the number of a key, which is then in the map. Only one writer may call it, and no writer that lives and has the slot of a hidden
// key may go on to use it. false: there is no room.
func (r *Reader) List(key []uint64, n uint64) bool {
	hash := Hash(key...)
	free := uint64(Window)
	for i := range uint64(Window) {
		at := r.slot(r.shape.Index(hash) + i)
		tag := atomic.LoadUint64(r.word(at + Tag))
		if tag|Shown == hash|Shown && r.hasKey(at, key) {
			atomic.StoreUint64(r.word(at+uint64(r.shape.Value())), n)
			atomic.StoreUint64(r.word(at+Tag), hash|Shown)
			return true
		}
		if free == Window && tag&StateMask != Shown && tag&StateMask != Claimed {
			free = i
		}
		if tag == 0 {
			break
		}
	}
	if free == Window {
		return false
	}
	at := r.slot(r.shape.Index(hash) + free)
	atomic.StoreUint64(r.word(at+Tag), hash&^StateMask|Claimed)
	for i, w := range key {
		atomic.StoreUint64(r.word(at+Key+8*uint64(i)), w)
	}
	atomic.StoreUint64(r.word(at+uint64(r.shape.Value())), n)
	atomic.StoreUint64(r.word(at+Tag), hash|Shown)
	return true
}

// Unlist removes a key.
func (r *Reader) Unlist(key []uint64) {
	hash := Hash(key...)
	for i := range uint64(Window) {
		at := r.slot(r.shape.Index(hash) + i)
		if atomic.LoadUint64(r.word(at+Tag)) == hash|Shown && r.hasKey(at, key) {
			atomic.StoreUint64(r.word(at+Tag), hash&^StateMask|Hidden)
		}
	}
}

func (r *Reader) hasKey(at uint64, key []uint64) bool {
	for i, w := range key {
		if atomic.LoadUint64(r.word(at+Key+8*uint64(i))) != w {
			return false
		}
	}
	return true
}
