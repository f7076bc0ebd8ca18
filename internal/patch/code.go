package patch

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// Region is a piece of memory.
type Region struct {
	Addr  uint64
	Bytes []byte
}

// end is the first address after the region.
func (r Region) end() uint64 { return r.Addr + uint64(len(r.Bytes)) }

// Code is one function, as the program was before anything was patched.
// Everything said about it is worked out once; a Code must not be changed after
// its first use and may be used by several goroutines.
type Code struct {
	Lo, Hi uint64
	// Bytes begin at Lo. They may go on beyond Hi: with the padding up to the
	// next function, which a jump at the function's end may then cover, and only
	// with that.
	Bytes []byte
	// Mapped are the addresses that the module itself takes: no code can be put there for a punned jump.
	Mapped []Range
	// Extra are other parts of the function (name.cold) and any other code whose
	// branches may enter it.
	Extra []Region
	// LandingPads are places that the unwinder may jump to (.gcc_except_table).
	LandingPads []uint64
	// Entries are further places at which control may arrive: symbols inside the
	// function, setjmp receivers, ...
	Entries []uint64
	// Vouched lists addresses that something else says are starts of instructions: a line table. Nil: nothing does.
	Vouched func() []uint64
	// ReadMem reads data of the program with its relocations applied: jump
	// tables. With nil every function with an indirect jump is opaque.
	ReadMem func(addr uint64, n int) ([]byte, error)
	// Text returns the module's code, which is searched for jumps into the function. An error is the reason
	// why it cannot be searched. Nil: there is no other code.
	Text func() (*Text, error)
	// Sequences are restartable ones (rseq(2)): the kernel looks whether a thread's pc
	// is within. They, and the instruction before one, which makes it known to the
	// kernel, run where they are or not as sequences.
	Sequences []Range
	// Apart: the function may be a part of another, or written by hand, so the jump
	// tables of others may lead into it.
	Apart bool
	// Loose: the function's bounds are a guess, so instructions may be decoded wrong.
	Loose bool
	// Resumed, if not "", is the reason why control may return to any instruction: threads of the program
	// (goroutines) were interrupted anywhere, and their stacks are not known.
	Resumed string
	// AsyncEH says that a faulting memory access may continue at a landing pad
	// (-fnon-call-exceptions: Ada, gccgo, D). Registers are then never dead across
	// a memory access.
	AsyncEH bool

	once sync.Once
	an   analysis

	flowOnce sync.Once
	flow     *Flow // see known

	far      []field // see Text.far
	farKnown bool
}

// analysis is the result of a linear sweep of a function.
type analysis struct {
	insts   []Inst
	index   []int32  // by offset from Lo: index into insts, or -1
	targets []uint64 // sorted: where control may arrive from elsewhere than the instruction before
	tables  []uint64 // those of them that are in jump tables
	// broken is why instruction boundaries are not certain, wild why the list of targets is not complete.
	broken, wild string
	brokenAt     uint64 // first address in doubt
	// Of the search for jump tables: whether the tables of offsets were read and
	// some found, and the entries read so far.
	narrowRead, narrow bool
	entries            int
	dispatches         []Range  // (load from the table, jump]
	switches           []uint64 // indirect jumps by tables that are understood
}

// analyse sweeps the function once.
func (c *Code) analyse() *analysis {
	c.once.Do(func() {
		a := &c.an
		own := Region{c.Lo, c.Bytes[:min(uint64(len(c.Bytes)), c.Hi-c.Lo)]}
		a.sweep(own)
		parts := [][]Inst{a.insts}
		for _, r := range c.Extra {
			insts, err := sweep(r)
			if err != nil {
				a.targets = appendRaw(a.targets, r, c.Lo, c.Hi)
			}
			parts = append(parts, insts)
		}
		a.targets = append(a.targets, c.inside(c.LandingPads)...)
		a.targets = append(a.targets, c.inside(c.Entries)...)
		for _, insts := range parts {
			for i := range insts {
				a.targets = append(a.targets, c.inside(arrivals(&insts[i]))...)
			}
		}
		slices.Sort(a.targets)
		c.indirect(a, parts)
		c.consistent(a)
	})
	return &c.an
}

