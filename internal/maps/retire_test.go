package maps

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/jalon-trace/jalon/test/testkit"
)

// cellWriter counts in a cell by the protocol, step by step: each step is one access to the table.
type cellWriter struct {
	m       *model
	key     [2]uint64
	set     int
	step    int
	i       uint64
	n       int
	old     uint64 // of a cmpxchg
	began   int    // retirements before it
	done    bool
	noRoom  bool
	changed bool // its room is taken
}

const (
	cellLook = iota
	cellCompare
	cellRoom
	cellClaim
	cellKey0
	cellKey1
	cellPublish
	cellAdd
	cellUndo     // no room: go on with the next slot
	cellFailed   // another one was faster: from the start
	cellGoneRoom // behind the window
	cellGone
	cellGoneOver
)

func (w *cellWriter) tag() *uint64 { return w.m.word(w.m.at(w.i) + Tag) }

func (w *cellWriter) start() {
	w.i, w.n, w.step = w.m.shape.Index(Hash(w.key[0], w.key[1])), 0, cellLook
}

func (w *cellWriter) next() {
	if w.i, w.n, w.step = w.i+1, w.n+1, cellLook; w.n == Window {
		w.step = cellGoneRoom
	}
}

func (w *cellWriter) full() { w.done, w.noRoom = true, true }

// run makes one step.
func (w *cellWriter) run() {
	hash := Hash(w.key[0], w.key[1]) &^ StateMask
	room := w.m.word(Room)
	switch w.step {
	case cellLook:
		switch v := *w.tag(); {
		case v == 0:
			w.step = cellRoom
		case v|1 == hash|Shown:
			w.step = cellCompare
		default:
			w.next()
		}
	case cellCompare:
		if w.step = cellAdd; *w.m.word(w.m.at(w.i) + Key) != w.key[0] {
			w.next()
		}
	case cellRoom:
		if w.step = cellClaim; int64(*room) <= 0 {
			w.next()
			return
		}
		if *room--; int64(*room) < 0 {
			w.step = cellUndo
		}
	case cellUndo:
		*room++
		w.next()
	case cellClaim:
		if w.step = cellKey0; *w.tag() != w.old {
			w.step = cellFailed
			return
		}
		*w.tag() = hash | Claimed
	case cellFailed:
		*room++
		w.old = 0
		w.start()
	case cellKey0, cellKey1:
		*w.m.word(w.m.at(w.i) + Key + 8*uint64(w.step-cellKey0)) = w.key[w.step-cellKey0]
		w.step++
	case cellPublish:
		*w.tag() = hash | Hidden
		w.step = cellAdd
	case cellAdd:
		*w.m.word(w.m.shape.CellsAt() + uint64(w.set)*w.m.shape.SetStride() + w.i*w.m.shape.Stride())++
		w.done = true
	case cellGoneRoom:
		if int64(*room) <= 0 {
			w.full()
			return
		}
		if *room--; int64(*room) < 0 {
			w.step = cellGoneOver
			return
		}
		w.step = cellGone
	case cellGone:
		if w.n == 0 {
			w.step = cellGoneOver
			return
		}
		if w.i, w.n = w.i-1, w.n-1; *w.tag() == Gone {
			w.step, w.old = cellClaim, Gone
		}
	case cellGoneOver:
		*room++
		w.full()
	}
}

// TestRetire interleaves writers with jalon, which clears the map and gives slots back, at random; some writers end between any two steps. What was added is
// there once, under its key, beside what had no room.
func TestRetire(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	var freed, died, full, reused int
	for range 5000 {
		m := &model{shape: Shape{Slots: 1 << r.Intn(4), Words: 1, Sets: 2, Limit: 1 + r.Intn(12)}}
		words := make([]uint64, m.shape.Bytes()/8)
		m.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), m.shape.Bytes())
		reader := NewReader(m.shape, m.mem)
		reader.Begin()
		more, shown, added := Merged{}, Merged{}, Merged{}
		total := func() Merged {
			all := Merged{}
			all.Add(reader, 1)
			all.AddAll(more, 1)
			return all
		}
		keys := 1 + r.Intn(30)
		var running []*cellWriter
		var waiting []Returned
		var graces [][]*cellWriter
		for left, all := 10+r.Intn(60), 0; left > 0 || len(running) > 0; all++ {
			if all > 100000 {
				t.Fatal("writers do not finish")
			}
			switch k := r.Intn(40); {
			case k < 8 && left > 0:
				w := &cellWriter{m: m, key: [2]uint64{uint64(1+r.Intn(keys)) << 4, 7}, set: r.Intn(2)}
				w.start()
				running, left = append(running, w), left-1
			case k == 8: // print and clear
				now := total()
				shown.AddAll(now, 1)
				more.Less(now)
			case k == 9 && len(waiting) < 3:
				now := total()
				list := reader.Retire(func(key []uint64) bool { return now.Of(key).Zero() })
				waiting, graces = append(waiting, list), append(graces, append([]*cellWriter(nil), running...))
			case k == 10 && len(waiting) > 0:
				over := true
				for _, w := range graces[0] {
					over = over && w.done
				}
				if !over {
					break
				}
				freed += waiting[0].Len()
				reader.Free(waiting[0], 1, func(key, value []uint64) { more.Gain(key, value, 1) })
				waiting, graces = waiting[1:], graces[1:]
			case len(running) > 0:
				i := r.Intn(len(running))
				w := running[i]
				if r.Intn(400) == 0 { // it dies
					w.done = true
					died++
				} else if w.run(); !w.done {
					break
				} else if w.noRoom {
					full++
				} else {
					added.Put(w.key[:], []uint64{1}, false, 1, true)
					if w.old == Gone {
						reused++
					}
				}
				running = append(running[:i], running[i+1:]...)
			}
			n := 0
			for range reader.Entries() {
				n++
			}
			for _, list := range waiting {
				n -= list.Len()
			}
			if n > m.shape.Limit {
				t.Fatalf("%d keys, the limit is %d", n, m.shape.Limit)
			}
		}
		shown.AddAll(total(), 1)
		for _, want := range added {
			if got := shown.Of(want.Key); got == nil || got.Value[0] != want.Value[0] {
				t.Fatalf("key %#x has %+v, want %d", want.Key, got, want.Value[0])
			}
			shown.Remove(want.Key)
		}
		for _, rest := range shown {
			if !rest.Zero() {
				t.Fatalf("key %#x has %d, and was never counted", rest.Key, rest.Value[0])
			}
		}
		for id, t2 := range more {
			if t2.Zero() {
				t.Fatalf("jalon keeps nothing for %q", id)
			}
		}
	}
	if freed < 500 || died < 500 || full < 500 || reused < 50 {
		t.Errorf("%d slots freed, %d writers died, %d without room, %d gone slots taken: the test is too weak", freed, died, full, reused)
	}
	t.Logf("%d slots freed, %d writers died, %d without room, %d gone slots taken", freed, died, full, reused)
}
