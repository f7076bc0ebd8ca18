package maps

import "encoding/binary"

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
// the others. Without cells, the first value of a key that is shown counts: a later slot of the key is not used any more.
func (m Merged) Add(r *Reader, sums int) {
	for e := range r.Entries() {
		t := m.total(e.Key, r.shape.Words)
		switch {
		case r.shape.Sets > 0:
			t.add(r.Sum(&e, sums), sums)
		case e.Shown && !t.Shown:
			copy(t.Value, e.Value)
		}
		t.Shown = t.Shown || e.Shown
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
