package ctf

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/jalon-trace/jalon/internal/event"
)

// Class is a class of streams.
type Class uint32

// The classes.
const (
	Process Class = iota // events of the engine in the process
	Kernel               // events of the kernel engine
	State                // what events refer to
	classes
)

var classNames = [classes]string{"process", "kernel", "state"}

func (c Class) String() string { return classNames[c] }

// The head of a packet, packet.header and packet.context:
//
//	+0   u32 magic, +4 uuid, +20 u32 class, +24 u64 number of the stream in its class
//	+32  u64 begin, end, +48 u32 size of the contents in bits, +52 u32 checksum of the head, +56 u64 size of the packet in bits
//	+64  u32 number of the packet, +68 u32 checksum of the contents, +72 u64 events discarded
//	+80  u32 cpu, +84 s32 pid
//
// The checksums are CRC-32C; that of the head is over the head with zeros in its place. Traces of version 1 (FileInfo.Version) have no
// checksums, and 64 bits of the numbers before them.
const (
	magic = 0xC1FC1FC1

	packetUUID    = 4
	packetClass   = 20
	packetStream  = 24
	packetBegin   = 32
	packetEnd     = 40
	packetContent = 48
	packetHeadSum = 52
	packetSize    = 56
	packetNumber  = 64
	packetSum     = 68
	packetLost    = 72
	packetCPU     = 80
	packetPid     = 84
	packetHead    = 88
)

// fullPacket is the size from which a packet is complete.
const fullPacket = 256 << 10

// The heads of events. Ids and times that do not fit have extended, and then a u32 id and a u64 time.
const (
	compactIDs, compactTime = 5, 27
	largeIDs, largeTime     = 16, 32
)

// Stream makes the packets of one ring.
type Stream struct {
	class  Class
	number uint64
	uuid   [16]byte
	large  bool
	cpu    int
	pid    int

	buf   []byte // the packet that is being filled, from its head on; empty: none
	begin uint64
	last  uint64 // time of the last event
	seq   uint64
	lost  uint64

	// Back is the longest time by which an event was earlier than the one before it in its ring, and got that one's time.
	Back uint64
}

// NewStream returns the stream of a class with this number. large: heads for many sites.
func NewStream(uuid [16]byte, class Class, number uint64, cpu, pid int, large bool) *Stream {
	return &Stream{uuid: uuid, class: class, number: number, cpu: cpu, pid: pid, large: large}
}

// head begins an event: it returns the packet with the event's head.
func (s *Stream) head(id uint32, time uint64) []byte {
	if time < s.last {
		s.Back = max(s.Back, s.last-time)
		time = s.last
	}
	if len(s.buf) == 0 {
		if s.buf == nil {
			s.buf = make([]byte, 0, fullPacket+fullPacket/4)
		}
		s.buf = s.buf[:packetHead]
		s.begin = time
		s.last = time
	}
	b, passed := s.buf, time-s.last
	s.last = time
	if s.large {
		if id < 1<<largeIDs-1 && passed < 1<<largeTime {
			b = binary.LittleEndian.AppendUint16(b, uint16(id))
			return binary.LittleEndian.AppendUint32(b, uint32(time))
		}
		b = binary.LittleEndian.AppendUint16(b, 1<<largeIDs-1)
	} else {
		if id < 1<<compactIDs-1 && passed < 1<<compactTime {
			return binary.LittleEndian.AppendUint32(b, id|uint32(time)<<compactIDs)
		}
		b = append(b, 1<<compactIDs-1)
	}
	b = binary.LittleEndian.AppendUint32(b, id)
	return binary.LittleEndian.AppendUint64(b, time)
}

// Event adds an event. rec is its record.
func (s *Stream) Event(x *Site, time int64, pid, tid int, rec []byte, stacks Interner) {
	b := binary.LittleEndian.AppendUint32(s.head(x.plan.schema.SiteID, uint64(time)), uint32(tid))
	if s.class == Kernel {
		b = binary.LittleEndian.AppendUint32(b, uint32(pid))
	}
	if x.plan.plain {
		s.buf = append(b, rec[x.plan.from:x.plan.from+x.plan.size]...)
		return
	}
	s.buf = x.plan.encode(b, rec, stacks)
}

// Full reports whether the packet should be taken.
func (s *Stream) Full() bool { return len(s.buf) >= fullPacket }

// Empty reports whether there is no packet.
func (s *Stream) Empty() bool { return len(s.buf) == 0 }

// Last is the time of the last event.
func (s *Stream) Last() int64 { return int64(s.last) }

// Take ends the packet. lost is how many events the stream has discarded so far. The packet is the caller's; the next one is made in
// the memory of next, if that is not nil.
func (s *Stream) Take(lost uint64, next []byte) []byte {
	b := s.buf
	s.lost = max(s.lost, lost)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
	binary.LittleEndian.PutUint32(b, magic)
	copy(b[packetUUID:], s.uuid[:])
	binary.LittleEndian.PutUint32(b[packetClass:], uint32(s.class))
	put(packetStream, s.number)
	put(packetBegin, s.begin)
	put(packetEnd, s.last)
	binary.LittleEndian.PutUint32(b[packetContent:], 8*uint32(len(b)))
	put(packetSize, 8*uint64(len(b)))
	binary.LittleEndian.PutUint32(b[packetNumber:], uint32(s.seq))
	put(packetLost, s.lost)
	binary.LittleEndian.PutUint32(b[packetCPU:], uint32(s.cpu))
	binary.LittleEndian.PutUint32(b[packetPid:], uint32(s.pid))
	binary.LittleEndian.PutUint32(b[packetSum:], contentSum(b))
	binary.LittleEndian.PutUint32(b[packetHeadSum:], headSum(b))
	s.seq++
	s.buf = next[:0]
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// contentSum is the checksum of what a packet has behind its head.
func contentSum(b []byte) uint32 { return crc32.Checksum(b[packetHead:], castagnoli) }

// headSum is the checksum of the head of a packet.
func headSum(b []byte) uint32 {
	sum := crc32.Update(0, castagnoli, b[:packetHeadSum])
	return crc32.Update(crc32.Update(sum, castagnoli, make([]byte, 4)), castagnoli, b[packetHeadSum+4:packetHead])
}

// Site is a site whose events a Stream takes.
type Site struct{ plan *plan }

// NewSite returns a site with this schema.
func NewSite(s *event.Schema) (*Site, error) {
	p := newPlan(s)
	return &Site{p}, p.check()
}

// Size is the size of an event of two heads' worth: the least that an event takes in a trace, with its thread.
func (x *Site) Size() int {
	if x.plan.plain {
		return 8 + x.plan.size
	}
	return 8 + x.plan.least
}

// Mark begins a packet without events, of which the losses are of interest.
func (s *Stream) Mark(time int64) {
	if len(s.buf) > 0 {
		return
	}
	s.buf = append(s.buf[:0], make([]byte, packetHead)...)
	s.last = max(s.last, uint64(time))
	s.begin = s.last
}
