// Package irgen makes random checked programs and random states to run them
// in, for the tests that compare executors of package ir. The registers are x86-64's.
//
// Import rule: irgen imports arch/amd64, ir, eval and x86 only, and only tests import irgen.
package irgen

import (
	"encoding/binary"
	"math"
	"math/rand"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/x86"
)

// The memory that programs look at is PageCount pages from Base on:
//
//	page 0     unreadable
//	pages 1, 2 readable: data
//	page 3     unreadable
//	page 4     readable: data
//	page 5     unreadable
//	pages 6-9  readable: the stack; rsp points into page 9, StackRoom bytes or
//	           more from its ends. A backend may write below rsp-128: no program
//	           reads there.
//	page 10    unreadable
//
// An executor on real hardware maps the readable pages there (the stack
// writable) and nothing at the others, nor anywhere below 4 GiB: programs also
// follow words found in memory, and small numbers are among them. (Its own code
// and libraries in the usual places of a position-independent program are never
// met.)
const (
	PageSize  = 4096
	PageCount = 11
	StackPage = 6
	StackEnd  = 10 // first page after the stack
	StackRoom = 1024
	// DefaultBase is where the memory is when Options.Base is 0.
	DefaultBase = 0x100000000000
	// Vars is how many variables programs use.
	Vars = 4
)

// Readable says of each page whether it can be read.
var Readable = [PageCount]bool{1: true, 2: true, 4: true, 6: true, 7: true, 8: true, 9: true}

// State is the state of a machine at the site.
type State struct {
	Base uint64
	// Regs by DWARF number. Regs[7] (rsp) is a multiple of 8 within page 9.
	// Regs[58] (fs_base) points to 8 bytes of page 1 that hold their own
	// address, as a thread pointer does. Regs[49] has the arithmetic flags at
	// random, DF sometimes, and the two bits that are always set (0x202).
	Regs [ir.NumRegs]uint64
	// State has the wide registers. X87 is what an executor may change to what the
	// processor makes of it, and MXCSR is the executor's choice.
	x86.State
	// Mem is the whole memory; pages that are not Readable are zero and not to be used.
	Mem [PageCount * PageSize]byte
	// RecordRoom is false now and then.
	RecordRoom bool

	// For programs of the kernel engine. The context block is a struct pt_regs
	// with the registers above; see Options for Env and High.
	Context [ContextSize]byte
	Env     [ir.NumEnv]uint64
	Comm    [ir.CommSize]byte
	Given   uint64
	// Vars are the variables of the session.
	Vars   [Vars]uint64
	High   [HighSize]byte
	HighAt uint64
	Maps   eval.Maps // Options.Maps
	// MapsFull: they have no room for new keys.
	MapsFull bool
	// Outside answers for all addresses that the memories here say nothing of;
	// nil: nothing can be read there.
	Outside eval.Memory
}

// Machine returns the state for eval. It shares the memory.
func (s *State) Machine() *eval.Machine {
	return &eval.Machine{
		Regs: s.Regs, Wide: &s.State, Mem: s, RecordRoom: s.RecordRoom,
		Context: s.Context[:], Env: s.Env, Comm: s.Comm, Given: s.Given,
		Vars: s.Vars[:], Maps: s.Maps, MapsFull: s.MapsFull, Ticks: Ticks,
	}
}

// Read implements eval.Memory.
func (s *State) Read(addr uint64, buf []byte) int {
	n := 0
	for n < len(buf) {
		got := s.readPart(addr+uint64(n), buf[n:])
		if got == 0 {
			break
		}
		n += got
	}
	return n
}

// readPart reads up to the end of a page or of a memory.
func (s *State) readPart(addr uint64, buf []byte) int {
	if off := addr - s.Base; off < uint64(len(s.Mem)) {
		if !Readable[off/PageSize] {
			return 0
		}
		return copy(buf, s.Mem[off:(off/PageSize+1)*PageSize])
	}
	if off := addr - s.Env[ir.EnvContext]; s.Env[ir.EnvContext] != 0 && off < ContextSize {
		return copy(buf, s.Context[off:])
	}
	if off := addr - s.HighAt; s.HighAt != 0 && off < HighSize {
		return copy(buf, s.High[off:])
	}
	if s.Outside == nil {
		return 0
	}
	return s.Outside.Read(addr, buf)
}

