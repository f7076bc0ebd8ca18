package dwarf

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
)

// callScan has the addresses behind the module's calls, from its code: code that is not optimised has no entries for them.
// Bytes that only look like a call do no harm: no function returns to an address that is not behind a call.
type callScan struct {
	direct   map[uint64][]uint64 // by the entry of the function that is called
	through  map[uint64][]uint64 // by the word that the dynamic linker gives the address of the function
	stubs    map[uint64][]uint64 // by such a word: where the code that jumps there (the PLT's) may begin
	indirect []uint64
}

// mostIndirect bounds the indirect calls: with more of them, those of a function cannot be distinguished from others.
const mostIndirect = 1 << 14

// scanned reads the code once.
func (cs *calls) scanned() *callScan {
	if cs.scan != nil {
		return cs.scan
	}
	s := &callScan{direct: map[uint64][]uint64{}, through: map[uint64][]uint64{}, stubs: map[uint64][]uint64{}}
	cs.scan = s
	for _, sec := range cs.file.Sections() {
		if !sec.Exec || sec.NoBits {
			continue
		}
		code := cs.file.ReadVaddr(sec.Vaddr, int(sec.Size))
		if host.Processor == &amd64.Processor {
			s.variable(sec.Vaddr, code, cs.file.Bound)
		} else {
			s.fixed(sec.Vaddr, code)
		}
	}
	if len(s.indirect) > mostIndirect {
		s.indirect = nil
	}
	return s
}

// variable reads x86-64's calls: call rel32, call r/m64. bound reports whether a word has a symbol's address.
func (s *callScan) variable(base uint64, code []byte, bound func(uint64) bool) {
	for i := 0; i+5 <= len(code); i++ {
		n := bytes.IndexByte(code[i:], 0xe8)
		if n < 0 || i+n+5 > len(code) {
			break
		}
		i += n
		ret := base + uint64(i) + 5
		to := ret + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))
		s.direct[to] = append(s.direct[to], ret)
	}
	for i := 0; i+2 <= len(code); i++ {
		n := bytes.IndexByte(code[i:], 0xff)
		if n < 0 || i+n+2 > len(code) {
			break
		}
		i += n
		if i+6 <= len(code) && (code[i+1] == callWord || code[i+1] == jumpWord) {
			if word := s.word(base+uint64(i), code[i+1], binary.LittleEndian.Uint32(code[i+2:])); bound(word) {
				continue // the symbol says what is called
			}
		}
		if size := indirectCall(code[i+1:]); size > 0 && len(s.indirect) <= mostIndirect {
			s.indirect = append(s.indirect, base+uint64(i+size))
		}
	}
}

// The second bytes of call *rel32(%rip) and jmp *rel32(%rip).
const (
	callWord = 0x15
	jumpWord = 0x25
)

// word notes a call, or a jump of the PLT, to where a word leads. Before the jump may be endbr64 and a prefix.
func (s *callScan) word(at uint64, op byte, rel uint32) (word uint64) {
	end := at + 6
	word = end + uint64(int64(int32(rel)))
	if op == callWord {
		s.through[word] = append(s.through[word], end)
		return word
	}
	for _, before := range []uint64{0, 1, 4, 5} {
		s.stubs[word] = append(s.stubs[word], at-before)
	}
	return word
}

// callsThrough are the addresses behind calls of a function by way of the dynamic linker.
func (cs *calls) callsThrough(f *fn) (list []uint64) {
	s := cs.scanned()
	for _, name := range []string{f.d.linkage(), f.d.name()} {
		if name == "" {
			continue
		}
		for _, word := range cs.file.Words(name) {
			list = append(list, s.through[word]...)
			for _, stub := range s.stubs[word] {
				list = append(list, s.direct[stub]...)
			}
		}
	}
	return list
}

// indirectCall is the length of the instruction FF /2 whose bytes behind the first one are given; 0: it is another.
func indirectCall(b []byte) int {
	const sibFollows, ripRelative, noBase = 4, 5, 5
	mod, op, rm := b[0]>>6, b[0]>>3&7, b[0]&7
	if op != 2 {
		return 0
	}
	size := 2
	if mod != 3 && rm == sibFollows {
		size++
		if mod == 0 && len(b) > 1 && b[1]&7 == noBase {
			size += 4
		}
	}
	switch {
	case mod == 0 && rm == ripRelative, mod == 2:
		size += 4
	case mod == 1:
		size++
	}
	return size
}

// fixed reads arm64's calls: bl, blr.
func (s *callScan) fixed(base uint64, code []byte) {
	for i := 0; i+4 <= len(code); i += 4 {
		w := binary.LittleEndian.Uint32(code[i:])
		at := base + uint64(i)
		switch {
		case w&0xfc000000 == 0x94000000:
			to := at + uint64(int64(int32(w<<6))>>4)
			s.direct[to] = append(s.direct[to], at+4)
		case w&0xfffffc1f == 0xd63f0000 && len(s.indirect) <= mostIndirect:
			s.indirect = append(s.indirect, at+4)
		}
	}
}

// returnsTo are the addresses to which a function may return: behind the calls of it, or of functions that end by a jump to
// it, and behind calls whose target is not known.
func (cs *calls) returnsTo(f *fn) (known, possible []uint64) {
	idx, s := cs.to(f.d.u), cs.scanned()
	seen := map[uint64]bool{}
	for todo := []uint64{f.entry()}; len(todo) > 0 && len(seen) < mostReached; todo = todo[1:] {
		to := todo[0]
		if seen[to] {
			continue
		}
		seen[to] = true
		known = append(known, s.direct[to]...)
		if g := cs.functionAt(to); g != nil {
			known = append(known, cs.callsThrough(g)...)
		}
		for _, c := range idx.calls[to] {
			known = append(known, c.pc)
		}
		for _, c := range idx.tails[to] {
			todo = append(todo, c.f.entry())
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, ret := range s.indirect {
		if _, found := slices.BinarySearch(known, ret); !found {
			possible = append(possible, ret)
		}
	}
	return known, possible
}

// behindCall reports whether an address in a function may be behind a call, as far as debug information says.
func (cs *calls) behindCall(f *fn, ret uint64) bool {
	if !slices.ContainsFunc([]uint16{atCallAllCalls, atGNUAllCallSites}, f.d.flag) {
		return true
	}
	return slices.ContainsFunc(cs.callsIn(f), func(c call) bool { return c.pc == ret })
}
