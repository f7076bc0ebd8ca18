package maps

import (
	"encoding/binary"
	"slices"
)

// Merged is what the tables of one map have together, by the bytes of the keys: those of several engines, and of processes
// that have ended.
type Merged map[string]*Total

// Total is an element.
type Total struct {
	Key   []uint64
	Value []uint64
	Shown bool
}

// Add takes the elements of a table into account; of values with cells sums words are added up, and the largest is taken of
// the others. Without cells, keys that are not shown are left out, and the first value of a key counts: a later slot of the key is not used any more.
func (m Merged) Add(r *Reader, sums int) {
	if r.shape.Sets == 0 {
		for e := range r.shown() {
			m.Put(e.Key, e.Value, true, sums, false)
		}
		return
	}
	for e := range r.Entries() {
		m.Put(e.Key, r.Sum(&e, sums), e.Shown, sums, true)
	}
}

// Put takes one element into account, as Add does.
func (m Merged) Put(key, value []uint64, shown bool, sums int, cells bool) {
	t := m.total(key, len(value))
	switch {
	case cells:
		t.add(value, sums)
	case shown && !t.Shown:
		copy(t.Value, value)
	}
	t.Shown = t.Shown || shown
}

// AddAll takes all elements of another one into account.
func (m Merged) AddAll(of Merged, sums int) {
	for _, t := range of {
		m.Put(t.Key, t.Value, t.Shown, sums, true)
	}
}

// Gain adds to an element, and removes it if it has nothing then.
func (m Merged) Gain(key, value []uint64, sums int) {
	if m.Put(key, value, false, sums, true); m.Of(key).Zero() {
		m.Remove(key)
	}
}

// Remove takes an element out; nil: there is none.
func (m Merged) Remove(key []uint64) *Total {
	t := m[keyBytes(key)]
	delete(m, keyBytes(key))
	return t
}

// Of is the element of a key; nil: there is none.
func (m Merged) Of(key []uint64) *Total { return m[keyBytes(key)] }

// Less takes from all words of the elements, which are added up, those that they had before. Elements that have nothing left are removed.
func (m Merged) Less(before Merged) {
	for id, t := range before {
		left := m.total(t.Key, len(t.Value))
		for n, v := range t.Value {
			left.Value[n] -= v
		}
		if left.Zero() {
			delete(m, id)
		}
	}
}

// Zero reports whether all words are 0.
func (t *Total) Zero() bool {
	return !slices.ContainsFunc(t.Value, func(v uint64) bool { return v != 0 })
}

func (m Merged) total(key []uint64, words int) *Total {
	id := keyBytes(key)
	t := m[id]
	if t == nil {
		t = &Total{Key: key, Value: make([]uint64, words)}
		m[id] = t
	}
	return t
}

func keyBytes(key []uint64) string {
	b := make([]byte, 0, 8*len(key))
	for _, w := range key {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

func (t *Total) add(value []uint64, sums int) {
	for n, v := range value {
		if n < sums {
			t.Value[n] += v
		} else {
			t.Value[n] = max(t.Value[n], v)
		}
	}
}
