package drain

import (
	"encoding/binary"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// visits are the times at which the rings of an engine without time stamps (ring.ClockNone) were read. A record was
// reserved after the last visit that left its ring empty, and before the visit that found it, whose time it gets.
type visits struct {
	empty []uint64          // by ring: when the last visit began that left it empty; before: when there were no records yet
	since map[uint64]uint64 // by the stamp of records: the earliest time at which they were reserved
}

// maxVisits bounds the visits that are remembered.
const maxVisits = 1 << 14

// SetClock sets where the stamps of an engine's records are from; coarse is for ring.ClockCoarse. Call it before the
// first site is armed.
func (d *Drain) SetClock(src *Source, c ring.Clock, coarse *event.CoarseClock) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.decoder.Clock, src.decoder.Stamps = d.clock, c
	src.reader.SetClock(c)
	switch c {
	case ring.ClockCoarse:
		src.coarse = coarse
		src.decoder.Doubt = coarse.Early
	case ring.ClockNone:
		src.visits = &visits{empty: make([]uint64, src.reader.Rings()), since: map[uint64]uint64{}}
		for i := range src.visits.empty {
			src.visits.empty[i] = event.TSC()
		}
		src.decoder.Doubt = src.visits.doubt
	}
}

// SetWait sets how long a hit of an engine in a process may wait for room in a ring, behind the last time when something was read of
// it or it was empty. Call it before the first site is armed.
func (d *Drain) SetWait(src *Source, most time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if src.wait = d.clock.Ticks(most); src.wait == 0 {
		return
	}
	for cpu := range src.reader.Rings() {
		src.mem.WaitUntil(cpu, event.TSC()+src.wait+d.clock.Ticks(firstWait))
	}
}

// firstWait is added to the wait before the first ring is read: programs are armed meanwhile.
const firstWait = 10 * time.Second

// Waits is how many hits have waited for room.
func (src *Source) Waits() (n uint64) {
	for cpu := range src.reader.Rings() {
		n += src.mem.Waits(cpu)
	}
	return n
}

// doubt is how long before its stamp a record may have been reserved.
func (v *visits) doubt(stamp uint64) uint64 { return stamp - v.since[stamp] }

// stamp gives records that have just been read from a ring the present time.
func (v *visits) stamp(ring int, data []byte) {
	now := event.TSC()
	if len(v.since) >= maxVisits {
		clear(v.since) // the threads of records that wait are not certain any more
	}
	v.since[now] = v.empty[ring]
	eachRecord(data, func(rec []byte) { binary.LittleEndian.PutUint64(rec, now) })
}

// eachRecord calls f with the stamp of each record that a reader returned.
func eachRecord(data []byte, f func(stamp []byte)) {
	for len(data) >= ring.RecHeader {
		f(data[ring.RecTSC:])
		data = data[min(max(int(binary.LittleEndian.Uint32(data[ring.RecSize:])), ring.RecHeader), len(data)):]
	}
}

// known is the earliest stamp of records that are reserved from now on.
func (d *Drain) known(src *Source) uint64 {
	switch {
	case src.coarse == nil:
		return d.now()
	case d.merger.Key == nil:
		return src.coarse.Last()
	}
	return uint64(d.clock.Mono(src.coarse.Last()))
}
