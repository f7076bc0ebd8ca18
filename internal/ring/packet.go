package ring

import (
	"encoding/binary"
	"fmt"
)

// A sub-buffer has the form of a packet of a CTF trace (version 1.8): 27 bits of a clock in each event's head, and a head whose
// fields are in the order of CTF's. A recorder copies it as it is; FillPacket stores what is known only when it has ended. In CTF's
// terms:
//
//	packet.header   u32 magic, u32 stream id (0)
//	packet.context  u64 timestamp_begin, timestamp_end, content_size and packet_size in bits, events_discarded, position, cpu_id

// PacketCPU is where FillPacket stores the number of the CPU, over PacketBefore.
const PacketCPU = PacketBefore

// Packet is what the head of a sub-buffer says.
type Packet struct {
	Begin    uint64 // time of its first event
	Lost     uint64 // hits that the ring had no room for, of all time up to then
	Position uint64 // where it begins, of all bytes of the ring
	Before   uint64 // where the sub-buffer before ends: the rest of that is a filler
}

// ReadPacket reads the head of a sub-buffer. ok: it is one that can be at a multiple of its size.
func ReadPacket(sub []byte) (p Packet, ok bool) {
	if len(sub) < PacketHead || binary.LittleEndian.Uint64(sub) != PacketMagic {
		return Packet{}, false
	}
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(sub[off:]) }
	p = Packet{Begin: word(PacketBegin), Lost: word(PacketLost), Position: word(PacketPosition), Before: word(PacketBefore)}
	return p, p.Position%uint64(len(sub)) == 0
}

// FillPacket makes the copy of a sub-buffer, all of whose events are complete, a packet. next is the head of the one behind it in
// the ring; for the newest: the present time, what is lost by now, and as Before the end of what it has. It decodes nothing.
func FillPacket(sub []byte, next Packet, cpu uint64) error {
	p, ok := ReadPacket(sub)
	content := next.Before - p.Position
	switch {
	case !ok:
		return fmt.Errorf("ring: %d bytes that begin with %x are no sub-buffer", len(sub), sub[:min(len(sub), 8)])
	case content < PacketHead || content > uint64(len(sub)) || content&7 != 0:
		return fmt.Errorf("ring: the sub-buffer at %#x cannot end at %#x", p.Position, next.Before)
	case next.Lost < p.Lost || next.Begin < p.Begin:
		return fmt.Errorf("ring: the sub-buffer at %#x begins at %d with %d lost, and what is behind it at %d with %d", p.Position, p.Begin, p.Lost, next.Begin, next.Lost)
	}
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(sub[off:], v) }
	put(PacketEnd, next.Begin)
	put(PacketContent, 8*content)
	put(PacketSize, 8*uint64(len(sub)))
	put(PacketLost, next.Lost)
	put(PacketCPU, cpu)
	return nil
}
