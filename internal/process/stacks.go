package process

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// stackSearched bounds, per thread, how much of the stack is searched for addresses
// (those in the frames of signal handlers).
const stackSearched = 256 << 10

// redZone is how far below its stack pointer a function may keep data (psABI 3.2.2).
const redZone = 128

// Stacks reads the stacks of stopped threads, one after the other, into one buffer: those of thousands of
// threads would need gigabytes.
type Stacks struct {
	s    *Stopped
	maps []Mapping // by address; nil: not known
	buf  []byte
}

// Stacks begins to read them.
func (s *Stopped) Stacks() *Stacks {
	k := &Stacks{s: s, buf: make([]byte, stackSearched)}
	k.maps, _ = s.Maps() // without it the search ends where memory cannot be read
	return k
}

// From is the stack from a stack pointer up, WithRedZone from below it: whole words, as far as can be read.
// The result is valid until the next call.
func (k *Stacks) From(sp uint64) []byte { return k.between(sp&^7, sp) }

// WithRedZone: see From.
func (k *Stacks) WithRedZone(sp uint64) []byte { return k.between((sp-redZone)&^7, sp) }

// between reads from lo up to the end of the pages that sp is in. Above the stack of each thread except the
// first are pages without access rights, which read as zeros here, and then the next thread's stack.
func (k *Stacks) between(lo, sp uint64) []byte {
	from, end := lo, lo+stackSearched
	if k.maps != nil {
		start, stop := memory.ReadableAround(k.maps, sp)
		from, end = max(lo, start), min(end, stop)
	}
	if from >= end {
		return nil
	}
	n := k.s.sp.ReadSome(from, k.buf[:end-from])
	return k.buf[:n&^7]
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
