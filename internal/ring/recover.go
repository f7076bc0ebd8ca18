package ring

// Recover drains the rest of a ring after all writers have died. A writer that dies leaves an event with WordPending,
// or, with lock between reservation and context, a hole. Recover passes over both and counts them as torn.
func (r *Reader) Recover(cpu int, dst []byte) []byte {
	rr := &r.rings[cpu]
	for {
		var state State
		before := rr.pos
		dst, state = r.Drain(cpu, dst)
		if state == Empty {
			return dst
		}
		if rr.pos == before && !r.skipFiller(rr) {
			r.skipHole(rr)
		}
	}
}

// Reserved is what writers have reserved so far in a ring: a position for SkipBefore.
func (r *Reader) Reserved(cpu int) uint64 { return r.rings[cpu].end() }

// SkipBefore moves past the event at the reader's position, if it has WordPending and was reserved before a position: its
// writer will not complete it. Other writers may go on.
func (r *Reader) SkipBefore(cpu int, end uint64) bool {
	rr := &r.rings[cpu]
	return int64(end-rr.pos) > 0 && r.skipFiller(rr)
}

// skipFiller moves past the event at the reader's position if it is not complete: it reports whether it is one. The
// context before it may be that of events behind it too: it was complete before these were written.
func (r *Reader) skipFiller(rr *ringReader) bool {
	limit := rr.end() - rr.pos
	if limit == 0 || limit > rr.size {
		return false
	}
	size := r.unfinished(rr, rr.pos, limit)
	if size == 0 || rr.spare > 0 && rr.pos&(rr.size-1)+size > rr.size+rr.spare {
		return false
	}
	rr.skip(size, 1)
	return true
}

// unfinished is the size of the event at a position, with a context before it, if it is not complete. It reads the context.
func (r *Reader) unfinished(rr *ringReader, pos, limit uint64) (size uint64) {
	switch word := rr.wordAt(pos); {
	case word>>WordKind&31 == KindEvent && word&WordPending != 0:
		_, _, size = r.event(rr, pos, word, limit)
	case word>>WordKind&31 == KindContext:
		behind := rr.wordAt(pos + ContextSize)
		if size = contextSize(word, limit); size != 0 && behind != 0 && behind&WordPending == 0 {
			size = 0
		}
		if size != 0 {
			size += ContextSize
			rr.context(pos)
		}
	}
	return size
}

// skip frees n bytes in which this number of records was being written.
func (rr *ringReader) skip(n, torn uint64) {
	rr.clear(0, n)
	rr.stats.Torn += torn
	rr.advance(n)
}

// skipHole moves past the hole at the reader's position. Events with WordPending behind it count as its end, like complete
// ones.
func (r *Reader) skipHole(rr *ringReader) {
	limit := rr.end() - rr.pos
	if limit == 0 || limit > rr.size {
		return // Drain resynchronises
	}
	n, torn := r.holeBySizes(rr, limit)
	if n == 0 {
		n, torn = r.holeByScan(rr, limit), 1
	}
	rr.skip(n, torn)
}

// holeBySizes finds the end of a hole, which must consist of whole events of the known sizes, each with a context, or
// where that is possible without, that begins with a zero word. It returns the length and the minimum number of events, or 0 if sizes are unknown or do not
// fit.
func (r *Reader) holeBySizes(rr *ringReader, limit uint64) (n, torn uint64) {
	sizes := r.distinctSizes()
	if len(sizes) == 0 {
		return 0, 0
	}
	// events[i] is the minimum number of events that fill i*8 bytes, plus one; 0 means impossible.
	events := make([]uint32, limit/8+1)
	events[0] = 1
	for off := uint64(0); off < limit; off += 8 {
		count := events[off/8]
		if count == 0 {
			continue
		}
		if rr.wordAt(rr.pos+off) != 0 {
			if off > 0 && r.chained(rr, off, limit) {
				return off, uint64(count - 1)
			}
			continue // inside a hole: nothing starts here
		}
		for _, size := range sizes {
			for _, room := range rr.rooms(rr.pos+off, size) {
				if end := off + room; end <= limit && (events[end/8] == 0 || events[end/8] > count+1) {
					events[end/8] = count + 1
				}
			}
		}
	}
	if count := events[limit/8]; count > 0 {
		return limit, uint64(count - 1)
	}
	return 0, 0
}

