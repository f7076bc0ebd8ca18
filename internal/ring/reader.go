package ring

import (
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
	Torn    uint64 // records whose writer died before they were complete (Recover), or had not completed them (the last Snapshot)
	// TornSubs counts the sub-buffers that snapshots could not read, or not whole, since writers were at them.
	TornSubs uint64
	Corrupt  uint64 // number of times that the program wrote into the ring and its content was dropped
}

// Reader consumes the rings. Different goroutines may drain different CPUs, but only one at a time may drain a
// CPU. The traced program can write anything into the shared memory, so every value read from it is checked.
type Reader struct {
	sites uint64
	sizes []uint32 // by site; 0 = not known
	short []uint32 // by site: another size that records have; 0 = none
	forms []form   // by site, of sizes
	clock Clock
	rings []ringReader
}

// ringReader keeps its own position. The shared one is only for the writers.
type ringReader struct {
	data     unsafe.Pointer // size bytes, and then their mirror or the spare room
	size     uint64
	spare    uint64 // shape.spare
	sub      uint64 // SubSize
	reserved *uint64
	writer   *uint64 // RingThread
	consumed *uint64
	// table of the sub-buffers, and whether the writers use sequences: for Snapshot.
	table     unsafe.Pointer
	sequences bool
	near      bool   // reserved has the distance of the newest context
	timeLast  bool   // of a context the time is stored last
	between   func() // called between the loads of a snapshot, by tests
	pos       uint64
	// time and thread of the last context; known: there is one.
	time, thread uint64
	known        bool
	last         uint64 // time of the last record; Recover compares with it
	stats        Stats
	_            [64]byte // rings are drained by different goroutines
}

// NewReader returns the reader of s. There must be one at a time, before there are writers.
func NewReader(s *Shared) *Reader {
	r := &Reader{
		sites: uint64(s.g.sites()),
		sizes: make([]uint32, s.g.sites()),
		short: make([]uint32, s.g.sites()),
		forms: make([]form, s.g.sites()),
		rings: make([]ringReader, s.g.Rings()),
	}
	for site := range r.forms {
		r.forms[site] = noForm(uint32(site))
	}
	for cpu := range r.rings {
		off := s.g.RingOffset(cpu)
		r.rings[cpu] = ringReader{
			data:     unsafe.Pointer(&s.mem[off+RingData]),
			size:     s.g.size(),
			spare:    s.g.spare(),
			sub:      SubSize(s.g.size()),
			reserved: s.word(off + RingReserved),
			writer:   s.word(off + RingThread),
			consumed: s.word(off + RingConsumed),
			table:    unsafe.Pointer(&s.mem[off+SubTable]), sequences: cpu < s.restartable(), near: s.near(cpu), timeLast: s.g.spare() > 0,
		}
		r.rings[cpu].pos = atomic.LoadUint64(r.rings[cpu].consumed) &^ 7
	}
	return r
}

// SetSize sets the size of a site's records (Schema.RecordSize). A header with another size is damaged. Call it
// before the site is armed.
func (r *Reader) SetSize(site uint32, size int) {
	r.sizes[site], r.forms[site] = uint32(size), formOf(site, uint32(size))
}

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
		sum.TornSubs += s.TornSubs
		sum.Corrupt += s.Corrupt
	}
	return sum
}

// Drain appends the committed records of a CPU's ring to dst, in the order of the ring, and frees their room.
// It reads only room that was reserved when it began, and publishes its progress once. Following the writers
// more closely would cost them a cache miss for every record.
func (r *Reader) Drain(cpu int, dst []byte) ([]byte, State) {
	dst, state, _ := r.DrainPart(cpu, dst, r.rings[cpu].size)
	return dst, state
}

// DrainPart is Drain that reads no further than to the end of the sub-buffer in which it has read part bytes. more: it has not read
// all that was reserved, for this reason; the state is then Pending.
func (r *Reader) DrainPart(cpu int, dst []byte, part uint64) (_ []byte, state State, more bool) {
	rr := &r.rings[cpu]
	limit := rr.end() - rr.pos
	if limit > rr.size || limit&7 != 0 {
		return dst, rr.resync(), false
	}
	n, before := uint64(0), len(dst)
	var size uint64
	for n < limit && n < part {
		if size, dst = r.run(rr, rr.pos+n, limit-n, dst); size == 0 {
			size, dst = r.read(rr, rr.pos+n, limit-n, dst)
		}
		if size == 0 || size == damaged {
			break
		}
		rr.clear(n, n+size)
		n += size
	}
	rr.stats.Bytes += uint64(len(dst) - before)
	if n > 0 || atomic.LoadUint64(rr.consumed) != rr.pos { // else the program overwrote it
		rr.advance(n)
	}
	switch {
	case n == limit:
		return dst, Empty, false
	case size == damaged:
		return dst, rr.resync(), false
	}
	return dst, Pending, n >= part
}

// end is the position up to which writers have reserved.
func (rr *ringReader) end() uint64 { return rr.position(atomic.LoadUint64(rr.reserved)) }

