package patch

import (
	"encoding/binary"
	"slices"
	"sync"
)

// Text is what a module can say about where its code may be entered: the bytes of
// all its executable segments and every code address that its data holds. The
// proof that nothing arrives between displaced instructions rests on it. Symbols
// and debug information serve only to strike out what is no instruction.
//
// How control can arrive at an address, and what answers for it:
//
//	8-bit branch from another function    all bytes within its reach     (near)
//	32-bit branch, lea of the address     all bytes of the module        (far)
//	pointer in data, applied by ld.so     relocations                    (Pointers)
//	address written as such               all bytes of code and Data     (Absolute)
//	branch, jump table of the function    its instructions               (Code)
//	jump table of another function       all tables of the module        (tables)
//	landing pad                           Code.LandingPads
//	return address                        a displaced call is the last one
//
// Bytes count whatever they mean: a reading is struck out only if it begins inside
// an instruction of a function whose decoding leaves no doubt.
type Text struct {
	Code []Region // in order of addresses
	// Pointers are the addresses that relocations put into data, sorted.
	Pointers []uint64
	// Absolute: addresses have 32 bits, and may be written as such in Code and Data.
	Absolute bool
	// Data gives the other segments, when they are needed.
	Data func() ([]Region, error)
	// Changed is code that is not in memory as it is in Code. Whatever it reads as counts.
	Changed []Region
	// Function gives the bounds of the function around an address, known from
	// call frame information or a symbol with a size. Between functions it gives
	// the gap, and known is false.
	Function func(addr uint64) (lo, hi uint64, known bool)
	// Cancelled, if not nil, reports whether the user does not want the result any more. Then any address counts as entered.
	Cancelled func() bool

	mu     sync.Mutex
	unread bool // Data could not be read
	tabled bool // tables is made
	tables []uint64
	asked  int                   // number of functions searched without the index
	index  *fieldIndex           // built after many searches
	swept  map[uint64]*neighbour // by address of the function
}

// arrives says at which address strictly between lo and hi, in the function c,
// control may arrive from elsewhere in the module.
func (t *Text) arrives(c *Code, lo, hi uint64) (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, _ := slices.BinarySearch(t.Pointers, lo+1); i < len(t.Pointers) && t.Pointers[i] < hi {
		return t.Pointers[i], true
	}
	if c.Apart {
		list := t.tableTargets()
		if i, _ := slices.BinarySearch(list, lo+1); i < len(list) && list[i] < hi {
			return list[i], true
		}
	}
	if a, ok := t.near(c, lo, hi); ok {
		return a, true
	}
	if a, ok := t.changed(lo, hi); ok {
		return a, true
	}
	for _, f := range t.far(c) {
		if f.to > lo && f.to < hi && !t.struckOut(f.at, f.absolute, lo, hi) {
			return f.to, true
		}
	}
	return lo + 1, t.unread
}

// near looks for branches with 8-bit displacements, which reach 128 bytes, before and after the function.
func (t *Text) near(c *Code, lo, hi uint64) (hit uint64, found bool) {
	const reach = 130
	for _, r := range []Region{t.slice(max(lo, reach)-reach, c.Lo), t.slice(c.Hi, hi+reach)} {
		scan(r, func(at, to uint64) bool {
			if to > lo && to < hi && !t.struckOut(at, false, lo, hi) {
				hit, found = to, true
			}
			return !found
		})
	}
	return hit, found
}

// changed looks into code that the process has changed.
func (t *Text) changed(lo, hi uint64) (hit uint64, found bool) {
	for _, r := range t.Changed {
		scan(r, func(_, to uint64) bool {
			hit, found = to, to > lo && to < hi
			return !found
		})
		fields(r.Bytes, 0, len(r.Bytes), uint32(r.Addr+4-lo), uint32(hi-lo), 1, func(i int) {
			if f, ok := fieldAt(r, i); ok && f.to > lo && f.to < hi {
				hit, found = f.to, true
			}
		})
		if found {
			return hit, true
		}
	}
	return 0, false
}