// rooms are what a reservation with lock at pos may take for an event of this size: with a context, and maybe the start of
// a sub-buffer; in near rings without both too.
func (rr *ringReader) rooms(pos, size uint64) []uint64 {
	whole := ContextSize + size
	switch {
	case PacketHead+whole > rr.sub || (pos-1)&(rr.sub-1) > rr.sub-1-whole:
		return []uint64{-pos&(rr.sub-1) + PacketHead + whole}
	case rr.near:
		return []uint64{whole, size}
	}
	return []uint64{whole}
}

// holeByScan looks for the next head at every 8 bytes.
func (r *Reader) holeByScan(rr *ringReader, limit uint64) uint64 {
	for off := uint64(8); off < limit; off += 8 {
		if rr.wordAt(rr.pos+off) != 0 && r.chained(rr, off, limit) {
			return off
		}
	}
	return limit
}

// maxDelay is the maximum time, in TSC ticks, by which an event may be older than its predecessor in the ring: the
// counters of processors may differ.
const maxDelay = 1 << 38

// chained reports whether what is at off can follow a hole: it can be the first of a reservation, and leads to another,
// to a hole or to the end. Field data may look like it, but rarely leads to more of it.
func (r *Reader) chained(rr *ringReader, off, limit uint64) bool {
	pos := rr.pos + off
	limit -= off
	word := rr.wordAt(pos)
	switch word >> WordKind & 31 {
	case PacketMagic >> WordKind:
		return rr.isPacket(pos, word, limit)
	case KindFiller:
		n := rr.fillerSize(pos, word, limit)
		return n > 0 && (n == limit || r.begins(rr, pos+n, limit-n))
	case KindContext:
		n := contextSize(word, limit)
		if n == 0 {
			return false
		}
		time, event := rr.wordAt(pos+ContextTime), rr.wordAt(pos+ContextSize)
		begun := rr.timeLast && time == 0 && event == 0
		if r.clock == ClockNone && time != 0 || r.clock != ClockNone && !begun && (time == 0 || time+maxDelay < rr.last) {
			return false
		}
		if event != 0 && event&WordPending == 0 {
			if _, _, size := r.event(rr, pos+ContextSize, event, limit-ContextSize); size != n || event>>WordKind&31 != KindEvent {
				return false
			}
		}
		n += ContextSize
		return n == limit || r.begins(rr, pos+n, limit-n)
	case KindEvent:
		_, _, n := r.event(rr, pos, word, limit)
		return rr.near && rr.known && n > 0 && (n == limit || r.begins(rr, pos+n, limit-n))
	}
	return false
}

// begins reports whether a head or a hole can be at pos.
func (r *Reader) begins(rr *ringReader, pos, limit uint64) bool {
	word := rr.wordAt(pos)
	switch word >> WordKind & 31 {
	case 0:
		return word == 0
	case KindEvent:
		_, _, size := r.event(rr, pos, word, limit)
		return size != 0
	case KindContext:
		return contextSize(word, limit) != 0
	case KindFiller:
		return rr.fillerSize(pos, word, limit) != 0
	}
	return rr.isPacket(pos, word, limit)
}

// distinctSizes lists the sizes of events, or returns nil if a site's size is unknown.
func (r *Reader) distinctSizes() []uint64 {
	var sizes []uint64
	seen := map[uint64]bool{}
	for site := range r.sizes {
		head := HeadOf(uint64(max(r.sizes[site], r.short[site])))
		for _, record := range []uint32{r.sizes[site], r.short[site]} {
			if size := uint64(record) - RecHeader + head; record != 0 && !seen[size] {
				seen[size] = true
				sizes = append(sizes, size)
			}
		}
	}
	return sizes
}
