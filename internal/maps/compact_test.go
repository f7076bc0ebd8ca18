package maps

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestCompact: shown keys that are needed keep their values, all other slots are free and zero, and writers find and insert keys
// as before.
func TestCompact(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	for range 300 {
		m := &model{shape: Shape{Slots: 64, Words: 2}}
		words := make([]uint64, m.shape.Bytes()/8)
		m.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), m.shape.Bytes())
		values := map[[2]uint64]uint64{}
		add := func(k uint64) {
			w := &writer{m: m, key: [2]uint64{k << 4, 7}}
			for w.start(); !w.done && (w.step == 0 || r.Intn(200) > 0); { // some die
				w.run()
			}
			if w.step == 7 && w.done {
				values[w.key]++
			} else if w.step == 7 {
				delete(values, w.key) // added, perhaps not shown
			}
		}
		for range r.Intn(100) {
			add(uint64(r.Intn(60)))
		}
		reader := NewReader(m.shape, m.mem)
		before := map[[2]uint64]uint64{}
		for e := range reader.Entries() {
			if e.Shown && before[[2]uint64(e.Key)] == 0 {
				before[[2]uint64(e.Key)] = e.Value[0]
			}
			if r.Intn(3) == 0 {
				reader.hide([2]uint64(e.Key))
				delete(before, [2]uint64(e.Key))
			}
		}
		needed := func(k []uint64) bool { return k[0]&0x10 == 0 }
		used := reader.Compact(needed)
		n := 0
		for e := range reader.Entries() {
			if n++; !e.Shown || !needed(e.Key) || e.Value[0] != before[[2]uint64(e.Key)] {
				t.Fatalf("%+v, before %d", e, before[[2]uint64(e.Key)])
			}
		}
		want := 0
		for k := range before {
			if needed(k[:]) {
				want++
			}
		}
		if n != used || n != want || reader.Used(0, uint64(m.shape.Slots)) > uint64(n) {
			t.Fatalf("%d keys, Compact says %d, want %d", n, used, want)
		}
		for i := range reader.slots() {
			if at := reader.slot(i); *reader.word(at) == 0 {
				for _, b := range m.mem[at : at+m.shape.Stride()] {
					if b != 0 {
						t.Fatal("a free slot is not zero")
					}
				}
			}
		}
		old := map[[2]uint64]uint64{}
		for e := range reader.Entries() {
			old[[2]uint64(e.Key)] = e.Value[0]
		}
		w := &writer{m: m, key: [2]uint64{uint64(r.Intn(60)) << 4, 7}}
		for w.start(); !w.done; {
			w.run()
		}
		for e := range reader.Entries() {
			if [2]uint64(e.Key) == w.key && !w.noRoom && e.Value[0] != old[w.key]+1 {
				t.Fatalf("%#x has %d after %d", e.Key, e.Value[0], old[w.key])
			}
		}
	}
}

// hide deletes a key as hit programs do.
func (r *Reader) hide(key [2]uint64) {
	for i := range r.slots() {
		at := r.slot(i)
		if *r.word(at + Key) == key[0] && *r.word(at + Key + 8) == key[1] && *r.word(at)&StateMask == Shown {
			*r.word(at) &^= 1
		}
	}
}