// threadPointer is the offset of the thread pointer's own address.
const threadPointer = PageSize + 64

// RandomState makes a state that suits programs made with the same options.
func RandomState(r *rand.Rand, opt Options) *State {
	s := &State{Base: opt.base(), RecordRoom: r.Intn(16) != 0}
	for page, ok := range Readable {
		if ok {
			s.fill(r, s.Mem[page*PageSize:(page+1)*PageSize])
		}
	}
	binary.LittleEndian.PutUint64(s.Mem[threadPointer:], s.Base+threadPointer)
	if opt.Kernel {
		s.surroundings(r, opt)
	}
	if opt.Maps {
		s.Maps = RandomMaps(r)
	}
	s.Registers(r)
	return s
}

// Registers gives s new registers and variables; making a new memory takes much longer.
func (s *State) Registers(r *rand.Rand) {
	for n := range s.Vars {
		s.Vars[n] = s.word(r)
	}
	for n := range s.Regs {
		if n != int(amd64.InUse) && ir.RegName(int64(n)) != "" {
			s.Regs[n] = s.word(r)
		}
	}
	s.Regs[regRSP] = s.Base + (StackEnd-1)*PageSize + StackRoom + uint64(r.Intn((PageSize-2*StackRoom)/8))*8
	s.Regs[ir.RegThread] = s.Base + threadPointer
	s.Regs[amd64.DwarfGSBase] = uint64(r.Int63n(1 << 46))
	s.Regs[ir.RegFlags] = r.Uint64()&flagBits | 0x202
	if r.Intn(4) == 0 {
		s.Regs[ir.RegFlags] |= 1 << 10
	}
	for _, n := range []arch.Reg{amd64.DwarfES, amd64.DwarfDS, amd64.DwarfFS, amd64.DwarfGS} {
		s.Regs[n] = selectors[r.Intn(len(selectors))]
	}
	for n := range s.XMM {
		s.xmm(r, &s.XMM[n])
		r.Read(s.YMMH[n][:])
	}
	s.MXCSR = 0x1f80
	s.RandomX87(r)
	s.initial(uint64(r.Intn(8)) & (amd64.InUseX87 | amd64.InUseAVX))
	for n, off := range ptRegs {
		binary.LittleEndian.PutUint64(s.Context[off:], s.Regs[n])
	}
}

// selectors are those that Linux lets every 64-bit program load: none, the data
// segment, and the one whose limit is the number of the CPU.
var selectors = [...]uint64{0, 0x2b, 0x7b}

// initial lists the parts in use, and resets all others to their initial state.
func (s *State) initial(inUse uint64) {
	s.Regs[amd64.InUse] = inUse
	s.Initial(inUse)
}

const (
	regRSP   = 7
	flagBits = 1<<0 | 1<<2 | 1<<4 | 1<<6 | 1<<7 | 1<<11 // CF PF AF ZF SF OF
)

// fill makes a page of words: numbers, pointers into the memory, texts, zeros.
func (s *State) fill(r *rand.Rand, page []byte) {
	for off := 0; off < len(page); {
		switch r.Intn(8) {
		case 0, 1: // text, mostly terminated
			off += copy(page[off:], randomText(r))
			if off < len(page) && r.Intn(4) != 0 {
				page[off] = 0
				off++
			}
		case 2:
			n := min(off+1+r.Intn(16), len(page))
			clear(page[off:n])
			off = n
		default:
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], s.word(r))
			off += copy(page[off:], b[:])
		}
	}
	if r.Intn(2) == 0 { // a text that runs into the next page
		copy(page[len(page)-12:], "abcabcabcabc")
	}
}

