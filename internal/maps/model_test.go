package maps

import (
	"encoding/binary"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/jalon-trace/jalon/test/testkit"
)

// model runs the protocol of writers step by step: each step is one access to the table.
type model struct {
	shape Shape
	mem   []byte
}

func (m *model) word(off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&m.mem[off])) }

func (m *model) at(i uint64) uint64 { return HeaderSize + i*m.shape.Stride() }

// writer inserts a key, adds to the first word of its value, and shows it.
type writer struct {
	m      *model
	key    [2]uint64
	step   int
	i      uint64 // the slot
	n      int    // slots of the window looked at
	steps  int
	done   bool
	noRoom bool
}

// run makes one step.
func (w *writer) run() {
	tag := w.m.word(w.m.at(w.i) + Tag)
	hash := Hash(w.key[0], w.key[1])
	w.steps++
	switch w.step {
	case 0: // 1 to 3
		switch v := *tag; {
		case v == 0:
			w.step = 2
		case v|1 == hash|Shown:
			w.step = 1
		default:
			w.next()
		}
	case 1: // 4
		if *w.m.word(w.m.at(w.i) + Key) == w.key[0] && *w.m.word(w.m.at(w.i) + Key + 8) == w.key[1] {
			w.step = 6
			return
		}
		w.next()
	case 2: // 6
		if *tag != 0 {
			w.start()
			return
		}
		*tag = hash&^StateMask | Claimed
		w.step = 3
	case 3, 4: // 7
		*w.m.word(w.m.at(w.i) + Key + 8*uint64(w.step-3)) = w.key[w.step-3]
		w.step++
	case 5: // 8
		*tag = hash&^StateMask | Hidden
		w.step = 6
	case 6:
		*w.m.word(w.m.at(w.i) + uint64(w.m.shape.Value())) += 1
		w.step = 7
	case 7:
		*tag |= 1
		w.done = true
	}
}

func (w *writer) start() {
	w.i, w.n, w.step = w.m.shape.Index(Hash(w.key[0], w.key[1])), 0, 0
}

func (w *writer) next() {
	w.i, w.n, w.step = w.i+1, w.n+1, 0
	if w.n == Window {
		w.done, w.noRoom = true, true
	}
}

// TestModel interleaves writers at random, and ends some of them between any two steps. All others finish; what they
// added is there once, under their key, and no slot has the value of another key.
func TestModel(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	doubled, died, full := 0, 0, 0
	for range 20000 {
		m := &model{shape: Shape{Slots: 1 << r.Intn(4), Words: 1}}
		words := make([]uint64, m.shape.Bytes()/8)
		m.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), m.shape.Bytes())
		keys := 1 + r.Intn(5)
		var running []*writer
		for range 1 + r.Intn(12) {
			w := &writer{m: m, key: [2]uint64{uint64(r.Intn(keys)) << 4, 7}}
			w.start()
			running = append(running, w)
		}
		added, unsure := map[[2]uint64]uint64{}, map[[2]uint64]uint64{}
		for all := len(running); len(running) > 0; {
			k := r.Intn(len(running))
			w := running[k]
			if r.Intn(60) == 0 { // it dies
				if w.step == 7 {
					unsure[w.key]++ // added, not shown
				}
				died++
			} else if w.run(); !w.done {
				if w.steps > 3*(Window+1)*all {
					t.Fatal("a writer does not finish")
				}
				continue
			} else if w.noRoom {
				full++
			} else {
				added[w.key]++
			}
			running = append(running[:k], running[k+1:]...)
		}
		got := map[[2]uint64]uint64{}
		slots := map[[2]uint64]int{}
		for e := range NewReader(m.shape, m.mem).Entries() {
			if got[[2]uint64(e.Key)] += e.Value[0]; e.Key[1] != 7 {
				t.Fatalf("a slot of key %#x, which no writer has", e.Key)
			}
			if slots[[2]uint64(e.Key)]++; slots[[2]uint64(e.Key)] == 2 {
				doubled++
			}
		}
		for k, n := range added {
			if got[k] != n+unsure[k] {
				t.Fatalf("key %#x has %d, want %d", k, got[k], n+unsure[k])
			}
		}
	}
	if doubled == 0 || died < 1000 {
		t.Errorf("%d keys with two slots, %d writers died: the test is too weak", doubled, died)
	}
	t.Logf("%d keys have two slots, %d writers died, %d found no room", doubled, died, full)
}

// TestShape: the slots of all windows lie in the table, and slots have room for key and value.
func TestShape(t *testing.T) {
	for _, s := range []Shape{{Slots: 1}, {Slots: 1, Words: 1}, {Slots: 8, Words: 5}, {Slots: 1 << 16, Words: 29}, {Slots: 8, Words: 66, More: 5, Sets: 3}, {Slots: 1, Words: 1, Single: true, Sets: 4}} {
		if s.Stride() < uint64(s.Value()+8*s.Words) || s.Stride()&(s.Stride()-1) != 0 {
			t.Errorf("%+v: slots are %d bytes apart", s, s.Stride())
		}
		if last := s.Index(^uint64(0)) + Window - 1; !s.Single && (HeaderSize+(last+1)*s.Stride() > s.CellsAt() || (last+1)*s.Stride() > s.SetStride()) || s.CellsAt()+uint64(s.Sets)*s.SetStride() != s.Bytes() {
			t.Errorf("%+v: the last slot is %d, the table has %d bytes", s, last, s.Bytes())
		}
	}
}

// TestHostile: whatever the memory has, reading it ends and stays inside.
func TestHostile(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	s := Shape{Slots: 64, Words: 3}
	words := make([]uint64, s.Bytes()/8)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), s.Bytes())
	for range 200 {
		for at := 0; at < len(mem); at += 8 {
			binary.LittleEndian.PutUint64(mem[at:], r.Uint64())
		}
		reader := NewReader(s, mem)
		n, shown := 0, uint64(0)
		for e := range reader.Entries() {
			if n++; e.Shown {
				shown++
			}
		}
		if n > s.Slots+Window-1 || reader.Shown() != shown {
			t.Fatalf("%d entries, %d and %d shown", n, shown, reader.Shown())
		}
		if reader.HideAll(); reader.Shown() != 0 {
			t.Fatal("keys are still shown")
		}
	}
}
