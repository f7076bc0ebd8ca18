package experiment

import (
	"encoding/binary"
	"sort"
)

// buffer holds the frames of a run, the oldest first, as the engine gave them. Frames
// lie in chunks; a circular buffer drops frames at the front of the first chunk, and
// the chunk when it is empty. Memory is what the frames cost, and two chunks.
//
//	chunk: data    |bytes|bytes|bytes ...
//	       entries |where they begin, what they are, time, ...
type buffer struct {
	size     int64
	circular bool

	chunks  []*chunk
	head    int    // the oldest frame's index in the first chunk
	count   int    // frames
	created uint64 // since the start of the run
	used    int64  // what frames cost, together
	usage   []int64
	spare   *chunk
	forms   forms
}

// entry is what a frame has beside its bytes.
type entry struct {
	time uint64 // nanoseconds since the epoch
	at   uint32 // where its bytes begin in the chunk
	form uint32 // index of what they are
	tid  int32
	cpu  int16
	tail tail
}

// frameCost is what a frame takes beside its bytes: the size of an entry. It counts,
// so that a buffer full of small frames is no larger in memory than it says.
const frameCost = 24

// chunkSize is what the frames of a chunk may cost together; one frame may be more.
const chunkSize = 256 << 10

type chunk struct {
	first   uint64 // number of the first frame, counted from the start of the run
	data    []byte
	entries []entry
}

func (c *chunk) cost() int { return len(c.data) + len(c.entries)*frameCost }

// bytes are those of frame i.
func (c *chunk) bytes(i int) []byte {
	end := len(c.data)
	if i+1 < len(c.entries) {
		end = int(c.entries[i+1].at)
	}
	return c.data[c.entries[i].at:end]
}

// clear empties the buffer.
func (b *buffer) clear() { *b = buffer{size: b.size, circular: b.circular} }

// resize sets the size. The oldest frames go if they have no room any more.
func (b *buffer) resize(size int64) {
	b.size = size
	for b.used > size {
		b.drop()
	}
}

// room is how much more it holds.
func (b *buffer) room() int64 {
	if b.circular {
		return NoLimit
	}
	return b.size - b.used
}

// add appends a frame, whose bytes are body and tail, and reports whether there was
// room. A circular buffer makes some.
func (b *buffer) add(e entry, body, tail []byte) bool {
	cost := int64(len(body) + len(tail) + frameCost)
	if cost > b.size {
		return false
	}
	for b.used+cost > b.size {
		if !b.circular {
			return false
		}
		b.drop()
	}
	c := b.last(int(cost))
	e.at = uint32(len(c.data))
	c.data = append(c.data, body...)
	if len(tail) > 0 {
		c.data = append(c.data, tail...)
	}
	c.entries = append(c.entries, e)
	b.used += cost
	b.count++
	b.created++
	*b.usageOf(e.form) += cost
	return true
}

// usageOf is where the cost of a form's frames is added up: by tracepoint.
func (b *buffer) usageOf(form uint32) *int64 {
	tp := int(b.forms.list[form].tp)
	for tp >= len(b.usage) {
		b.usage = append(b.usage, 0)
	}
	return &b.usage[tp]
}

// last is the chunk for a further frame.
func (b *buffer) last(cost int) *chunk {
	if len(b.chunks) == 0 {
		c := b.fresh()
		b.chunks = append(b.chunks, c)
		return c
	}
	last := b.chunks[len(b.chunks)-1]
	if last.cost()+cost <= chunkSize {
		return last
	}
	c := b.fresh()
	c.first = last.first + uint64(len(last.entries))
	if c.data == nil { // the next frames will be of the same kind
		c.data = make([]byte, 0, len(last.data))
		c.entries = make([]entry, 0, len(last.entries))
	}
	b.chunks = append(b.chunks, c)
	return c
}

func (b *buffer) fresh() *chunk {
	c := b.spare
	if b.spare = nil; c == nil {
		return &chunk{}
	}
	*c = chunk{data: c.data[:0], entries: c.entries[:0]}
	return c
}

// drop forgets the oldest frame.
func (b *buffer) drop() {
	c := b.chunks[0]
	cost := int64(len(c.bytes(b.head)) + frameCost)
	b.used -= cost
	*b.usageOf(c.entries[b.head].form) -= cost
	b.count--
	b.head++
	if b.head < len(c.entries) {
		return
	}
	b.head = 0
	if len(b.chunks) == 1 {
		c.first += uint64(len(c.entries)) // numbers go on behind it
		c.data, c.entries = c.data[:0], c.entries[:0]
		return
	}
	b.chunks[0] = nil
	b.chunks = b.chunks[1:]
	b.spare = c
}

// oldest is the number of the first frame, counted from the start of the run.
func (b *buffer) oldest() uint64 { return b.created - uint64(b.count) }

// at finds frame n, counted from the oldest: it is the i-th of chunk k.
func (b *buffer) at(n int) (k, i int) {
	abs := b.oldest() + uint64(n)
	k = sort.Search(len(b.chunks), func(k int) bool { return b.chunks[k].first > abs }) - 1
	return k, int(abs - b.chunks[k].first)
}

// frame gives frame n, counted from the oldest.
func (b *buffer) frame(n int) frame {
	k, i := b.at(n)
	c := b.chunks[k]
	return b.forms.frame(&c.entries[i], c.bytes(i))
}

// each calls f with the frames, the oldest first, until it returns false.
func (b *buffer) each(f func(*frame) bool) {
	i := b.head
	for _, c := range b.chunks {
		for ; i < len(c.entries); i++ {
			fr := b.forms.frame(&c.entries[i], c.bytes(i))
			if !f(&fr) {
				return
			}
		}
		i = 0
	}
}

// find gives the first frame from number n on that is wanted; -1: there is none.
func (b *buffer) find(n int, w wanted) int {
	if n < 0 || n >= b.count {
		return -1
	}
	verdicts := make([]verdict, len(b.forms.list))
	for i, f := range b.forms.list {
		verdicts[i] = w.form(f)
	}
	k, i := b.at(n)
	for ; k < len(b.chunks); k++ {
		c := b.chunks[k]
		for ; i < len(c.entries); i++ {
			e := &c.entries[i]
			v := verdicts[e.form]
			if v == perhaps {
				v = w.pc(b.pc(c, i))
			}
			if v == yes {
				return int(c.first + uint64(i) - b.oldest())
			}
		}
		i = 0
	}
	return -1
}

// pc is that of frame i of a chunk.
func (b *buffer) pc(c *chunk, i int) uint64 {
	e := &c.entries[i]
	if f := b.forms.list[e.form]; f.rip >= 0 {
		return binary.LittleEndian.Uint64(c.data[int(e.at)+f.rip:])
	}
	f := b.forms.frame(e, c.bytes(i))
	return f.pc
}