// position is that in a word of what is reserved.
func (rr *ringReader) position(reserved uint64) uint64 {
	if rr.near {
		return Position(reserved)
	}
	return reserved
}

// clear zeroes bytes from from to to behind the reader's position.
func (rr *ringReader) clear(from, to uint64) {
	at := unsafe.Add(rr.data, (rr.pos+from)&(rr.size-1))
	clear(unsafe.Slice((*byte)(at), to-from))
}

// damaged is the size of what no writer can have written.
const damaged = ^uint64(0)

// read reads what is at a position and appends it to dst if it is an event. It returns its size in the ring: 0 if it is
// not complete.
func (r *Reader) read(rr *ringReader, pos, limit uint64, dst []byte) (uint64, []byte) {
	at := unsafe.Add(rr.data, pos&(rr.size-1))
	word := atomic.LoadUint64((*uint64)(at))
	switch word >> WordKind & 31 {
	case 0:
		if word == 0 {
			return 0, dst
		}
	case KindEvent:
		site, head, size := r.event(rr, pos, word, limit)
		switch {
		case rr.near && word&WordPending != 0: // its site may not be known yet
			return 0, dst
		case size == 0 || word&WordPending == 0 && !rr.known:
			return damaged, dst
		case word&WordPending != 0:
			return 0, dst
		}
		rr.last = rr.time&^WordClock | word&WordClock
		dst = appendRecord(dst, site, rr.last, rr.thread, unsafe.Slice((*byte)(unsafe.Add(at, head)), size-head))
		rr.stats.Records++
		return size, dst
	case KindContext:
		size := contextSize(word, limit)
		if size == 0 {
			return damaged, dst
		}
		behind := atomic.LoadUint64((*uint64)(unsafe.Add(at, ContextSize)))
		if behind == 0 || behind&WordPending != 0 {
			return 0, dst
		}
		rr.context(pos)
		return ContextSize, dst
	case KindFiller:
		if size := rr.fillerSize(pos, word, limit); size > 0 {
			return size, dst
		}
	case PacketMagic >> WordKind:
		if rr.isPacket(pos, word, limit) {
			rr.known = false
			return PacketHead, dst
		}
	}
	return damaged, dst
}

// event checks the word of an event and returns its site and the sizes of its head and of the whole; 0 if no writer can
// have written it.
func (r *Reader) event(rr *ringReader, pos, word, limit uint64) (site uint32, head, size uint64) {
	site, head, size = uint32(word>>32)&(1<<siteBits-1), EventHead, word>>sizeShift&(1<<sizeBits-1)*8
	if size == 0 && limit > EventHead {
		head = 2 * EventHead
		size = atomic.LoadUint64((*uint64)(unsafe.Add(rr.data, pos&(rr.size-1)+EventHead)))
	}
	if uint64(site) >= r.sites || size < head || size&7 != 0 || size > limit || rr.spare > 0 && pos&(rr.size-1)+size > rr.size+rr.spare {
		return site, head, 0
	}
	if want := uint64(r.sizes[site]); want != 0 {
		if record := size - head + RecHeader; record != want && (r.short[site] == 0 || record != uint64(r.short[site])) {
			return site, head, 0
		}
	}
	return site, head, size
}

// contextSize is the size of the event that the word of a context names, 0 if it cannot be.
func contextSize(word, limit uint64) uint64 {
	size := word >> 32
	if size < EventHead || size&7 != 0 || size > limit || limit-size < ContextSize {
		return 0
	}
	return size
}

// context makes the context at a position that of the events behind it.
func (rr *ringReader) context(pos uint64) {
	at := unsafe.Add(rr.data, pos&(rr.size-1)) // near the end of the data it may go on behind it
	rr.time = atomic.LoadUint64((*uint64)(unsafe.Add(at, ContextTime)))
	rr.thread = atomic.LoadUint64((*uint64)(unsafe.Add(at, ContextThread)))
	rr.known = true
}

func (rr *ringReader) fillerSize(pos, word, limit uint64) uint64 {
	if size := word >> 32; size < rr.sub && size&7 == 0 && size <= limit && (pos+size)&(rr.sub-1) == 0 {
		return size
	}
	return 0
}

func (rr *ringReader) isPacket(pos, word, limit uint64) bool {
	return word == PacketMagic && pos&(rr.sub-1) == 0 && limit >= PacketHead && rr.wordAt(pos+PacketPosition) == pos
}

func (rr *ringReader) wordAt(pos uint64) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Add(rr.data, pos&(rr.size-1))))
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
	rr.known = false
	atomic.StoreUint64(rr.writer, 0)
	clear(unsafe.Slice((*byte)(rr.data), rr.size+rr.spare))
	reserved := atomic.LoadUint64(rr.reserved)
	if reserved&7 != 0 {
		aligned := reserved &^ 7
		if !atomic.CompareAndSwapUint64(rr.reserved, reserved, aligned) {
			return Pending
		}
		reserved = aligned
	}
	rr.pos = rr.position(reserved)
	atomic.StoreUint64(rr.consumed, rr.pos)
	return Pending
}
