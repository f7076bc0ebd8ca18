package maps

import (
	"testing"
	"unsafe"
)

func emptyTable(s Shape) *Reader {
	mem := make([]uint64, s.Bytes()/8)
	return NewReader(s, unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), s.Bytes()))
}

// numbers are the shown keys of a table with one number each.
func numbers(r *Reader) map[uint64]uint64 {
	out := map[uint64]uint64{}
	for e := range r.Entries() {
		if e.Shown {
			out[e.Key[0]] += e.Value[0]
		}
	}
	return out
}

// TestList: a key has the number that it was listed with last, slots of removed keys are used again, and keys without room are refused.
func TestList(t *testing.T) {
	r := emptyTable(Shape{Slots: 1, Words: 1})
	for n := range uint64(Window) {
		if !r.List([]uint64{n, 0}, 100+n) || !r.List([]uint64{n, 0}, 200+n) {
			t.Fatalf("key %d has no room", n)
		}
	}
	if r.List([]uint64{99, 0}, 1) {
		t.Error("a key more than there are slots")
	}
	r.Unlist([]uint64{98, 0}) // is not there
	r.Unlist([]uint64{5, 0})
	if !r.List([]uint64{99, 0}, 7) || r.List([]uint64{5, 0}, 1) {
		t.Error("the slot of a removed key")
	}
	got := numbers(r)
	if len(got) != Window || got[3] != 203 || got[99] != 7 || got[5] != 0 {
		t.Errorf("%v", got)
	}
}

// TestGiveRoom: a key with two slots counts once.
func TestGiveRoom(t *testing.T) {
	s := Shape{Slots: 8, Words: 1, Sets: 2, Limit: 3}
	r := emptyTable(s)
	s.Fill(r.mem, false, func(add func(key []uint64, shown bool, value []uint64)) {
		for _, key := range []uint64{5, 6, 6} {
			add([]uint64{key, 0}, false, []uint64{1})
		}
	})
	given := 0
	for range 2 {
		if full := given == 0; r.NoneLeft() != full {
			t.Errorf("takes no more keys: %t", !full)
		}
		if given = r.GiveRoom(given); given != 1 {
			t.Errorf("%d slots more than keys", given)
		}
	}
}
