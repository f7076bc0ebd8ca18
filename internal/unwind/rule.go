package unwind

import "fmt"

// Rule is how the caller's frame is found at an address, in 29 bits:
//
//	bits 0-2    the kind
//	bits 3-15   a distance in words: of the canonical frame address (CFA), see Kind
//	bits 16-28  how many words below the CFA the caller's frame pointer is saved;
//	            0: the frame pointer still has its value
//
// The return address is in the word below the CFA, which is the caller's stack pointer.
type Rule uint32

// Kind is the form of a rule.
type Kind uint8

// The forms.
const (
	// None: nothing is known of the code. The stack cannot be followed from here.
	None Kind = iota
	// BySP: the CFA is the stack pointer and the distance.
	BySP
	// ByFP: the CFA is the frame pointer and the distance.
	ByFP
	// SavedByFP: the CFA is in the word so far below the frame pointer, and the caller's frame pointer in
	// the word at it. gcc makes such frames where it aligns the stack.
	SavedByFP
	// Signal: the frame of a signal. The interrupted registers are in the struct ucontext at the stack
	// pointer, and the pc is that of an instruction to come.
	Signal
	// Outermost: there is no caller.
	Outermost
	// General: an expression, another register, or a frame too large for this form.
	General
)

const (
	wordSize    = 8
	maxDistance = 1<<13 - 1 // words
	distanceBit = 3
	savedBit    = 16
	kindMask    = 1<<distanceBit - 1
	fieldMask   = maxDistance << distanceBit // of a distance in bytes
)

// Kind returns the form of the rule.
func (r Rule) Kind() Kind { return Kind(r & kindMask) }

// Distance returns the first distance, bytes.
func (r Rule) Distance() uint64 { return uint64(r) & fieldMask }

// Saved returns how many bytes below the CFA the caller's frame pointer is; 0: it has its value.
func (r Rule) Saved() uint64 { return uint64(r>>(savedBit-distanceBit)) & fieldMask }

// NewRule makes a rule with distances in bytes, or General where they do not fit.
func NewRule(k Kind, distance, saved int64) Rule {
	fits := func(n int64) bool { return n >= 0 && n%wordSize == 0 && n/wordSize <= maxDistance }
	if !fits(distance) || !fits(saved) {
		return Rule(General)
	}
	return Rule(k) | Rule(distance) | Rule(saved/wordSize)<<savedBit
}

func (r Rule) String() string {
	name := [...]string{"none", "sp", "fp", "[fp-]", "signal", "outermost", "general", "?"}[r.Kind()]
	switch r.Kind() {
	case BySP, ByFP, SavedByFP:
		name += fmt.Sprint(r.Distance())
		if s := r.Saved(); s != 0 {
			name += fmt.Sprintf(" fp=[cfa-%d]", s)
		}
	}
	return name
}
