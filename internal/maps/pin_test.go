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

// TestUnpin: the hidden keys of a thread lose their bit, and no others.
func TestUnpin(t *testing.T) {
	r := emptyTable(Shape{Slots: 8, Words: 1, Reuse: true, Pin: 1})
	for n := range uint64(6) {
		r.List([]uint64{n/3 | Pinned, n}, 1)
		if n%3 > 0 {
			r.Unlist([]uint64{n/3 | Pinned, n})
		}
	}
	r.Unpin(map[uint64]bool{1: true, 2: true})
	pinned := map[[2]uint64]bool{}
	for e := range r.Entries() {
		pinned[[2]uint64{e.Key[0] &^ Pinned, e.Key[1]}] = e.Key[0]&Pinned != 0
	}
	for n := range uint64(6) {
		if want := n < 4; pinned[[2]uint64{n / 3, n}] != want {
			t.Errorf("key %d, %d: pinned %t", n/3, n, !want)
		}
	}
}
