package ebpf

import (
	"encoding/binary"
	"fmt"
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ring"
)

// overState is how a ring that is overwritten was before a run.
type overState struct {
	reserved uint64
	near     bool // there is a context of this thread
	complete bool // so is all before the position in its sub-buffer
	next     uint64
	table    [testOver / testOverSub]uint64
}

const testOverSub = testOver / 32 // ring.SubSize

// prepareOver gives CPU 0's ring older contents, and a table where the sub-buffer of the position is of the present turn and others are
// complete, or not. Without room none is.
func (m *machine) prepareOver(l *ring.Layout, r *rand.Rand, pos uint64, room bool) {
	data := m.mem[l.Rings+ring.RingData:][:l.RingSize+testSlack]
	at := pos & (l.RingSize - 1)
	for _, from := range []uint64{at &^ (testOverSub - 1), (at + testOverSub) & (l.RingSize - 1) &^ (testOverSub - 1)} {
		for i := from; i < from+testOverSub; i += 8 {
			binary.LittleEndian.PutUint64(data[i:], r.Uint64())
		}
	}
	o := &m.over
	*o = overState{reserved: pos, complete: r.Intn(4) != 0}
	in := pos & (testOverSub - 1)
	if room && in >= ring.PacketHead+ring.ContextSize && r.Intn(4) != 0 {
		o.near, o.reserved = true, m.putContext(l, pos)
	}
	for i := range o.table {
		base, done := r.Uint32(), uint32(testOverSub/8)
		switch {
		case in != 0 && uint64(i) == at/testOverSub:
			if done = uint32(in / 8); !o.complete {
				done -= 1 + uint32(r.Intn(int(done)))
			}
		case !room || r.Intn(3) == 0 && i%4 != 0:
			done = uint32(r.Intn(testOverSub / 8))
		}
		o.table[i] = uint64(base)<<32 | uint64(base+done)
	}
	o.next = ^uint64(0)
	for start, turn := (pos+testOverSub-1)&^(testOverSub-1), 0; start-pos <= l.RingSize/2 && turn < overTries; start, turn = start+testOverSub, turn+1 {
		if e := o.table[start&(l.RingSize-1)/testOverSub]; uint32(e)-uint32(e>>32) == testOverSub/8 {
			o.next = start
			break
		}
	}
	binary.LittleEndian.PutUint64(m.mem[l.Rings+ring.RingReserved:], o.reserved)
	for i, e := range o.table {
		binary.LittleEndian.PutUint64(m.mem[l.Rings+ring.SubTable+8*uint64(i):], e)
	}
}

// takeOver is take for a ring that is overwritten. All of the ring must be as the protocol leaves it.
func (m *machine) takeOver(l *ring.Layout, pos, size uint64) (rec []byte, err error) {
	o, data := &m.over, m.mem[l.Rings+ring.RingData:]
	word := func(pos uint64) uint64 { return binary.LittleEndian.Uint64(data[pos&(l.RingSize-1):]) }
	want := o.table
	add := func(pos, bytes uint64) {
		e := &want[pos&(l.RingSize-1)/testOverSub]
		*e = *e>>32<<32 | uint64(uint32(*e)+uint32(bytes/8))
	}
	if size != 0 {
		at := pos
		if rest := -pos & (testOverSub - 1); size > rest || rest == 0 {
			if at = o.next; at == ^uint64(0) || size <= at-pos {
				return nil, fmt.Errorf("reserved %d bytes at %#x; the next sub-buffer is at %#x", size, pos, at)
			}
			if word(at) != ring.PacketMagic || word(at+ring.PacketPosition) != at || word(at+ring.PacketBefore) != pos || word(at+ring.PacketBegin) == 0 {
				return nil, fmt.Errorf("sub-buffer at %#x, head %x", at, data[at&(l.RingSize-1):][:ring.PacketHead])
			}
			if rest != 0 {
				if word(pos) != rest<<32|ring.KindFiller<<ring.WordKind {
					return nil, fmt.Errorf("the filler of %d bytes at %#x is %#x", rest, pos, word(pos))
				}
				add(pos, rest)
			}
			m.overBegun++
			if at-pos > testOverSub {
				m.overPassed++
			}
			e := &want[at&(l.RingSize-1)/testOverSub]
			*e = *e<<32 | uint64(uint32(*e))
			add(at, ring.PacketHead)
			at += ring.PacketHead
		}
		n := uint64(0)
		if w := word(at); w>>ring.WordKind&31 == ring.KindContext {
			if n = w >> 32; word(at+ring.ContextTime)&ring.WordClock != w&ring.WordClock || word(at+ring.ContextSize)&ring.WordClock != w&ring.WordClock {
				return nil, fmt.Errorf("words %#x, %#x of an event", w, word(at+ring.ContextSize))
			}
			m.last[0].time, m.last[0].thread = word(at+ring.ContextTime), word(at+ring.ContextThread)
			add(at, ring.ContextSize)
			at += ring.ContextSize
		} else if m.overNear++; !o.near || !o.complete {
			return nil, fmt.Errorf("an event without context, though none could be used: %+v", o)
		}
		rec, got, err := m.event(data[at&(l.RingSize-1):][:testOverSub])
		if err != nil || n != 0 && n != got || at+got != pos+size {
			return nil, fmt.Errorf("an event of %d bytes at %#x with a context of one of %d, of %d bytes at %#x: %v", got, at, n, size, pos, err)
		}
		add(at, got)
		return m.head(0, rec), m.checkTable(l, &want)
	}
	return nil, m.checkTable(l, &want)
}

func (m *machine) checkTable(l *ring.Layout, want *[testOver / testOverSub]uint64) error {
	for i, e := range want {
		if got := binary.LittleEndian.Uint64(m.mem[l.Rings+ring.SubTable+8*uint64(i):]); got != e {
			return fmt.Errorf("entry %d of the table is %#x, want %#x", i, got, e)
		}
	}
	return nil
}
