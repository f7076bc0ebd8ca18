package ring

import (
	"sync/atomic"
	"unsafe"
)

// Recover drains the rest of a ring after all writers have died. A writer that dies leaves a record with RecPending,
// or, with lock between reservation and size, a hole. Recover passes over both and counts them as torn.
func (r *Reader) Recover(cpu int, dst []byte) []byte {
	rr := &r.rings[cpu]
	for {
		var state State
		before := rr.pos
		dst, state = r.Drain(cpu, dst)
		if state == Empty {
			return dst
		}
		if rr.pos == before && !rr.skipFiller() {
			r.skipHole(rr)
		}
	}
}

// Reserved is what writers have reserved so far in a ring: a position for SkipBefore.
func (r *Reader) Reserved(cpu int) uint64 { return atomic.LoadUint64(r.rings[cpu].reserved) }

// SkipBefore moves past the record at the reader's position, if it has RecPending and was reserved before a position: its
// writer will not complete it. Other writers may go on.
func (r *Reader) SkipBefore(cpu int, end uint64) bool {
	rr := &r.rings[cpu]
	return int64(end-rr.pos) > 0 && rr.skipFiller()
}

// skipFiller moves past the record at the reader's position if it has RecPending: it reports whether it has.
func (rr *ringReader) skipFiller() bool {
	limit := atomic.LoadUint64(rr.reserved) - rr.pos
	if limit == 0 || limit > rr.size {
		return false
	}
	size := pendingSize(rr.wordAt(0), limit)
	if size == 0 || rr.spare > 0 && rr.pos&(rr.size-1)+size > rr.size+rr.spare {
		return false
	}
	rr.skip(size, 1)
	return true
}

// skip frees n bytes in which this number of records was being written.
func (rr *ringReader) skip(n, torn uint64) {
	at := unsafe.Add(rr.data, rr.pos&(rr.size-1))
	clear(unsafe.Slice((*byte)(at), n))
	rr.stats.Torn += torn
	rr.advance(n)
}

// skipHole moves past the hole at the reader's position. Records with RecPending behind it count as its end, like complete
// ones.
func (r *Reader) skipHole(rr *ringReader) {
	limit := atomic.LoadUint64(rr.reserved) - rr.pos
	if limit == 0 || limit > rr.size {
		return // Drain resynchronises
	}
	n, torn := r.holeBySizes(rr, limit)
	if n == 0 {
		n, torn = r.holeByScan(rr, limit), 1
	}
	rr.skip(n, torn)
}

// holeBySizes finds the end of a hole, which must consist of whole records of the known sizes, each with a zero
// first word. It returns the length and the minimum number of records, or 0 if sizes are unknown or do not fit.
func (r *Reader) holeBySizes(rr *ringReader, limit uint64) (n, torn uint64) {
	sizes := r.distinctSizes()
	if len(sizes) == 0 {
		return 0, 0
	}
	// records[i] is the minimum number of records that fill i*8 bytes, plus one; 0 means impossible.
	records := make([]uint32, limit/8+1)
	records[0] = 1
	for off := uint64(0); off < limit; off += 8 {
		count := records[off/8]
		if count == 0 {
			continue
		}
		if rr.wordAt(off) != 0 {
			if off > 0 && r.chained(rr, off, limit) {
				return off, uint64(count - 1)
			}
			continue // inside a hole: no record starts here
		}
		for _, size := range sizes {
			if end := off + size; end <= limit && (records[end/8] == 0 || records[end/8] > count+1) {
				records[end/8] = count + 1
			}
		}
	}
	if count := records[limit/8]; count > 0 {
		return limit, uint64(count - 1)
	}
	return 0, 0
}

// holeByScan looks for the next header at every 8 bytes.
func (r *Reader) holeByScan(rr *ringReader, limit uint64) uint64 {
	for off := uint64(8); off < limit; off += 8 {
		if rr.wordAt(off) != 0 && r.chained(rr, off, limit) {
			return off
		}
	}
	return limit
}

// maxDelay is the maximum time, in TSC ticks, by which a record may be older than its predecessor in the ring: the
// counters of processors may differ.
const maxDelay = 1 << 38

// chained reports whether a record at off has a possible time and is followed by the end, another header or a
// hole. Field data may look like a header, but rarely leads to another one.
func (r *Reader) chained(rr *ringReader, off, limit uint64) bool {
	word := rr.wordAt(off)
	size := pendingSize(word, limit-off)
	pending := size != 0
	if !pending {
		size = r.recordSize(word, limit-off)
	}
	if size == 0 {
		return false
	}
	tsc := rr.wordAt(off + RecTSC)
	if pending && tsc == 0 {
		// Its writer died before it stored the time.
	} else if r.clock == ClockNone && tsc != 0 || r.clock != ClockNone && (tsc == 0 || tsc+maxDelay < rr.tsc) {
		return false
	}
	next := off + size
	if next == limit || rr.wordAt(next) == 0 {
		return true
	}
	return r.recordSize(rr.wordAt(next), limit-next) != 0 || pendingSize(rr.wordAt(next), limit-next) != 0
}

func (rr *ringReader) wordAt(off uint64) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Add(rr.data, rr.pos&(rr.size-1)+off)))
}

// distinctSizes lists the record sizes, or returns nil if a site's size is unknown.
func (r *Reader) distinctSizes() []uint64 {
	var sizes []uint64
	seen := map[uint32]bool{}
	for site := range r.sizes {
		for _, size := range []uint32{r.sizes[site], r.short[site]} {
			if size != 0 && !seen[size] {
				seen[size] = true
				sizes = append(sizes, uint64(size))
			}
		}
	}
	return sizes
}
