package ring

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// State is the state of a ring after Drain.
type State uint8

// The states of a ring after Drain.
const (
	// Empty: all room that was reserved when the call began is consumed. Later records were reserved later.
	Empty State = iota
	// Pending: a writer has reserved room and has not completed its record yet.
	Pending
)

// Stats counts problems found by a Reader.
type Stats struct {
	Records uint64
	Bytes   uint64
	Torn    uint64 // records whose writer died before they were complete (Recover)
	Corrupt uint64 // number of times that the program wrote into the ring and its content was dropped
}

// Reader consumes the rings. Different goroutines may drain different CPUs, but only one at a time may drain a
// CPU. The traced program can write anything into the shared memory, so every value read from it is checked.
type Reader struct {
	sites uint64
	sizes []uint32 // by site; 0 = not known
	short []uint32 // by site: another size that records have; 0 = none
	clock Clock
	rings []ringReader
}

// ringReader keeps its own position. The shared one is only for the writers.
type ringReader struct {
	data     unsafe.Pointer // size bytes, and then their mirror or the spare room
	size     uint64
	spare    uint64 // shape.spare
	reserved *uint64
	consumed *uint64
	pos      uint64
	tsc      uint64 // of the last record consumed; Recover compares with it
	stats    Stats
	_        [64]byte // rings are drained by different goroutines
}

// NewReader returns the reader of s. There must be one at a time.
func NewReader(s *Shared) *Reader {
	r := &Reader{
		sites: uint64(s.g.sites()),
		sizes: make([]uint32, s.g.sites()),
		short: make([]uint32, s.g.sites()),
		rings: make([]ringReader, s.g.Rings()),
	}
	for cpu := range r.rings {
		off := s.g.RingOffset(cpu)
		r.rings[cpu] = ringReader{
			data:     unsafe.Pointer(&s.mem[off+RingData]),
			size:     s.g.size(),
			spare:    s.g.spare(),
			reserved: s.word(off + RingReserved),
			consumed: s.word(off + RingConsumed),
		}
		r.rings[cpu].pos = atomic.LoadUint64(r.rings[cpu].consumed) &^ 7
	}
	return r
}

// SetSize sets the size of a site's records (Schema.RecordSize). A header with another size is damaged. Call it
// before the site is armed.
func (r *Reader) SetSize(site uint32, size int) { r.sizes[site] = uint32(size) }

// SetShort sets a second size that records of the site may have (Schema.ShortSize); 0 means none. Call it
// together with SetSize.
func (r *Reader) SetShort(site uint32, size int) { r.short[site] = uint32(size) }

// SetClock sets where the records' time stamps are from. Call it before the first site is armed.
func (r *Reader) SetClock(c Clock) { r.clock = c }

// Rings returns the number of rings; CPU numbers run below it.
func (r *Reader) Rings() int { return len(r.rings) }

// Stats returns the sum over all rings. It must not run concurrently with Drain.
func (r *Reader) Stats() Stats {
	var sum Stats
	for i := range r.rings {
		s := &r.rings[i].stats
		sum.Records += s.Records
		sum.Bytes += s.Bytes
		sum.Torn += s.Torn
		sum.Corrupt += s.Corrupt
	}
	return sum
}

// Drain appends the committed records of a CPU's ring to dst, in the order of the ring, and frees their room.
// It reads only room that was reserved when it began, and publishes its progress once. Following the writers
// more closely would cost them a cache miss for every record.
func (r *Reader) Drain(cpu int, dst []byte) ([]byte, State) {
	rr := &r.rings[cpu]
	reserved := atomic.LoadUint64(rr.reserved)
	limit := reserved - rr.pos
	if limit > rr.size || limit&7 != 0 {
		return dst, rr.resync()
	}
	for {
		run := r.committed(rr, limit)
		if run.n > 0 {
			dst = rr.take(run, dst)
		} else if atomic.LoadUint64(rr.consumed) != rr.pos { // the program overwrote it
			rr.advance(0)
		}
		limit -= run.n
		switch {
		case run.damaged:
			return dst, rr.resync()
		case limit == 0:
			return dst, Empty
		case !run.wrapped:
			return dst, Pending
		}
	}
}

// take appends a run to dst and frees its room.
func (rr *ringReader) take(run run, dst []byte) []byte {
	at := unsafe.Add(rr.data, rr.pos&(rr.size-1))
	data := unsafe.Slice((*byte)(at), run.n)
	dst = append(dst, data...)
	rr.tsc = binary.LittleEndian.Uint64(data[run.last+RecTSC:])
	clear(data)
	rr.stats.Records += run.records
	rr.stats.Bytes += run.n
	rr.advance(run.n)
	return dst
}

// run is a run of committed records.
type run struct {
	n       uint64 // bytes
	last    uint64 // offset of its last record
	records uint64
	damaged bool // it ends in bytes that no writer can have written
	wrapped bool // it ends at the end of the data and continues at the start
}

// committed measures the run of committed records at the reader's position.
func (r *Reader) committed(rr *ringReader, limit uint64) (run run) {
	start := rr.pos & (rr.size - 1)
	at := unsafe.Add(rr.data, start)
	for run.n < limit {
		if rr.spare > 0 && start+run.n >= rr.size {
			run.wrapped = true
			break
		}
		word := atomic.LoadUint64((*uint64)(unsafe.Add(at, run.n)))
		if word == 0 {
			break
		}
		if pendingSize(word, limit-run.n) != 0 {
			break
		}
		size := r.recordSize(word, limit-run.n)
		if size == 0 || rr.spare > 0 && start+run.n+size > rr.size+rr.spare {
			run.damaged = true
			break
		}
		run.last = run.n
		run.n += size
		run.records++
	}
	return run
}

// recordSize checks a header word and returns the record's size, or 0 if no writer can have written it.
func (r *Reader) recordSize(word, limit uint64) uint64 {
	size, site := word&0xffffffff, word>>32-1
	if site >= r.sites {
		return 0
	}
	if want := uint64(r.sizes[site]); want != 0 {
		if short := uint64(r.short[site]); size != want && (short == 0 || size != short) {
			return 0
		}
	} else if size < RecHeader || size&7 != 0 {
		return 0
	}
	if size > limit {
		return 0
	}
	return size
}

// pendingSize is the size of a record that is still being written, or 0 if the word is not the first of such a record.
func pendingSize(word, limit uint64) uint64 {
	size := word &^ RecPending
	if word&RecPending == 0 || size < RecHeader || size&7 != 0 || size > limit {
		return 0
	}
	return size
}

// advance returns n zeroed bytes to the writers. x86 keeps the order of stores, so a writer that reads the new
// position also reads the zeros.
func (rr *ringReader) advance(n uint64) {
	rr.pos += n
	atomic.StoreUint64(rr.consumed, rr.pos)
}

// resync empties a ring that the program has overwritten and continues at the writers' position. Writers in
// progress may damage the ring once more; then it is emptied again.
func (rr *ringReader) resync() State {
	rr.stats.Corrupt++
	clear(unsafe.Slice((*byte)(rr.data), rr.size+rr.spare))
	reserved := atomic.LoadUint64(rr.reserved)
	if reserved&7 != 0 {
		aligned := reserved &^ 7
		if !atomic.CompareAndSwapUint64(rr.reserved, reserved, aligned) {
			return Pending
		}
		reserved = aligned
	}
	rr.pos = reserved
	atomic.StoreUint64(rr.consumed, reserved)
	return Pending
}
