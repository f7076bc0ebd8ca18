package ring

import "encoding/binary"

// The head of a record as the reader returns it:
//
//	+0  u32 size in bytes with this head, a multiple of 8
//	+4  u32 site id + 1
//	+8  u64 TSC at the hit; ControlClock then; or 0: see Clock
//	+16 u64 thread pointer (fs base) of the thread
//	+24 fields (Schema)
const (
	RecSize   = 0
	RecSite   = 4
	RecTSC    = 8
	RecThread = 16
	RecHeader = 24
)

// EventSizeShift is where the size is in the upper half of an event's word.
const EventSizeShift = siteBits

const (
	siteBits  = 21
	sizeBits  = 10
	sizeShift = 32 + siteBits
	largest   = 8 * (1<<sizeBits - 1) // event whose size is in its word
)

// SubSize is the size of the sub-buffers of a ring of this size: a power of two. There are MaxSubs at most.
func SubSize(ring uint64) uint64 { return min(max(ring/32, 512), max(128<<10, ring/MaxSubs)) }

// HeadOf is the size of the head of an event that becomes a record of this size.
func HeadOf(record uint64) uint64 {
	if record-RecHeader+EventHead <= largest {
		return EventHead
	}
	return 2 * EventHead
}

// EventWord is the upper half of the word of an event that takes size bytes in the ring, of which head are its head.
func EventWord(site uint32, size, head uint64) uint32 {
	if head > EventHead {
		size = 0
	}
	return site | uint32(size/8)<<siteBits
}

// LargestEvent is a bound of the room that a record of this size takes in a ring, with all heads.
func LargestEvent(record uint64) uint64 {
	return record - RecHeader + 2*EventHead + ContextSize + PacketHead
}

// appendRecord appends a record to dst: fields are an event's.
func appendRecord(dst []byte, site uint32, time, thread uint64, fields []byte) []byte {
	var head [RecHeader]byte
	binary.LittleEndian.PutUint64(head[:], uint64(RecHeader+len(fields))|uint64(site+1)<<32)
	binary.LittleEndian.PutUint64(head[RecTSC:], time)
	binary.LittleEndian.PutUint64(head[RecThread:], thread)
	return append(append(dst, head[:]...), fields...)
}