// word returns a random number, with a preference for interesting values.
func (s *State) word(r *rand.Rand) uint64 {
	switch r.Intn(8) {
	case 0:
		return r.Uint64()
	case 1:
		v := uint64(r.Uint32())
		if v-s.Base < uint64(len(s.Mem)) { // not below rsp by accident
			v ^= 1 << 31
		}
		return v
	case 2:
		return uint64(int64(int32(r.Uint32() | 1<<31)))
	case 3:
		return uint64(r.Intn(100))
	case 4, 5:
		return s.pointer(r)
	case 6:
		return math.Float64bits(float64(r.Intn(2000)-1000) / 8)
	}
	return uint64(edge(r))
}

// pointer is an address in the data pages or at their borders.
func (s *State) pointer(r *rand.Rand) uint64 {
	switch r.Intn(8) {
	case 0:
		return 0
	case 1:
		return 1<<63 | r.Uint64()
	case 2, 3: // at a border between pages
		return s.Base + uint64(1+r.Intn(5))*PageSize + uint64(r.Intn(48)) - 24
	}
	page := []uint64{1, 2, 4}[r.Intn(3)]
	return s.Base + page*PageSize + uint64(r.Intn(PageSize))
}

// xmm fills a register with a float, a double or anything.
func (s *State) xmm(r *rand.Rand, x *[16]byte) {
	r.Read(x[:])
	switch r.Intn(3) {
	case 0:
		binary.LittleEndian.PutUint64(x[:], float64Bits(r))
	case 1:
		binary.LittleEndian.PutUint32(x[:], uint32(float32Bits(r)))
	}
}

// edge is a number at which something changes.
func edge(r *rand.Rand) int64 {
	list := [...]int64{
		0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 24, 31, 32, 33, 63, 64, 100, -1, -1, -2, -8,
		math.MaxInt8, math.MinInt8, math.MaxUint8, math.MaxInt16, math.MinInt16, math.MaxUint16,
		math.MaxInt32, math.MinInt32, math.MaxUint32, 1 << 32, math.MaxInt64, math.MinInt64,
	}
	v := list[r.Intn(len(list))]
	switch r.Intn(8) {
	case 0:
		v++
	case 1:
		v--
	}
	return v
}

func float64Bits(r *rand.Rand) uint64 {
	list := [...]float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 3, 1e10, -1e10, math.MaxFloat32, math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), 1 << 31, 1 << 32, 1 << 53, 1 << 63, -(1 << 63), 1 << 64, 9223372036854774784,
	}
	switch r.Intn(8) {
	case 0:
		return r.Uint64()
	case 1: // a NaN, quiet or not, of either sign
		return 0x7ff0000000000000 | r.Uint64()&0x800fffffffffffff | 1
	case 2:
		return math.Float64bits(r.NormFloat64() * 1000)
	case 3:
		return math.Float64bits(float64(r.Intn(200) - 100))
	}
	return math.Float64bits(list[r.Intn(len(list))])
}

func float32Bits(r *rand.Rand) uint64 {
	list := [...]float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 0.5, 1.5, 3, 1e10, math.MaxFloat32, math.SmallestNonzeroFloat32,
		float32(math.Inf(1)), float32(math.Inf(-1)), 1 << 24, 1 << 31, 1 << 63, -(1 << 63), 9223371487098961920,
	}
	switch r.Intn(8) {
	case 0:
		return uint64(r.Uint32())
	case 1:
		return uint64(0x7f800000 | r.Uint32()&0x807fffff | 1)
	case 2:
		return uint64(math.Float32bits(float32(r.NormFloat64() * 1000)))
	}
	return uint64(math.Float32bits(list[r.Intn(len(list))]))
}

// randomText is a short text over a small alphabet, so that prefixes repeat.
func randomText(r *rand.Rand) string {
	b := make([]byte, r.Intn(20))
	for i := range b {
		b[i] = "abc"[r.Intn(3)]
	}
	if r.Intn(8) == 0 && len(b) > 0 {
		b[r.Intn(len(b))] = byte(1 + r.Intn(255))
	}
	return string(b)
}
