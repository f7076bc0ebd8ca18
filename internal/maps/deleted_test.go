package maps

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/jalon-trace/jalon/test/testkit"
)

// numberWriter sets or deletes a key of a map of numbers by the protocol for Shape.Reuse, step by step: each step is one access to the table.
type numberWriter struct {
	m      *model
	key    uint64
	number uint64 // 0: it deletes the key
	step   int
	i      uint64
	n      int
	seen   uint64 // the tag that was loaded
	looks  int
	done   bool
	noRoom bool
}

const (
	numLook = iota
	numCompare
	numAgain // 10
	numClaim
	numGone
	numAlone // 14
	numKey0
	numKey1
	numPublish
	numSet
	numLoad
	numStore
)

func (w *numberWriter) tag() *uint64 { return w.m.word(w.m.at(w.i) + Tag) }

func (w *numberWriter) hash() uint64 { return Hash(w.key, 7) &^ StateMask }

func (w *numberWriter) first() uint64 { return w.m.shape.Index(w.hash()) }

func (w *numberWriter) start() { w.i, w.n, w.step = w.first(), 0, numLook }

func (w *numberWriter) full() { w.done, w.noRoom = true, w.number != 0 }

func (w *numberWriter) next() {
	if w.i, w.n, w.step = w.i+1, w.n+1, numLook; w.n < Window {
		return
	}
	if w.step = numGone; w.number == 0 {
		w.full()
	}
}

// run makes one step.
func (w *numberWriter) run() {
	switch w.step {
	case numLook:
		w.look()
	case numCompare:
		if w.step = numSet; *w.m.word(w.m.at(w.i) + Key) != w.key {
			w.next()
		} else if w.number == 0 {
			w.step = numLoad
		}
	case numAgain:
		if *w.tag() == w.hash()|Retired {
			*w.tag() = w.hash() | Hidden
		}
		w.start()
	case numClaim:
		if *w.tag() != 0 { // look at it again
			w.step = numLook
			return
		}
		*w.tag() = w.hash() | Claimed
		w.step = numKey0
	case numGone:
		if w.n == 0 {
			w.full()
			return
		}
		if w.i, w.n = w.i-1, w.n-1; *w.tag() == Gone {
			*w.tag() = w.hash() | Claimed
			w.step, w.n = numAlone, 0
		}
	case numAlone:
		if at := w.first() + uint64(w.n); at != w.i && *w.m.word(w.m.at(at) + Tag)|Shown == w.hash()|Shown {
			*w.tag() = Gone
			w.full()
			return
		}
		if w.n++; w.n == Window {
			w.step = numKey0
		}
	case numKey0, numKey1:
		*w.m.word(w.m.at(w.i) + Key + 8*uint64(w.step-numKey0)) = [2]uint64{w.key, 7}[w.step-numKey0]
		w.step++
	case numPublish:
		*w.tag() = w.hash() | Hidden
		w.step = numSet
	case numSet:
		*w.m.word(w.m.at(w.i) + uint64(w.m.shape.Value())) = w.number
		w.step = numLoad
	case numLoad:
		w.seen, w.step = *w.tag(), numStore
		w.done = w.number != 0 && w.seen&StateMask == Shown
	case numStore:
		if *w.tag() = w.seen | Shown; w.number == 0 {
			*w.tag() = w.seen&^(Shown^Hidden) | Hidden
		}
		w.done = true
	}
}

// look looks at a slot.
func (w *numberWriter) look() {
	switch v := *w.tag(); {
	case v == 0 && w.number != 0:
		w.step = numClaim
	case v == 0:
		w.full()
	case w.number == 0 && v != w.hash()|Shown, v|Shown != w.hash()|Shown:
		w.next()
	case v&StateMask == Claimed:
		if w.looks++; w.looks > 200 {
			w.full()
		}
	case v&StateMask == Retired:
		w.step = numAgain
	default:
		w.step = numCompare
	}
}

// reuse runs writers in random order beside jalon, which gives slots of deleted keys back. broken: it does not wait for the grace. It returns what is wrong, "" if
// nothing is.
func reuse(r *rand.Rand, broken bool, freed, full, again *int) string {
	m := &model{shape: Shape{Slots: 1 << r.Intn(3), Words: 1, Reuse: true}}
	words := make([]uint64, m.shape.Bytes()/8)
	m.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), m.shape.Bytes())
	reader := NewReader(m.shape, m.mem)
	keys := 1 + r.Intn(24)
	var running, grace []*numberWriter
	waiting := -1 // slots that are retired
	for left, all := 20+r.Intn(200), 0; left > 0 || len(running) > 0; all++ {
		if all > 200000 {
			return "writers do not finish"
		}
		switch k := r.Intn(30); {
		case k < 6 && left > 0 && len(running) < 8:
			w := &numberWriter{m: m, key: uint64(1+r.Intn(keys)) << 4}
			if r.Intn(2) == 0 {
				w.number = w.key | uint64(1+r.Intn(15))
			}
			w.start()
			running, left = append(running, w), left-1
		case k == 6 && waiting < 0:
			waiting, grace = reader.RetireDeleted(), append([]*numberWriter(nil), running...)
		case k == 7 && waiting >= 0:
			over := true
			for _, w := range grace {
				over = over && w.done
			}
			if over || broken {
				n := reader.FreeDeleted()
				*freed += n
				*again += waiting - n
				waiting = -1
			}
		case len(running) > 0:
			i := len(running) - 1 // hits interrupt each other
			if r.Intn(4) == 0 {
				i = r.Intn(len(running)) // on several CPUs
			}
			if running[i].run(); running[i].done {
				if running[i].noRoom {
					*full++
				}
				running = append(running[:i], running[i+1:]...)
			}
		}
		for e := range reader.Entries() {
			if e.Shown && e.Value[0] != 0 && e.Value[0]&^15 != e.Key[0] {
				return "a key has the number of another one"
			}
		}
	}
	slots := map[uint64]int{}
	for e := range reader.Entries() {
		if slots[e.Key[0]]++; slots[e.Key[0]] == 2 {
			return "a key has two slots"
		}
	}
	return ""
}

// TestReuse: whatever interrupts a hit for however long, a key has one slot and no number of another key. Without the grace that is not so, and the test sees it.
func TestReuse(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	var freed, full, again, caught int
	for range 6000 {
		if wrong := reuse(r, false, &freed, &full, &again); wrong != "" {
			t.Fatal(wrong)
		}
	}
	for range 2000 {
		var n int
		if reuse(r, true, &n, &n, &n) != "" {
			caught++
		}
	}
	if freed < 1000 || full < 100 || again < 100 || caught < 20 {
		t.Errorf("%d slots freed, %d taken again by their keys, %d without room; without the grace %d of 2000 are wrong: the test is too weak", freed, again, full, caught)
	}
	t.Logf("%d slots freed, %d taken again by their keys, %d without room; without the grace %d of 2000 are wrong", freed, again, full, caught)
}
