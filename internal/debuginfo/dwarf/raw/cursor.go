package raw

import (
	"bytes"
	"encoding/binary"
)

// Cursor reads little-endian data. A read past the end sets Bad and gives zeros;
// callers check Bad once, after a group of reads.
type Cursor struct {
	B   []byte
	Off int
	Bad bool
}

// At starts at off; an offset outside b gives a bad cursor.
func At(b []byte, off uint64) Cursor {
	if off > uint64(len(b)) {
		return Cursor{B: b, Off: len(b), Bad: true}
	}
	return Cursor{B: b, Off: int(off)}
}

// Left is the number of bytes that are left.
func (c *Cursor) Left() int { return len(c.B) - c.Off }

// Done reports whether nothing can be read any more.
func (c *Cursor) Done() bool {
	return c.Bad || c.Off >= len(c.B)
}

// Fail marks the data as damaged: nothing more is read.
func (c *Cursor) Fail() { c.Bad = true; c.Off = len(c.B) }

// U8 reads an unsigned integer of 1 byte.
func (c *Cursor) U8() uint8 {
	if c.Off >= len(c.B) {
		c.Fail()
		return 0
	}
	v := c.B[c.Off]
	c.Off++
	return v
}

// U16 reads an unsigned integer of 2 bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U24 reads an unsigned integer of 3 bytes.
func (c *Cursor) U24() uint32 {
	if b := c.Bytes(3); b != nil {
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
	}
	return 0
}

// U32 reads an unsigned integer of 4 bytes.
func (c *Cursor) U32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads an unsigned integer of 8 bytes.
func (c *Cursor) U64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uint reads an unsigned integer of 1, 2, 4 or 8 bytes.
func (c *Cursor) Uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.U8())
	case 2:
		return uint64(c.U16())
	case 4:
		return uint64(c.U32())
	case 8:
		return c.U64()
	}
	c.Fail()
	return 0
}

// Offset reads a section offset: 4 bytes, 8 in 64-bit DWARF.
func (c *Cursor) Offset(is64 bool) uint64 {
	if is64 {
		return c.U64()
	}
	return uint64(c.U32())
}

// InitialLength reads a unit length and reports whether the unit is 64-bit DWARF.
func (c *Cursor) InitialLength() (n uint64, is64 bool) {
	n = uint64(c.U32())
	if n == 0xffffffff {
		return c.U64(), true
	}
	if n >= 0xfffffff0 {
		c.Fail()
	}
	return n, false
}

// Bytes reads n bytes; the slice is of the data.
func (c *Cursor) Bytes(n int) []byte {
	if n < 0 || n > len(c.B)-c.Off {
		c.Fail()
		return nil
	}
	v := c.B[c.Off : c.Off+n : c.Off+n]
	c.Off += n
	return v
}

// Skip moves on by n bytes, n as read from the file.
func (c *Cursor) Skip(n uint64) {
	if n > uint64(len(c.B)-c.Off) {
		c.Fail()
		return
	}
	c.Off += int(n)
}

// Block reads n bytes, n as read from the file.
func (c *Cursor) Block(n uint64) []byte {
	if n > uint64(len(c.B)-c.Off) {
		c.Fail()
		return nil
	}
	return c.Bytes(int(n))
}

// ULEB reads an unsigned LEB128; bits above 64 are dropped.
func (c *Cursor) ULEB() uint64 {
	if c.Off < len(c.B) && c.B[c.Off] < 0x80 {
		c.Off++
		return uint64(c.B[c.Off-1])
	}
	var v uint64
	for shift := uint(0); c.Off < len(c.B); shift += 7 {
		x := c.B[c.Off]
		c.Off++
		if shift < 64 {
			v |= uint64(x&0x7f) << shift
		}
		if x < 0x80 {
			return v
		}
	}
	c.Fail()
	return 0
}

// SLEB reads a signed LEB128.
func (c *Cursor) SLEB() int64 {
	var v int64
	for shift := uint(0); c.Off < len(c.B); {
		x := c.B[c.Off]
		c.Off++
		if shift < 64 {
			v |= int64(x&0x7f) << shift
		}
		shift += 7
		if x < 0x80 {
			if shift < 64 && x&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
	c.Fail()
	return 0
}

// Pairs reads a list of ranges of DWARF 2 to 4 (.debug_ranges, .debug_loc): pairs of addresses relative to
// base, which entries of the list may change, up to a pair of zeros. take reads the data after a pair and
// reports whether to continue. It compares the addresses as stored in the list: where the linker has
// discarded code, the sum with the base may wrap around and look like a range.
func (c *Cursor) Pairs(base uint64, size int, take func(base, lo, hi uint64) bool) {
	top := ^uint64(0)
	if size == 4 {
		top = 0xffffffff
	}
	for {
		lo, hi := c.Uint(size), c.Uint(size)
		switch {
		case c.Bad || lo == 0 && hi == 0:
			return
		case lo == top:
			base = hi
		case !take(base, lo, hi):
			return
		}
	}
}

// CString reads a NUL-terminated string, without the NUL.
func (c *Cursor) CString() []byte {
	i := bytes.IndexByte(c.B[c.Off:], 0)
	if i < 0 {
		c.Fail()
		return nil
	}
	v := c.B[c.Off : c.Off+i]
	c.Off += i + 1
	return v
}

// StringAt is the NUL-terminated string at off of a string section.
func StringAt(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return nil
}
