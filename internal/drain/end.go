package drain

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/event"
)

// Finish reads the remaining records when nothing writes any more, and waits for the reader of the sink.
// Records that are not shown, or not read by the reader, when late returns true are only counted.
func (d *Drain) Finish(late func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.finish(late)
	d.finishLive()
	if d.waiter != nil {
		unwritten, werr := d.waiter.Finish(late)
		d.unshown += unwritten
		d.shown -= min(d.shown, unwritten)
		if err == nil {
			err = werr
		}
	}
	return err
}

func (d *Drain) finish(late func() bool) error {
	d.late, d.ending = late, true
	if err := d.sample(); err != nil {
		return err
	}
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			if src.mem.Overwrites() {
				break
			}
			if err := d.readLast(src, cpu); err != nil {
				return err
			}
			if d.merger.Waiting() < mostWaiting {
				continue
			}
			if err := d.merger.Emit(d.count); err != nil {
				return err
			}
		}
	}
	// The other rings have been read before: a snapshot shows all that waits.
	if err := d.snapshot(true, d.count); err != nil {
		return err
	}
	if err := d.clock.Refresh(); err != nil {
		return err
	}
	err := d.merger.Flush(d.count)
	if err == nil && d.recorder != nil {
		err = d.recordLosses()
	}
	if err != nil {
		return err
	}
	if e, ok := d.sink.(Ender); ok {
		if err := e.End(); err != nil {
			return err
		}
	}
	return d.sink.Flush()
}

// count shows a record at the end. Records that are not shown any more are still counted.
func (d *Drain) count(r event.Record) error {
	if err := d.show(r); err != nil && !errors.Is(err, ErrEnough) {
		return err
	}
	return nil
}

// Settle reads and shows all remaining records. There must be no writers.
func (d *Drain) Settle() error {
	for more := true; more; {
		var err error
		if more, err = d.Poll(); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.merger.Flush(d.show); err != nil {
		return err
	}
	if d.live != nil {
		d.live.flush(d.live.merger.Flush(d.showOne))
	}
	return d.sink.Flush()
}

// ReadToEnd reads the rings of the kernel engine to their end, when its programs have been
// detached, and shows nothing: what it reads waits for its order.
func (d *Drain) ReadToEnd() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sample(); err != nil {
		return err
	}
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			if !src.Kernel || src.mem.Overwrites() {
				continue
			}
			if err := d.readLast(src, cpu); err != nil {
				return err
			}
		}
	}
	return d.clock.Refresh()
}

// Recorded is how many records of a site have come so far: those shown, those that wait for
// their order, and those that were still in the rings.
func (d *Drain) Recorded(src *Source, site uint32) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.look()
	n := src.recorded[site]
	d.merger.Each(func(r event.Record) {
		if d.sourceOf(r.CPU) == src && r.Site() == site {
			n++
		}
	})
	return n, err
}

// Complete is a time up to which the sink has been given all events: no older one is still to
// come. It is in nanoseconds of CLOCK_MONOTONIC if an engine is the kernel's, else in ticks.
func (d *Drain) Complete() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.merger.Complete()
}
