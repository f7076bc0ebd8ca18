package drain

import (
	"encoding/binary"
	"errors"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Recorder is a Sink that gets the events of each ring by themselves, in the order of the ring: they are not merged.
type Recorder interface {
	Sink
	// Ring says which ring the next events are from.
	Ring(r RingState) error
	// Batch takes the first records of a batch, as many as it can take without an Event for each, and counts them by their site. It
	// returns their number and size; the next one, if any, goes to Event.
	Batch(b *event.Batch, counts []uint64) (n, size int, err error)
	// Full reports whether it should not be given more events now. They stay in the rings.
	Full() bool
}

// RingState is a ring that is read.
type RingState struct {
	Kernel bool
	Ring   int // its number in its engine
	CPU    int
	Pid    int    // of the process; 0 for the kernel engine
	Lost   uint64 // hits that have found it full so far
	// Overwritten: the program has overwritten that count, so that there may be more.
	Overwritten bool
}

// record passes the records of d.buf, which have just been read from a ring, to the recorder.
func (d *Drain) record(src *Source, cpu int) error {
	if err := d.clock.Refresh(); err != nil {
		return err
	}
	if err := d.recorder.Ring(src.ringState(cpu)); err != nil {
		return err
	}
	for data := d.buf; len(data) >= ring.RecHeader; {
		size, err := d.recordBatch(src, data)
		if err != nil {
			return err
		}
		if data = data[size:]; len(data) < ring.RecHeader {
			break
		}
		n := int(binary.LittleEndian.Uint32(data[ring.RecSize:]))
		if n < ring.RecHeader || n > len(data) {
			break
		}
		r := event.Record{CPU: src.first + cpu, TSC: binary.LittleEndian.Uint64(data[ring.RecTSC:]), Data: data[:n:n]}
		if err := d.show(r); err != nil && !(d.ending && errors.Is(err, ErrEnough)) {
			return err
		}
		data = data[n:]
	}
	return nil
}

// recordBatch passes the first records that need no Event each to the recorder, and returns their size. An event of a thread whose name
// has not been read is not among them.
func (d *Drain) recordBatch(src *Source, data []byte) (size int, err error) {
	if d.Max > 0 || d.passed || d.unshown > 0 || d.ending && d.late != nil && d.late() {
		return 0, nil
	}
	for size < len(data) {
		if !src.batch(data[size:], &d.batch, &d.noted) {
			return size, nil
		}
		n, done, err := d.recorder.Batch(&d.batch, src.recorded)
		d.shown += uint64(n)
		if size += done; err != nil || done == 0 {
			return size, err
		}
	}
	return size, nil
}

// batch makes the batch of the first of these records, if there is one. noted are threads whose names have been read.
func (src *Source) batch(data []byte, b *event.Batch, noted *[16]named) bool {
	if src.Kernel {
		return src.decoder.KernelBatch(data, b)
	}
	return src.decoder.Batch(data, b) && noted[b.Tid&15] == named{b.Tid, b.Comm}
}

func (src *Source) ringState(cpu int) RingState {
	x := RingState{Kernel: src.Kernel, Ring: cpu, CPU: src.mem.CPU(cpu), Pid: src.decoder.Pid}
	x.Lost, x.Overwritten = src.counters.Dropped(cpu)
	return x
}

// recordLosses passes the final counts of hits that found the rings full.
func (d *Drain) recordLosses() error {
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			if err := d.recorder.Ring(src.ringState(cpu)); err != nil {
				return err
			}
		}
	}
	return nil
}
