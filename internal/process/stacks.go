package process

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// stackSearched bounds, per thread, how much of the stack is searched for addresses
// (those in the frames of signal handlers).
const stackSearched = 256 << 10

// redZone is how far below its stack pointer a function may keep data (psABI 3.2.2).
const redZone = 128

// otherStacks bounds, per thread, how many stacks are searched to which frames of signal handlers lead.
const otherStacks = 8

// Stacks reads the stacks of stopped threads, one after the other, into one buffer: those of thousands of
// threads would need gigabytes.
type Stacks struct {
	s    *Stopped
	maps []Mapping // by address; nil: not known
	buf  []byte    // of one stack
	all  []byte    // of a thread that has several
}

// Stacks begins to read them.
func (s *Stopped) Stacks() *Stacks {
	k := &Stacks{s: s, buf: make([]byte, stackSearched)}
	k.maps, _ = s.Maps() // without it the search ends where memory cannot be read
	return k
}

// From is the stack from a stack pointer up, WithRedZone from below it: whole words, as far as can be read. If the thread
// is in a signal handler on another stack than what it has interrupted (sigaltstack(2)), the words of that follow, too.
// The result is valid until the next call.
func (k *Stacks) From(sp uint64) []byte { return k.between(sp&^7, sp) }

// WithRedZone: see From.
func (k *Stacks) WithRedZone(sp uint64) []byte { return k.between((sp-redZone)&^7, sp) }

// between is the stack from lo, around sp, and those to which frames lead.
func (k *Stacks) between(lo, sp uint64) []byte {
	first, from := k.read(lo, sp)
	done := []Range{{from, uint64(len(first))}}
	next := interrupted(nil, first, done)
	if len(next) == 0 {
		return first
	}
	k.all = append(k.all[:0], first...)
	for len(next) > 0 && len(done) <= otherStacks {
		sp, next = next[0], next[1:]
		if isIn(done, sp) {
			continue
		}
		b, from := k.read((sp-redZone)&^7, sp)
		done = append(done, Range{from, uint64(len(b))})
		k.all = append(k.all, b...)
		next = interrupted(next, b, done)
	}
	return k.all
}

// interrupted adds the stack pointers in signal frames that lead out of the ranges.
func interrupted(list []uint64, stack []byte, known []Range) []uint64 {
	for at := sys.SavedSegments; at+8 <= len(stack); at += 8 {
		if sp, ok := sys.InterruptedSP(stack, at); ok && !isIn(known, sp) {
			list = append(list, sp)
		}
	}
	return list
}

func isIn(list []Range, addr uint64) bool {
	return slices.ContainsFunc(list, func(r Range) bool { return addr-r.Addr < r.Size })
}

// read reads from lo up to the end of the pages that sp is in. Above the stack of each thread except the
// first are pages without access rights, which read as zeros here, and then the next thread's stack.
func (k *Stacks) read(lo, sp uint64) (b []byte, from uint64) {
	from, end := lo, lo+stackSearched
	if k.maps != nil {
		start, stop := memory.ReadableAround(k.maps, sp)
		from, end = max(lo, start), min(end, stop)
	}
	if from >= end {
		return nil, from
	}
	n := k.s.sp.ReadSome(from, k.buf[:end-from])
	return k.buf[:n&^7], from
}

// mentions reports whether a word is on a stack.
func mentions(stack []byte, word uint64) bool {
	for ; len(stack) >= 8; stack = stack[8:] {
		if binary.LittleEndian.Uint64(stack) == word {
			return true
		}
	}
	return false
}
