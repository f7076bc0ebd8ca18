package frame

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// LandingPads reads the call-site table of the entry's function (Itanium C++ ABI,
// exception handling tables): the addresses where exceptions resume.
func (e *Entry) LandingPads(read func(vaddr uint64, n int) []byte) ([]uint64, error) {
	data := read(e.lsda, 1<<24)
	bad := fmt.Errorf("the exception table at %#x is damaged", e.lsda)
	s := &section{vaddr: e.lsda, read: read}
	c := raw.Cursor{B: data}
	start := e.Lo
	if enc := c.U8(); enc != peOmit {
		var ok bool
		if start, ok = s.pointer(&c, enc, 8); !ok {
			return nil, bad
		}
	}
	if enc := c.U8(); enc != peOmit { // type table
		c.ULEB()
	}
	enc := c.U8()
	n := c.ULEB()
	if c.Bad || n > uint64(c.Left()) {
		return nil, bad
	}
	t := raw.Cursor{B: c.Bytes(int(n))}
	var pads []uint64
	for !t.Done() {
		_, ok1 := rawPointer(&t, enc, 8)
		_, ok2 := rawPointer(&t, enc, 8)
		pad, ok3 := rawPointer(&t, enc, 8)
		t.ULEB() // action
		if !ok1 || !ok2 || !ok3 || t.Bad {
			return nil, bad
		}
		if pad != 0 {
			pads = append(pads, start+pad)
		}
	}
	return pads, nil
}
