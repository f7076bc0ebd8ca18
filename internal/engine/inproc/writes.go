package inproc

import (
	"bytes"
	"cmp"
	"slices"
)

// codePages changes code of a stopped process: each page is read once and written once, from its first change to
// its last. Ten thousand changes take some hundred system calls instead of twenty thousand, while all threads wait.
//
// If jalon is killed, a page has all changes or none: the kernel does not end a write within a page. Both are
// safe, as each change is. What crosses the end of a page is written by itself.
type codePages struct {
	st    readable
	write func(addr uint64, b []byte) error

	addr   uint64
	page   []byte // at addr; nil: none was read
	lo, hi uint64 // what was changed in it
}

// readable is the memory of a stopped process.
type readable interface {
	ReadMem(addr uint64, b []byte) error
}

// has reports whether memory has these bytes.
func (c *codePages) has(addr uint64, want []byte) bool {
	if !inPage(addr, len(want)) {
		return c.flush() == nil && ours(c.st, addr, want)
	}
	if !c.turn(addr) {
		return false
	}
	return bytes.Equal(c.page[addr-c.addr:][:len(want)], want)
}

// change stores b at addr, at the latest when flush is called.
func (c *codePages) change(addr uint64, b []byte) error {
	if !inPage(addr, len(b)) || !c.turn(addr) {
		if err := c.flush(); err != nil {
			return err
		}
		c.page = nil // it may be in there
		return c.write(addr, b)
	}
	copy(c.page[addr-c.addr:], b)
	end := addr + uint64(len(b))
	if c.lo == c.hi {
		c.lo, c.hi = addr, end
	}
	c.lo, c.hi = min(c.lo, addr), max(c.hi, end)
	return nil
}

// turn makes the page of an address the present one, if it can be read.
func (c *codePages) turn(addr uint64) bool {
	first := addr &^ (pageSize - 1)
	if c.page != nil && c.addr == first {
		return true
	}
	if c.flush() != nil {
		return false
	}
	if c.page == nil {
		c.page = make([]byte, pageSize)
	}
	if c.addr = first; c.st.ReadMem(first, c.page) != nil {
		c.page = nil
	}
	return c.page != nil
}

// readable reports whether there is memory at addr.
func (c *codePages) readable(addr uint64) bool { return c.turn(addr) }

// flush writes what was changed.
func (c *codePages) flush() error {
	if c.lo == c.hi {
		return nil
	}
	b := c.page[c.lo-c.addr : c.hi-c.addr]
	at := c.lo
	c.lo, c.hi = 0, 0
	return c.write(at, b)
}

func inPage(addr uint64, n int) bool { return addr&(pageSize-1)+uint64(n) <= pageSize }

// piece is generated code for an address.
type piece struct {
	at   uint64
	code []byte
}

// writeJoined writes pieces together that lie next to each other. The gaps, of less than codeAlign bytes, are unused.
func writeJoined(list []piece, write func(at uint64, code []byte) error) error {
	slices.SortFunc(list, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
	var buf []byte
	at := uint64(0)
	flush := func() error {
		if len(buf) == 0 {
			return nil
		}
		defer func() { buf = buf[:0] }()
		return write(at, buf)
	}
	for _, x := range list {
		gap := x.at - (at + uint64(len(buf)))
		if gap >= codeAlign || len(buf)+len(x.code) > writeSize {
			if err := flush(); err != nil {
				return err
			}
			at, gap = x.at, 0
		}
		buf = append(append(buf, make([]byte, gap)...), x.code...)
	}
	return flush()
}

// writeSize bounds what is written at once.
const writeSize = 1 << 18
