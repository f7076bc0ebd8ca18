package dwarf

import (
	"bytes"
	"encoding/binary"
)

// cursor reads little-endian data. A read past the end sets bad and gives zeros;
// callers check bad once, after a group of reads.
type cursor struct {
	b   []byte
	off int
	bad bool
}

// cursorAt starts at off; an offset outside b gives a bad cursor.
func cursorAt(b []byte, off uint64) cursor {
	if off > uint64(len(b)) {
		return cursor{b: b, off: len(b), bad: true}
	}
	return cursor{b: b, off: int(off)}
}

func (c *cursor) left() int { return len(c.b) - c.off }
func (c *cursor) done() bool {
	return c.bad || c.off >= len(c.b)
}

func (c *cursor) fail() { c.bad = true; c.off = len(c.b) }

func (c *cursor) u8() uint8 {
	if c.off >= len(c.b) {
		c.fail()
		return 0
	}
	v := c.b[c.off]
	c.off++
	return v
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u24() uint32 {
	if b := c.bytes(3); b != nil {
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uint reads an unsigned integer of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	}
	c.fail()
	return 0
}

// offset reads a section offset: 4 bytes, 8 in 64-bit DWARF.
func (c *cursor) offset(is64 bool) uint64 {
	if is64 {
		return c.u64()
	}
	return uint64(c.u32())
}

// initialLength reads a unit length and tells whether the unit is 64-bit DWARF.
func (c *cursor) initialLength() (n uint64, is64 bool) {
	n = uint64(c.u32())
	if n == 0xffffffff {
		return c.u64(), true
	}
	if n >= 0xfffffff0 {
		c.fail()
	}
	return n, false
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b)-c.off {
		c.fail()
		return nil
	}
	v := c.b[c.off : c.off+n : c.off+n]
	c.off += n
	return v
}

// skip moves on by n bytes, n as it stands in the file.
func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.b)-c.off) {
		c.fail()
		return
	}
	c.off += int(n)
}

// block reads n bytes, n as it stands in the file.
func (c *cursor) block(n uint64) []byte {
	if n > uint64(len(c.b)-c.off) {
		c.fail()
		return nil
	}
	return c.bytes(int(n))
}

// uleb reads an unsigned LEB128; bits above 64 are dropped.
func (c *cursor) uleb() uint64 {
	if c.off < len(c.b) && c.b[c.off] < 0x80 {
		c.off++
		return uint64(c.b[c.off-1])
	}
	var v uint64
	for shift := uint(0); c.off < len(c.b); shift += 7 {
		x := c.b[c.off]
		c.off++
		if shift < 64 {
			v |= uint64(x&0x7f) << shift
		}
		if x < 0x80 {
			return v
		}
	}
	c.fail()
	return 0
}

// sleb reads a signed LEB128.
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); c.off < len(c.b); {
		x := c.b[c.off]
		c.off++
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
	c.fail()
	return 0
}

// cstr reads a NUL-terminated string, without the NUL.
func (c *cursor) cstr() []byte {
	i := bytes.IndexByte(c.b[c.off:], 0)
	if i < 0 {
		c.fail()
		return nil
	}
	v := c.b[c.off : c.off+i]
	c.off += i + 1
	return v
}

// strAt is the NUL-terminated string at off of a string section.
func strAt(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return nil
}
