package ring

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"
)

// piece is a copy of a sub-buffer.
type piece struct {
	pos  uint64 // where it begins
	data []byte
	// current: writers add to it. Elsewhere an event that is not complete is not waited for.
	current bool
}

// Snapshot is what could be read of a ring that is overwritten, at one time.
type Snapshot struct {
	r      *Reader
	rr     *ringReader
	pieces []piece
	final  bool
	// known: events before the time missing are not in the ring any more, nor in a snapshot before. open: nor are some behind the
	// last piece that was returned.
	known, open bool
	missing     uint64
}

// Snapshot copies what is in a ring that is overwritten and that no snapshot had before. final: nothing is written any more.
func (r *Reader) Snapshot(cpu int, final bool) *Snapshot {
	rr := &r.rings[cpu]
	s := &Snapshot{r: r, rr: rr, final: final}
	s.pieces = rr.copyAll(final)
	s.findGap(rr.pos)
	return s
}

// findGap finds the last of the pieces that does not follow the one before it, or what snapshots had before: the head of each sub-buffer
// says where the one before it ends. The times in a ring ascend, so all that is missing was before the piece begins.
func (s *Snapshot) findGap(read uint64) {
	for i := range s.pieces {
		p := &s.pieces[i]
		if p.pos >= read && p.word(PacketBefore) > read {
			s.gapBefore(p)
		}
		read = p.pos + uint64(len(p.data))
	}
}

func (s *Snapshot) gapBefore(p *piece) {
	s.known, s.open, s.missing = true, false, max(s.missing, p.word(PacketBegin))
}

// word is one of the head of a sub-buffer.
func (p *piece) word(off int) uint64 {
	if len(p.data) < PacketHead {
		return 0
	}
	return binary.LittleEndian.Uint64(p.data[off:])
}

// Missing reports whether events of the ring are missing: they were overwritten before this snapshot, or are in sub-buffers that could not
// be read. All of them were recorded before a time, by the ring's clock; ^0: before the snapshot. What Next finds damaged adds to it.
func (s *Snapshot) Missing() (before uint64, some bool) {
	if s.open {
		return ^uint64(0), true
	}
	return s.missing, s.known
}

// Next appends the records of the next sub-buffer to dst, in the order of the ring; ok: there was one.
func (s *Snapshot) Next(dst []byte) (records []byte, ok bool) {
	if len(s.pieces) == 0 {
		return dst, false
	}
	p := s.pieces[0]
	s.pieces = s.pieces[1:]
	left := s.rr.stats.Corrupt + s.rr.stats.TornSubs
	dst, end := s.r.decode(s.rr, p, s.final, dst)
	s.rr.pos = max(s.rr.pos, end)
	if s.rr.stats.Corrupt+s.rr.stats.TornSubs > left {
		if s.open = len(s.pieces) == 0; !s.open {
			s.gapBefore(&s.pieces[0])
		}
	}
	return dst, true
}

// copyAll copies what can be read of all sub-buffers, the oldest first.
func (rr *ringReader) copyAll(final bool) []piece {
	var pieces []piece
	before := rr.end()
	for i := range rr.size / rr.sub {
		p, torn := rr.copySub(i)
		for tries := 0; torn && tries < mostTries && !final; tries++ {
			runtime.Gosched()
			p, torn = rr.copySub(i)
		}
		if torn {
			rr.stats.TornSubs++
		}
		if p.pos >= before { // what is before it may have been copied before it was whole: for the next snapshot
			continue
		}
		if uint64(len(p.data)) > 0 && p.pos+uint64(len(p.data)) > rr.pos {
			pieces = append(pieces, p)
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.pos, b.pos) })
	return pieces
}

