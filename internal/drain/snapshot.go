package drain

import (
	"errors"
	"runtime"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Rings that are overwritten are not read while they are written, but by Snapshot, and at the end.

// Snapshot shows the events that are in the rings that are overwritten and that no snapshot has shown. The writers go on.
func (d *Drain) Snapshot() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sample(); err != nil {
		return err
	}
	if _, err := d.readAll(); err != nil { // the other rings have older records
		return err
	}
	if err := d.snapshot(false, d.showAll); err != nil && !errors.Is(err, ErrEnough) {
		return err
	}
	if s, ok := d.sink.(Snapshotter); ok {
		if err := s.Snapshot(); err != nil {
			return err
		}
	}
	return d.sink.Flush()
}

// Snapshotter is a Sink with a method that is called behind the events of a snapshot.
type Snapshotter interface{ Snapshot() error }

// overwritten is a ring of which a part is read.
type overwritten struct {
	src  *Source
	cpu  int
	snap *ring.Snapshot
	read bool   // all of it
	upTo uint64 // the youngest key so far
}

// snapshot copies what the rings have, and then shows it in the order of time: the ring is read on that is known to the earliest
// time. So little waits in memory, beside the copy. Records of other rings that have been read are shown too.
func (d *Drain) snapshot(final bool, show func(event.Record) error) error {
	rings, err := d.copyRings(final)
	if err != nil {
		return err
	}
	if err := d.clock.Refresh(); err != nil {
		return err
	}
	var reported whole
	if err := d.Whole.report(rings, &reported); err != nil {
		return err
	}
	for {
		next := oldest(rings)
		if next == nil {
			if err := d.merger.EmitTo(^uint64(0), show); err != nil {
				return err
			}
			return d.Whole.report(rings, &reported)
		}
		if next.upTo > d.merger.Slack {
			if err := d.merger.EmitTo(next.upTo-d.merger.Slack, show); err != nil {
				return err
			}
		}
		var ok bool
		if d.buf, ok = next.snap.Next(d.buf[:0]); !ok {
			next.read = true
			continue
		}
		if err := d.take(next.src, next.cpu); err != nil {
			return err
		}
		next.upTo = d.merger.Youngest(next.src.first + next.cpu)
	}
}

// oldest is the ring to read next, nil if all are read.
func oldest(rings []overwritten) (next *overwritten) {
	for i := range rings {
		if r := &rings[i]; !r.read && (next == nil || r.upTo < next.upTo) {
			next = r
		}
	}
	return next
}

func (d *Drain) copyRings(final bool) (rings []overwritten, err error) {
	for _, src := range d.sources {
		if !src.mem.Overwrites() {
			continue
		}
		src.counters.Sample(src.decoder.Schemas)
		if final && src.Kernel {
			src.settleAll()
		}
		if err := func() (err error) {
			defer src.mem.Guard(&err)()
			for cpu := range src.reader.Rings() {
				rings = append(rings, overwritten{src: src, cpu: cpu, snap: src.reader.Snapshot(cpu, final)})
			}
			return nil
		}(); err != nil {
			return nil, err
		}
	}
	if len(rings) > 0 {
		d.Whole.copied()
	}
	return rings, nil
}

// settleAll waits until no program of the kernel engine is in a hit, when they have been detached: see settle. A program may wait for a
// page, so there is a limit; what is not complete then is counted as torn.
func (src *Source) settleAll() {
	end := time.Now().Add(time.Second)
	for cpu := range src.reader.Rings() {
		for !src.reader.Settled(cpu) && time.Now().Before(end) {
			runtime.Gosched()
		}
	}
}

// mostPatience is how long a snapshot waits for the reader of its output.
const mostPatience = 10 * time.Second

// showAll shows a record and waits for the reader of the sink, for some time.
func (d *Drain) showAll(r event.Record) error {
	err := d.show(r)
	if !errors.Is(err, errTurn) {
		return err
	}
	if err := d.sink.Flush(); err != nil {
		return err
	}
	end := time.Now().Add(mostPatience)
	d.waiter.Wait(func() bool { return time.Now().After(end) })
	return nil
}