// far lists the fields of other code and of data that lead into the function, or
// just behind it: padding may be displaced too.
func (t *Text) far(c *Code) []field {
	if c.farKnown {
		return c.far
	}
	c.farKnown = true
	lo, hi := c.Lo, c.Hi+maxLen
	take := func(f field) {
		if f.at < c.Lo || f.at >= c.Hi {
			c.far = append(c.far, f)
		}
	}
	const many = 6 // making the index takes as long as this many searches
	if t.asked++; t.asked > many && t.index == nil {
		if t.index = newFieldIndex(t); t.index == nil {
			t.unread = true
			return nil
		}
	}
	if t.index != nil {
		t.index.each(lo, hi, take)
	} else {
		for _, f := range t.search(lo, hi) {
			take(f)
		}
	}
	return c.far
}

// slice is the part of the code between two addresses, as far as one segment goes.
func (t *Text) slice(lo, hi uint64) Region {
	for _, r := range t.Code {
		if from, to := max(lo, r.Addr), min(hi, r.end()); from < to {
			return Region{from, r.Bytes[from-r.Addr : to-r.Addr]}
		}
	}
	return Region{}
}

// neighbour is what is known of a function of which some bytes read as a branch.
type neighbour struct {
	code    Code
	certain bool // its instructions are as they were decoded
}

// struckOut reports whether what is read at an address is no instruction, or none
// that leads between lo and hi.
func (t *Text) struckOut(at uint64, absolute bool, lo, hi uint64) bool {
	n := t.neighbourAt(at)
	if n == nil || !n.certain {
		return false
	}
	in := n.covering(at)
	if in == nil {
		return false
	}
	if absolute { // a field that is part of two instructions is neither's
		return at+4 > in.Next()
	}
	for _, to := range arrivals(in) {
		if to > lo && to < hi {
			return false
		}
	}
	return true
}

// neighbourAt decodes the function, or the gap between functions, at an address.
func (t *Text) neighbourAt(at uint64) *neighbour {
	if t.Function == nil {
		return nil
	}
	lo, hi, known := t.Function(at)
	r := t.slice(lo, hi)
	if at < lo || at >= hi || r.Addr != lo || r.end() != hi || hi-lo > maxNeighbour {
		return nil
	}
	if n := t.swept[lo]; n != nil && n.code.Hi == hi {
		return n
	}
	n := &neighbour{code: Code{Lo: lo, Hi: hi, Bytes: r.Bytes}}
	a := n.code.analyse()
	n.certain = a.broken == "" && (known || a.padding())
	const keep = 64
	if t.swept == nil || len(t.swept) >= keep {
		t.swept = map[uint64]*neighbour{}
	}
	t.swept[lo] = n
	return n
}

// maxNeighbour bounds the function that is decoded to strike out one reading.
const maxNeighbour = 1 << 20

// covering is the instruction that the byte at an address belongs to.
func (n *neighbour) covering(at uint64) *Inst {
	a := n.code.analyse()
	for off := int(at - n.code.Lo); off >= 0; off-- {
		if i := a.index[off]; i >= 0 {
			return &a.insts[i]
		}
	}
	return nil
}

// padding reports whether the instructions do nothing but fill a gap.
func (a *analysis) padding() bool {
	for i := range a.insts {
		in := &a.insts[i]
		zeros := in.Len == 2 && in.b[0] == 0 && in.b[1] == 0
		if in.Class != Nop && in.Class != Int3 && !zeros {
			return false
		}
	}
	return true
}

// field is a displacement or an address of 4 bytes that leads to an address.
type field struct {
	at, to   uint64
	absolute bool
}

// fieldAt reads the field at offset i of a region of code: the displacement of a
// call, jmp, jcc, xbegin or lea. Prefixes before the opcode do not matter.
func fieldAt(r Region, i int) (f field, ok bool) {
	b := r.Bytes
	switch {
	case i < 1:
		return f, false
	case b[i-1]&0xfe == 0xe8:
	case i < 2:
		return f, false
	case b[i-2] == 0x0f && b[i-1]&0xf0 == 0x80:
	case b[i-2] == 0xc7 && b[i-1] == 0xf8:
	case b[i-2] == 0x8d && b[i-1]&0xc7 == 0x05:
	default:
		return f, false
	}
	f.at = r.Addr + uint64(i)
	f.to = f.at + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(b[i:]))))
	return f, true
}