// Settled reports whether all that writers have reserved in a ring that is overwritten, and of which no entry has been claimed for
// nothing, is complete: no program is in a hit.
func (r *Reader) Settled(cpu int) bool {
	rr := &r.rings[cpu]
	end := rr.end()
	for i := range rr.size / rr.sub {
		e := entry(atomic.LoadUint64((*uint64)(unsafe.Add(rr.table, SubEntry*i))))
		if e.done() == rr.sub {
			continue
		}
		if (end-1)&(rr.size-1)/rr.sub != i || e.done() != (end-1)&(rr.sub-1)+1 {
			return false
		}
	}
	return rr.end() == end
}

// mostTries is how often a sub-buffer that writers are at is tried again.
const mostTries = 100

// copySub copies what can be read of a sub-buffer: see the reader's protocol. torn: it has more.
func (rr *ringReader) copySub(i uint64) (p piece, torn bool) {
	table := (*uint64)(unsafe.Add(rr.table, SubEntry*i))
	was := entry(atomic.LoadUint64(table))
	rr.pause()
	reserved := rr.end()
	if was.done() == 0 || reserved == 0 {
		return piece{}, false // nothing was ever stored here, or nothing of this turn is complete
	}
	p.pos = rr.wordAt(i*rr.sub + PacketPosition)
	begun := rr.wordAt(i*rr.sub) == PacketMagic && p.pos&(rr.size-1) == i*rr.sub
	n := rr.sub
	if was.done() != rr.sub {
		used := reserved - p.pos
		p.current = used <= rr.sub
		switch {
		case !begun:
			return piece{}, true
		case p.current && used == was.done(), rr.sequences:
			n = min(used, rr.sub)
		default:
			return piece{}, true
		}
	} else if !begun {
		return piece{}, false // it is of no turn yet
	}
	words := make([]uint64, rr.sub/8)
	for k := range words[:n/8] {
		rr.pause()
		words[k] = rr.wordAt(i*rr.sub + 8*uint64(k))
	}
	p.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), rr.sub)[:n&^7]
	rr.pause()
	if entry(atomic.LoadUint64(table)).base() != was.base() {
		return piece{}, true
	}
	return p, false
}

// pause is for tests.
func (rr *ringReader) pause() {
	if rr.between != nil {
		rr.between()
	}
}

// decode returns the records of a piece behind what was returned before, and the position up to which it has read.
func (r *Reader) decode(rr *ringReader, p piece, final bool, dst []byte) ([]byte, uint64) {
	before := len(dst)
	c := ringReader{data: unsafe.Pointer(unsafe.SliceData(p.data)), size: rr.sub, sub: rr.sub}
	end := uint64(len(p.data))
	n, dst, _ := r.decodeTo(&c, p.pos, 0, min(max(rr.pos, p.pos)-p.pos, end), true, dst)
	c.stats, dst = Stats{}, dst[:before]
	n, dst, unfinished := r.decodeTo(&c, p.pos, n, end, final || !p.current, dst)
	switch {
	case final:
		rr.stats.Torn += unfinished
	case unfinished > 0: // a thread completes it later: it is one of those that were replaced
		rr.stats.TornSubs++
	}
	rr.stats.Records += c.stats.Records
	rr.stats.Corrupt += c.stats.Corrupt
	rr.stats.Bytes += uint64(len(dst) - before)
	return dst, p.pos + n
}

// decodeTo reads what is from n to to in a copy that begins at pos. skip: it passes over events that are not complete.
// Otherwise it ends there.
func (r *Reader) decodeTo(c *ringReader, pos, n, to uint64, skip bool, dst []byte) (uint64, []byte, uint64) {
	unfinished := uint64(0)
	for n < to {
		var size uint64
		if size, dst = r.run(c, pos+n, to-n, dst); size == 0 {
			size, dst = r.read(c, pos+n, to-n, dst)
		}
		if size == 0 {
			if size = r.unfinished(c, pos+n, to-n); size != 0 && !skip {
				break
			}
			unfinished++
		}
		if size == 0 || size == damaged {
			c.stats.Corrupt++ // the program wrote into the ring
			return to, dst, unfinished
		}
		n += size
	}
	return n, dst, unfinished
}