// sweep decodes a region from its start to its end or to the first doubt.
func sweep(r Region) ([]Inst, error) {
	insts := make([]Inst, 0, len(r.Bytes)/4)
	for off := 0; off < len(r.Bytes); {
		in, err := Decode(r.Bytes[off:], r.Addr+uint64(off))
		if err != nil {
			return insts, err
		}
		insts = append(insts, in)
		off += in.Len
	}
	return insts, nil
}

func (a *analysis) sweep(own Region) {
	insts, err := sweep(own)
	a.insts, a.brokenAt = insts, own.end()
	a.index = make([]int32, len(own.Bytes))
	for i := range a.index {
		a.index[i] = -1
	}
	for i := range insts {
		a.index[insts[i].Addr-own.Addr] = int32(i)
	}
	if err != nil {
		a.broken, a.wild = err.Error(), "the function cannot be decoded to its end"
		a.brokenAt = err.(*DecodeError).Addr
	}
}

// inside keeps the addresses that lie in the function.
func (c *Code) inside(addrs []uint64) []uint64 {
	var out []uint64
	for _, t := range addrs {
		if t >= c.Lo && t < c.Hi {
			out = append(out, t)
		}
	}
	return out
}

// arrivals lists the code addresses that an instruction may make control
// arrive at, now or later: its branch target, the address it computes, an
// immediate that may be an address. Too many is harmless.
func arrivals(in *Inst) []uint64 {
	var out []uint64
	switch in.Class {
	case Jmp, Jcc, Loop, Call, XBegin:
		return append(out, in.Target)
	}
	if in.RIPOff != 0 {
		out = append(out, in.RIPTarget)
	}
	if in.Len >= 5 {
		imm := binary.LittleEndian.Uint32(in.b[in.Len-4:])
		out = append(out, uint64(imm), uint64(int64(int32(imm))))
	}
	if in.Len >= 10 {
		out = append(out, binary.LittleEndian.Uint64(in.b[in.Len-8:]))
	}
	return out
}

// consistent checks that every known target is an instruction boundary of the
// sweep. If one is not, the sweep ran through data or the code overlaps itself. The
// one known idiom is a branch over a lock prefix.
func (c *Code) consistent(a *analysis) {
	if a.broken != "" {
		return
	}
	for i := range a.insts {
		in := &a.insts[i]
		switch in.Class {
		case Jmp, Jcc, Loop, Call:
			t := in.Target
			if t < c.Lo || t >= c.Lo+uint64(len(a.index)) || a.index[t-c.Lo] >= 0 {
				continue
			}
			if p := a.index[t-c.Lo-1]; p >= 0 && a.insts[p].b[0] == 0xf0 {
				continue
			}
			a.broken = fmt.Sprintf("the branch at %#x goes to %#x, inside an instruction", in.Addr, t)
			a.brokenAt, a.wild = c.Lo, "the function's code overlaps itself or data"
			return
		}
	}
}

// at returns the instruction of the sweep at addr.
func (a *analysis) at(c *Code, addr uint64) *Inst {
	if addr < c.Lo || addr-c.Lo >= uint64(len(a.index)) || a.index[addr-c.Lo] < 0 {
		return nil
	}
	return &a.insts[a.index[addr-c.Lo]]
}

// targetIn returns a target strictly between lo and hi.
func (a *analysis) targetIn(lo, hi uint64) (uint64, bool) {
	i, _ := slices.BinarySearch(a.targets, lo+1)
	if i < len(a.targets) && a.targets[i] < hi {
		return a.targets[i], true
	}
	return 0, false
}

// decodeAt decodes at any address of the function or its other parts.
func (c *Code) decodeAt(addr uint64) (Inst, bool) {
	if in := c.analyse().at(c, addr); in != nil {
		return *in, true
	}
	if addr >= c.Lo && addr < min(c.Hi, c.Lo+uint64(len(c.Bytes))) {
		in, err := Decode(c.Bytes[addr-c.Lo:], addr)
		return in, err == nil
	}
	for _, r := range c.Extra {
		if addr >= r.Addr && addr < r.end() {
			in, err := Decode(r.Bytes[addr-r.Addr:], addr)
			return in, err == nil
		}
	}
	return Inst{}, false
}
