package maps

import (
	"testing"
	"unsafe"
)

// TestPut: a number that jalon puts into a map without keys is the map's, whatever was there.
func TestPut(t *testing.T) {
	s := Shape{Slots: 1, Words: 1, Single: true}
	mem := make([]uint64, s.Bytes()/8)
	r := NewReader(s, unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), s.Bytes()))
	if r.Shown() != 0 {
		t.Error("an empty map shows a key")
	}
	for _, n := range []uint64{7, 1 << 63} {
		r.Put(n)
		for e := range r.Entries() {
			if !e.Shown || e.Value[0] != n {
				t.Errorf("%+v, want %d", e, n)
			}
		}
		if r.Shown() != 1 {
			t.Errorf("%d keys are shown", r.Shown())
		}
	}
	r.Clear(true)
	if r.Shown() != 0 {
		t.Error("it is shown after Clear")
	}
}
