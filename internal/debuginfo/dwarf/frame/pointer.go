package frame

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Pointer encodings of .eh_frame (Linux Standard Base, section 10.5.1).
const (
	peOmit     = 0xff
	pePCRel    = 0x10
	peDataRel  = 0x30
	peIndirect = 0x80
)

// pointer reads an encoded pointer. ok is false for encodings that need information which is not in
// the file.
func (s *section) pointer(c *raw.Cursor, enc byte, addrSize int) (uint64, bool) {
	if enc == peOmit {
		return 0, true
	}
	base := uint64(0)
	switch enc & 0x70 {
	case 0:
	case pePCRel:
		base = s.vaddr + uint64(c.Off)
	default:
		return 0, false
	}
	v, ok := rawPointer(c, enc, addrSize)
	if !ok || c.Bad {
		return 0, false
	}
	if v != 0 {
		v += base
	}
	if enc&peIndirect != 0 && s.read != nil {
		b := raw.Cursor{B: s.read(v, 8)}
		v = b.U64()
		return v, !b.Bad
	}
	return v, true
}

func rawPointer(c *raw.Cursor, enc byte, addrSize int) (uint64, bool) {
	switch enc & 0x0f {
	case 0x00:
		return c.Uint(addrSize), true
	case 0x01:
		return c.ULEB(), true
	case 0x02:
		return uint64(c.U16()), true
	case 0x03:
		return uint64(c.U32()), true
	case 0x04, 0x0c:
		return c.U64(), true
	case 0x09:
		return uint64(c.SLEB()), true
	case 0x0a:
		return uint64(int64(int16(c.U16()))), true
	case 0x0b:
		return uint64(int64(int32(c.U32()))), true
	}
	return 0, false
}

// ehTable is the binary search table of .eh_frame_hdr: pairs of function start
// and FDE address.
type ehTable struct {
	vaddr uint64
	b     []byte // the pairs, two signed 32-bit offsets from vaddr each
	n     int
}

// parseEhTable accepts the one layout that linkers produce; others give nil and
// .eh_frame is scanned.
func parseEhTable(vaddr uint64, b []byte) (t *ehTable, frame uint64) {
	c := raw.Cursor{B: b}
	if c.U8() != 1 {
		return nil, 0
	}
	frameEnc, countEnc, tableEnc := c.U8(), c.U8(), c.U8()
	at := uint64(c.Off)
	p, ok := rawPointer(&c, frameEnc, 8)
	switch {
	case !ok || frameEnc == peOmit:
		return nil, 0
	case frameEnc&0x70 == pePCRel:
		p += vaddr + at
	case frameEnc&0x70 == peDataRel:
		p += vaddr
	}
	if countEnc == peOmit || tableEnc != peDataRel|0x0b {
		return nil, p
	}
	n, ok := rawPointer(&c, countEnc, 8)
	if !ok || c.Bad || n == 0 || n > uint64(c.Left())/8 {
		return nil, p
	}
	return &ehTable{vaddr, c.B[c.Off:], int(n)}, p
}

func (t *ehTable) pair(i, k int) uint64 {
	c := raw.Cursor{B: t.b, Off: i*8 + k*4}
	return t.vaddr + uint64(int64(int32(c.U32())))
}

// search gives the address of the FDE that starts last at or before pc.
func (t *ehTable) search(pc uint64) (uint64, bool) {
	i := sort.Search(t.n, func(i int) bool { return t.pair(i, 0) > pc })
	if i == 0 {
		return 0, false
	}
	return t.pair(i-1, 1), true
}
