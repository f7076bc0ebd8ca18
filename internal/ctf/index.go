package ctf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// index reads the heads of the packets. It returns what else is in the file, in words. Where packets have checksums, those behind something
// that is damaged are found again.
func (s *streamFile) index(uuid [16]byte) (bad []string) {
	note := func(at int64, why string) {
		if len(bad) < maxDamage {
			bad = append(bad, fmt.Sprintf("at %d: %s", at, why))
		}
	}
	size := s.file.Size()
	for at := int64(0); at < size; {
		p, why := s.head(at, size, uuid)
		if why == "" {
			if s.packets, why = follow(s.packets, p); why != "" {
				note(at, why)
				s.holes = true
				if !s.chunk.checked {
					return bad
				}
			}
			at += int64(p.size)
			continue
		}
		next := int64(-1)
		if s.chunk.checked {
			next = nextPacket(s.file, at+1, uuid, true)
		}
		if next < 0 {
			note(at, why)
			return bad
		}
		note(at, fmt.Sprintf("%s; %d bytes are left out", why, next-at))
		s.holes = true
		at = next
	}
	return bad
}

// head reads the head of the packet at a position. why is the reason if no whole packet begins there.
func (s *streamFile) head(at, size int64, uuid [16]byte) (p packet, why string) {
	var head [packetHead]byte
	if n, err := s.file.ReadAt(head[:], at); n < packetHead {
		if err == nil || errors.Is(err, io.EOF) {
			return p, fmt.Sprintf("%d bytes at the end are a part of a packet", size-at)
		}
		return p, err.Error()
	}
	p, class, number, cpu, why := parseHead(head[:], uuid, s.chunk.checked)
	p.at = at
	switch {
	case why != "":
	case int64(p.size) > size-at:
		why = fmt.Sprintf("%d bytes at the end are a part of a packet of %d", size-at, p.size)
	case len(s.packets) == 0:
		s.class, s.number, s.cpu = class, number, cpu
	case class != s.class || number != s.number:
		why = "a packet of another stream"
	}
	return p, why
}

// follow adds a packet to those before it, if it can be behind them.
func follow(list []packet, p packet) (all []packet, why string) {
	if len(list) > 0 {
		switch last := &list[len(list)-1]; {
		case p.begin < last.end:
			return list, "a packet begins before the one before it ends"
		case p.seq <= last.seq:
			return list, "a packet is not behind the one before it"
		case p.seq > last.seq+1:
			why = fmt.Sprintf("%d packets are missing", p.seq-last.seq-1)
		}
	}
	return append(list, p), why
}

// nextPacket returns the position of the first packet of a trace that begins at from or later, -1 if no packet does.
func nextPacket(f io.ReaderAt, from int64, uuid [16]byte, checked bool) int64 {
	if x, ok := f.(*framesSource); ok {
		i, _ := slices.BinarySearch(x.at, from)
		if i < len(x.at)-1 {
			return x.at[i]
		}
		return -1
	}
	buf := make([]byte, 1<<20)
	for ; ; from += int64(len(buf)) - packetHead {
		n, err := f.ReadAt(buf, from)
		for i := 0; i+packetHead <= n; i++ {
			if buf[i] == magic&0xff && buf[i+1] == magic>>8&0xff {
				if _, _, _, _, why := parseHead(buf[i:i+packetHead], uuid, checked); why == "" {
					return from + int64(i)
				}
			}
		}
		if err != nil {
			return -1
		}
	}
}

func parseHead(b []byte, uuid [16]byte, checked bool) (p packet, class Class, number uint64, cpu int, why string) {
	u32 := func(off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	content, size := u64(packetContent), u64(packetSize)
	p = packet{begin: int64(u64(packetBegin)), end: int64(u64(packetEnd)), lost: u64(packetLost), seq: u64(packetNumber), pid: int(int32(u32(packetPid)))}
	if checked {
		p.seq, p.sum, content = uint64(u32(packetNumber)), u32(packetSum), uint64(u32(packetContent))
	}
	class = Class(u32(packetClass))
	switch {
	case u32(0) != magic:
		why = "this is not a packet"
	case checked && u32(packetHeadSum) != headSum(b):
		why = "the head of a packet is damaged"
	case [16]byte(b[packetUUID:packetUUID+16]) != uuid:
		why = "a packet of another trace"
	case class >= classes:
		why = fmt.Sprintf("a stream of an unknown class %d", class)
	case content != size || size&7 != 0 || size < 8*packetHead || size > 8*maxPacket:
		why = fmt.Sprintf("a packet cannot have %d bits", size)
	case p.begin < 0 || p.end < p.begin:
		why = "the times of a packet are not possible"
	}
	p.size = int(size / 8)
	return p, class, u64(packetStream), int(u32(packetCPU)), why
}
