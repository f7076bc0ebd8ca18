package ring

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// form is the one form that most events of a site have: a complete event of the known size, whose size is in its word.
type form struct {
	word uint32 // the upper half of its word
	size uint32 // in the ring
}

// noForm is the form of a site whose size is not known, or not in the word: no word of the site has this upper half.
func noForm(site uint32) form { return form{word: ^site} }

func formOf(site, record uint32) form {
	if record < RecHeader || record&7 != 0 || HeadOf(uint64(record)) != EventHead {
		return noForm(site)
	}
	size := record - RecHeader + EventHead
	return form{word: EventWord(site, uint64(size), EventHead), size: size}
}

// mostGrown is how many times longer records can be than what they were in the ring.
const mostGrown = RecHeader / EventHead

// run reads what most of a ring consists of, from pos to the end of its sub-buffer at most: events of their sites' forms,
// and contexts with such an event behind them. It returns the size of what it has read. One comparison checks all of an
// event's word but its time: it is an event, of a site that there is, complete, and of the right size. What is anything
// else is left to read.
func (r *Reader) run(rr *ringReader, pos, limit uint64, dst []byte) (uint64, []byte) {
	limit = min(limit, rr.sub-pos&(rr.sub-1))
	if !rr.known && r.contextAt(rr, pos, limit) == 0 {
		return 0, dst
	}
	dst = slices.Grow(dst, int(limit)*mostGrown)
	data := unsafe.Add(rr.data, pos&(rr.size-1)) // a sub-buffer does not go on at the start of the data
	out := unsafe.Add(unsafe.Pointer(unsafe.SliceData(dst)), len(dst))
	n, written, records := uint64(0), uint64(0), uint64(0)
	forms, time, thread := r.forms, rr.time&^WordClock, rr.thread
	for n < limit {
		word := atomic.LoadUint64((*uint64)(unsafe.Add(data, n)))
		site := uint32(word>>32) & (1<<siteBits - 1)
		if word>>WordKind&31 != KindEvent || uint64(site) >= uint64(len(forms)) {
			size := r.contextAt(rr, pos+n, limit-n)
			if size == 0 {
				break
			}
			n, time, thread = n+size, rr.time&^WordClock, rr.thread
			continue
		}
		f := forms[site]
		size := uint64(f.size)
		if uint32(word>>32) != f.word || size > limit-n {
			break
		}
		head := (*[RecHeader / 8]uint64)(unsafe.Add(out, written))
		head[0] = size + RecHeader - EventHead | uint64(site+1)<<32
		head[1] = time | word&WordClock
		head[2] = thread
		rr.last = head[1]
		copyWords(unsafe.Add(out, written+RecHeader), unsafe.Add(data, n+EventHead), size-EventHead)
		n, written, records = n+size, written+size+RecHeader-EventHead, records+1
	}
	rr.stats.Records += records
	return n, dst[:len(dst)+int(written)]
}

// contextAt reads a context, if there is one with a complete event of the site's form behind it. It returns its size, or 0.
func (r *Reader) contextAt(rr *ringReader, pos, limit uint64) uint64 {
	if limit < ContextSize+EventHead {
		return 0
	}
	word, behind := rr.wordAt(pos), rr.wordAt(pos+ContextSize)
	site := uint32(behind>>32) & (1<<siteBits - 1)
	if word>>WordKind&31 != KindContext || behind>>WordKind&31 != KindEvent || uint64(site) >= uint64(len(r.forms)) {
		return 0
	}
	f := r.forms[site]
	if uint32(behind>>32) != f.word || word>>32 != uint64(f.size) || uint64(f.size) > limit-ContextSize {
		return 0
	}
	rr.context(pos)
	return ContextSize
}

// copyWords copies n bytes, a multiple of 8.
func copyWords(to, from unsafe.Pointer, n uint64) {
	if n > 64 {
		copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
		return
	}
	for i := uint64(0); i < n; i += 8 {
		*(*uint64)(unsafe.Add(to, i)) = *(*uint64)(unsafe.Add(from, i))
	}
}
