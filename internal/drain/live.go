package drain

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// A Recorder can be a Shower: then its events are also shown while they are recorded, in the order of time. They are copied for that;
// recording does not wait for it. What comes faster than it can be shown is left out there, and counted.

// Shower is a Recorder whose events are shown too.
type Shower interface {
	// Show is where the events are shown.
	Show() Sink
	// Unshown counts events that are recorded and not shown.
	Unshown(n uint64)
	// Ended: the sink takes no more events; why is its error. Recording goes on.
	Ended(why error)
}

// live shows the events of a recording.
type live struct {
	to      Shower
	sink    Sink
	waiter  Waiter // the sink, if it is one
	merger  *event.Merger
	ev      event.Event
	asked   uint8
	missing uint64 // events that are not shown
	ended   bool   // the sink takes no more
}

const (
	// mostLive bounds the memory of events that wait to be shown.
	mostLive = 16 << 20
	// liveTurn is how long events are shown before the rings are read again.
	liveTurn = 5 * time.Millisecond
)

func newLive(to Shower, like *event.Merger) *live {
	l := &live{to: to, sink: to.Show(), merger: event.NewMerger(0)}
	l.merger.Slack, l.merger.Hold = like.Slack, like.Hold
	l.waiter, _ = l.sink.(Waiter)
	return l
}

// mergers are those that need to know the rings.
func (d *Drain) mergers() []*event.Merger {
	if d.live == nil {
		return []*event.Merger{d.merger}
	}
	return []*event.Merger{d.merger, d.live.merger}
}

// take copies the records that have just been read from a ring, unless too many wait.
func (l *live) take(ringNumber int, data []byte, possible event.Span) {
	if !l.ended && l.merger.Waiting() < mostLive {
		l.merger.Possible = possible
		l.merger.Add(ringNumber, data)
		return
	}
	for len(data) >= ring.RecHeader {
		n := int(binary.LittleEndian.Uint32(data[ring.RecSize:]))
		if n < ring.RecHeader || n > len(data) {
			break
		}
		l.missing++
		data = data[n:]
	}
}

// showLive shows events whose order is known, for some time. more: others can be shown at once.
func (d *Drain) showLive() (more bool) {
	l := d.live
	if l == nil || l.ended {
		return false
	}
	if l.waiter != nil && l.waiter.Full() {
		return l.flush(nil)
	}
	end := time.Now().Add(liveTurn)
	err := l.merger.Emit(func(r event.Record) error {
		if err := d.showOne(r); err != nil {
			return err
		}
		if l.asked++; l.asked%16 == 0 && (time.Now().After(end) || l.waiter != nil && l.waiter.Full()) {
			return errTurn
		}
		return nil
	})
	if errors.Is(err, errTurn) {
		l.flush(nil)
		return l.waiter == nil || !l.waiter.Full()
	}
	return l.flush(err)
}

// flush passes on how many events are not shown, and what the sink has, or the error that ends it. It returns false.
func (l *live) flush(err error) bool {
	if l.missing > 0 {
		l.to.Unshown(l.missing)
		l.missing = 0
	}
	if err == nil {
		err = l.sink.Flush()
	}
	if err != nil && !l.ended {
		l.ended = true
		l.to.Ended(err)
	}
	return false
}

// showOne shows an event.
func (d *Drain) showOne(r event.Record) error {
	src := d.sourceOf(r.CPU)
	r.CPU = src.mem.CPU(r.CPU - src.first)
	if src.decoder.Decode(r, &d.live.ev) != nil {
		return nil // the recorder has counted it as damage
	}
	return d.live.sink.Event(&d.live.ev)
}

// livePatience is how long the end of a recording waits for the reader of what is shown.
const livePatience = 2 * time.Second

// finishLive shows all that waits, for livePatience, and counts the rest.
func (d *Drain) finishLive() {
	l := d.live
	if l == nil {
		return
	}
	end := time.Now().Add(livePatience)
	late := func() bool { return time.Now().After(end) }
	ended := l.ended
	err := l.merger.Flush(func(r event.Record) error {
		if l.asked++; !ended && l.asked%16 == 0 {
			ended = late() || l.waiter != nil && !l.waiter.Wait(late)
		}
		if ended {
			l.missing++
			return nil
		}
		return d.showOne(r)
	})
	if e, ok := l.sink.(Ender); ok && err == nil {
		err = e.End()
	}
	l.flush(err)
	if l.waiter != nil {
		n, err := l.waiter.Finish(late)
		l.missing += n
		l.flush(err)
	}
}
