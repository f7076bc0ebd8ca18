package session

import (
	"time"

	"github.com/jalon-trace/jalon/internal/maps"
)

// rooms gives back the room that keys with two slots have taken twice, in tables that take no more keys.
type rooms struct {
	next time.Time
	of   map[tableID]*room
}

// tableID is a table of an engine.
type tableID struct {
	name   string
	kernel bool
}

type room struct {
	refused uint64 // updates, when it was looked at last
	given   int
}

// roomEvery is the time between two looks: a look at a large table takes milliseconds.
const roomEvery = 100 * time.Millisecond

// tend is called every few milliseconds.
func (r *rooms) tend(s *Session) {
	if time.Now().Before(r.next) {
		return
	}
	r.next = time.Now().Add(roomEvery)
	_ = s.Maps(func(name string, t *maps.Reader, kernel bool) { // an error: the process has ended, and there are no more hits
		if !t.NoneLeft() {
			return
		}
		id := tableID{name, kernel}
		of := r.of[id]
		if of == nil {
			if r.of == nil {
				r.of = map[tableID]*room{}
			}
			of = &room{}
			r.of[id] = of
		}
		if n := t.NoRoom(); n != of.refused {
			of.refused, of.given = n, t.GiveRoom(of.given)
		}
	})
}
