package drain

import (
	"errors"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// pollLimit bounds the time in PollAll if the rings fill as fast as they are read.
const pollLimit = 50 * time.Millisecond

// PollAll repeats Poll until nothing more can be shown, for a short time: other events of the program and
// the user's request to end must be handled. enough: all requested events have been shown.
func (d *Drain) PollAll() (enough bool, err error) {
	for start := time.Now(); time.Since(start) < pollLimit; {
		more, err := d.Poll()
		if errors.Is(err, ErrEnough) {
			return true, nil
		}
		if err != nil || !more {
			return false, err
		}
	}
	return false, nil
}

// mostWaiting bounds the memory of records that wait, whatever the number of rings: beyond it the rest of the
// rings is read the next time, from there on.
const mostWaiting = event.MaxWaiting * 3 / 2

// readAll reads every ring once, unless too many records wait.
func (d *Drain) readAll() (more bool, err error) {
	rings := 0
	for _, src := range d.sources {
		rings += src.reader.Rings()
	}
	for i := range rings {
		n := (d.first + i) % rings
		if d.sourceOf(n).mem.Overwrites() {
			continue
		}
		if d.merger.Waiting() >= mostWaiting {
			d.first = n
			return true, nil
		}
		src := d.sourceOf(n)
		now := d.known(src)
		state, size, err := d.read(src, n-src.first)
		if err != nil {
			return more, err
		}
		if d.merger.Looked(n, state, now); d.live != nil {
			d.live.merger.Looked(n, state, now)
		}
		more = more || size > src.mem.RingSize()/8
	}
	return more, nil
}

// read passes the records of a ring to the merger or the recorder. size is that of the records.
func (d *Drain) read(src *Source, cpu int) (state ring.State, size int, err error) {
	defer src.mem.Guard(&err)()
	start, part := event.TSC(), uint64(src.mem.RingSize())
	if d.recorder != nil {
		part = recordedPart
	}
	for more := true; more && size < src.mem.RingSize(); {
		if d.buf, state, more = src.reader.DrainPart(cpu, d.buf[:0], part); !more {
			state = d.skipLeft(src, cpu, state)
		}
		size += len(d.buf)
		src.noteBlocked(cpu, state, len(d.buf))
		if err = d.take(src, cpu); err != nil {
			return state, size, err
		}
		more = more && d.recorder != nil && !d.recorder.Full()
	}
	if src.wait > 0 && (size > 0 || state == ring.Empty) {
		src.mem.WaitUntil(cpu, event.TSC()+src.wait)
	}
	if src.visits != nil && state == ring.Empty {
		src.visits.empty[cpu] = start
	}
	return state, size, nil
}

// recordedPart is how much of a ring is read before it is recorded: so little stays in the processor's cache.
const recordedPart = 128 << 10

// readLast reads a ring after its last writer has ended.
func (d *Drain) readLast(src *Source, cpu int) (err error) {
	defer src.mem.Guard(&err)()
	if src.Kernel {
		d.buf = src.settle(cpu, d.buf[:0])
	} else {
		d.buf = src.reader.Recover(cpu, d.buf[:0])
	}
	return d.take(src, cpu)
}

// take passes the records of d.buf, which have just been read from a ring, to the merger. Valid stamps lie
// between the arming and now; the program may have overwritten records.
func (d *Drain) take(src *Source, cpu int) error {
	if len(d.buf) == 0 {
		return nil
	}
	if src.visits != nil {
		src.visits.stamp(cpu, d.buf)
	}
	d.merger.Possible = event.Span{}
	if !src.Kernel {
		now, slack := event.TSC(), d.clock.Ticks(event.StampSlack)
		src.decoder.Possible.To = now + slack
		d.merger.Possible = src.decoder.Possible
		if d.merger.Key != nil {
			d.merger.Possible = event.Span{From: uint64(d.clock.Mono(src.decoder.Possible.From)), To: uint64(d.clock.Mono(now + slack))}
		}
	}
	if d.live != nil {
		d.live.take(src.first+cpu, d.buf, d.merger.Possible)
	}
	if d.recorder != nil {
		return d.record(src, cpu)
	}
	d.merger.Add(src.first+cpu, d.buf)
	return nil
}
