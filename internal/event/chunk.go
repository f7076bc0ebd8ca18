package event

import (
	"encoding/binary"
	"unsafe"

	"github.com/jalon-trace/jalon/internal/ring"
)

// chunks is the memory of records that wait: pieces of one size, which are used again. So what waits takes
// what it needs, and leaves no work for the garbage collector.
type chunks struct {
	list []chunk
	free []uint32 // numbers of those without records
	kept int      // of free, those that have memory
}

// chunk holds records of one ring, in the order in which they came.
type chunk struct {
	data []byte
	live int  // its records that wait
	open bool // more may be added
}

const (
	chunkSize = 64 << 10
	// keptChunks is how many chunks without records keep their memory: a reader that cannot follow fills them
	// again and again.
	keptChunks = MaxWaiting * 3 / 2 / chunkSize
	// noChunk is the number of none.
	noChunk = ^uint32(0)
)

// entrySize is the memory of an entry.
const entrySize = int(unsafe.Sizeof(entry{}))

// filling is a run of records that are to be copied to a chunk.
type filling struct {
	to   uint32 // the chunk
	base int    // the length of its data
	from int    // where the run begins in what is copied
	n    int    // records
}

// room returns the chunk for one more record of the run that ends at data[at:], and its offset there. If the
// chunk has no room, what belongs to it is copied, and another one is taken.
func (c *chunks) room(f *filling, data []byte, at, size int) (number, off uint32) {
	if f.to == noChunk || f.base+at-f.from+size > cap(c.list[f.to].data) {
		c.copy(f, data[:at])
		if f.to != noChunk {
			c.list[f.to].open = false
			c.release(f.to)
		}
		*f = filling{to: c.take(size), from: at}
	}
	f.n++
	return f.to, uint32(f.base + at - f.from)
}

// copy copies a run, which ends with data.
func (c *chunks) copy(f *filling, data []byte) {
	if f.n > 0 {
		k := &c.list[f.to]
		k.data = append(k.data, data[f.from:]...)
		k.live += f.n
	}
}

// fill begins a run.
func (c *chunks) fill(to uint32) filling {
	f := filling{to: to}
	if to != noChunk {
		f.base = len(c.list[to].data)
	}
	return f
}

// take returns a chunk for at least n bytes.
func (c *chunks) take(n int) uint32 {
	var to uint32
	if last := len(c.free) - 1; last >= 0 {
		to, c.free = c.free[last], c.free[:last]
	} else {
		to = uint32(len(c.list))
		c.list = append(c.list, chunk{})
	}
	k := &c.list[to]
	switch {
	case k.data != nil:
		c.kept--
		if n <= chunkSize {
			break
		}
		fallthrough
	default:
		k.data = make([]byte, 0, max(n, chunkSize))
	}
	k.open = true
	return to
}

// record is the record at an offset. Its size was checked when it was added.
func (c *chunks) record(number, off uint32) []byte {
	b := c.list[number].data[off:]
	return b[:binary.LittleEndian.Uint32(b[ring.RecSize:])]
}

// done notes that a record does not wait any more.
func (c *chunks) done(number uint32) {
	c.list[number].live--
	c.release(number)
}

// release makes a chunk without records free. One that is open is emptied.
func (c *chunks) release(number uint32) {
	k := &c.list[number]
	if k.live > 0 {
		return
	}
	k.data = k.data[:0]
	if k.open {
		return
	}
	if cap(k.data) > chunkSize || c.kept >= keptChunks {
		k.data = nil
	} else {
		c.kept++
	}
	c.free = append(c.free, number)
}
