package experiment

import (
	"slices"
	"sort"
)

// buffer holds the frames of a run, the oldest first, as qTBuffer and trace files
// have them. Frames lie in chunks, each with a table of what the format has no room
// for; a circular buffer drops frames at the front of the first chunk, and the chunk
// when it is empty. Memory is what the frames cost, and two chunks.
//
//	chunk: data    |frame|frame|frame ...
//	       static  |text |     |text  ...
//	       entries |where both begin, pc, time, ...
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
}

// entry is what a frame has beside its bytes.
type entry struct {
	pc, time    uint64 // pc 0: not known
	raw, static uint32 // where they begin in the chunk
	tp, regs    uint32 // indices of the tracepoint, and of the set of known registers
	tid         int32
	cpu         int16
	step        bool
}

// frameCost is what a frame takes beside its bytes: the size of an entry. It counts,
// so that a buffer full of small frames is no larger in memory than it says.
const frameCost = 40

// chunkSize is what the frames of a chunk may cost together; one frame may be more.
const chunkSize = 256 << 10

type chunk struct {
	first   uint64 // number of the first frame, counted from the start of the run
	raw     uint64 // where its bytes begin, counted likewise
	data    []byte
	static  []byte
	entries []entry
}

func (c *chunk) cost() int { return len(c.data) + len(c.static) + len(c.entries)*frameCost }

// frame gives the bytes of frame i.
func (c *chunk) frame(i int) (raw, static []byte) {
	e := &c.entries[i]
	endRaw, endStatic := len(c.data), len(c.static)
	if i+1 < len(c.entries) {
		endRaw, endStatic = int(c.entries[i+1].raw), int(c.entries[i+1].static)
	}
	return c.data[e.raw:endRaw], c.static[e.static:endStatic]
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

// add appends a frame and reports whether there was room. A circular buffer makes
// some.
func (b *buffer) add(raw []byte, static string, e entry) bool {
	cost := int64(len(raw) + len(static) + frameCost)
	if cost > b.size {
		return false
	}
	for b.used+cost > b.size {
		if !b.circular {
			return false
		}
		b.drop()
	}
	c := b.tail(int(cost))
	e.raw, e.static = uint32(len(c.data)), uint32(len(c.static))
	c.data = append(c.data, raw...)
	c.static = append(c.static, static...)
	c.entries = append(c.entries, e)
	b.used += cost
	b.count++
	b.created++
	for int(e.tp) >= len(b.usage) {
		b.usage = append(b.usage, 0)
	}
	b.usage[e.tp] += cost
	return true
}

// tail is the chunk for a further frame.
func (b *buffer) tail(cost int) *chunk {
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
	c.raw = last.raw + uint64(len(last.data))
	if c.data == nil { // the next frames will be of the same kind
		c.data = make([]byte, 0, len(last.data))
		c.static = make([]byte, 0, len(last.static))
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
	*c = chunk{data: c.data[:0], static: c.static[:0], entries: c.entries[:0]}
	return c
}

// drop forgets the oldest frame.
func (b *buffer) drop() {
	c := b.chunks[0]
	raw, static := c.frame(b.head)
	cost := int64(len(raw) + len(static) + frameCost)
	b.used -= cost
	b.usage[c.entries[b.head].tp] -= cost
	b.count--
	b.head++
	if b.head < len(c.entries) {
		return
	}
	b.head = 0
	if len(b.chunks) == 1 {
		// Numbers and offsets go on behind it.
		c.first += uint64(len(c.entries))
		c.raw += uint64(len(c.data))
		c.data, c.static, c.entries = c.data[:0], c.static[:0], c.entries[:0]
		return
	}
	b.chunks = slices.Delete(b.chunks, 0, 1)
	b.spare = c
}

// oldest is the number of the first frame, counted from the start of the run.
func (b *buffer) oldest() uint64 { return b.created - uint64(b.count) }

// at finds frame n, counted from the oldest.
func (b *buffer) at(n int) (c *chunk, i int) {
	abs := b.oldest() + uint64(n)
	k := sort.Search(len(b.chunks), func(k int) bool { return b.chunks[k].first > abs }) - 1
	c = b.chunks[k]
	return c, int(abs - c.first)
}

// each calls f with the frames from number n on until it returns false.
func (b *buffer) each(n int, f func(n int, e *entry) bool) {
	if n < 0 || n >= b.count {
		return
	}
	c, i := b.at(n)
	k := slices.Index(b.chunks, c)
	for {
		for ; i < len(c.entries); i++ {
			if !f(n, &c.entries[i]) {
				return
			}
			n++
		}
		if k++; k == len(b.chunks) {
			return
		}
		c, i = b.chunks[k], 0
	}
}

// rawHead is where the bytes of the oldest frame begin in the first chunk.
func (b *buffer) rawHead() uint32 {
	c := b.chunks[0]
	if b.head == len(c.entries) {
		return uint32(len(c.data)) // an empty buffer
	}
	return c.entries[b.head].raw
}

// rawOldest is where the bytes of all frames begin, counted from the start of the
// run.
func (b *buffer) rawOldest() uint64 {
	if len(b.chunks) == 0 {
		return 0
	}
	return b.chunks[0].raw + uint64(b.rawHead())
}

// rawSize is how many bytes all frames have.
func (b *buffer) rawSize() uint64 {
	if len(b.chunks) == 0 {
		return 0
	}
	last := b.chunks[len(b.chunks)-1]
	return last.raw + uint64(len(last.data)) - b.rawOldest()
}

// read appends the bytes of all frames from offset on, at most n.
func (b *buffer) read(dst []byte, offset, n uint64) []byte {
	if size := b.rawSize(); offset >= size {
		return dst
	} else if n > size-offset {
		n = size - offset
	}
	abs := b.rawOldest() + offset
	k := sort.Search(len(b.chunks), func(k int) bool { return b.chunks[k].raw > abs }) - 1
	for ; n > 0; k++ {
		c := b.chunks[k]
		part := c.data[abs-c.raw:]
		part = part[:min(n, uint64(len(part)))]
		dst = append(dst, part...)
		abs += uint64(len(part))
		n -= uint64(len(part))
	}
	return dst
}
