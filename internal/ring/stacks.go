package ring

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// The table of stacks: a hit program that follows the stack enters the program counters one after another, innermost
// first, and gets a number for the stack, which is the same for all equal stacks. A record has that number in place of
// the stack, and a map may have it as key.
//
//	+0                     u64 how many stacks found no place
//	+PageSize              nodes, StackNodes of them, u64 each; 0: free
//
// A node is a frame: its program counter, and the node of the frame that it called, its parent. So stacks that begin
// with the same frames share them. A node has its pc in its word and its parent in its place:
//
//	place = (home(parent, pc) + d) % StackNodes    home: see StackHome; d < StackProbes: the places before are taken
//	word  = pc << 5 | d + 1, and StackFirst if it has no parent (which then counts as 0 in home)
//
// For one pc, different parents have different homes, so place and word have all that is known of a node, in 8 bytes:
// nothing is ever compared by its hash only.
//
// Writer protocol, the same for threads of a process and eBPF programs, for each frame:
//  1. load the word at the place. If it is the node's word, the node is there: done.
//  2. if it is 0, compare and exchange it with the node's word: done, or another thread was faster: go to 1.
//  3. else try the next place. Behind the last one the stack is not in the table: count it, and let the record have the
//     program counters.
//
// A word changes once, from 0 to a whole node, so a node is never seen in part, and a writer that is stopped, or dies,
// between two frames leaves nodes that are right and may be used by others. Nodes are never removed. A record is
// committed behind its nodes, so a reader that sees the record sees them.
//
// The number of a stack, 32 bits: the place of the outermost frame, StackEnd times the reason of its end
// (unwind.End), and StackKnown. 0 is none.
const (
	// StackNodes is how many nodes the table of a process has. The kernel's table may have fewer: a power of two.
	StackNodes  = 1 << stackBits
	StackProbes = 16
	StackFirst  = 1 << 63
	StackShift  = 5
	StackEnd    = 1 << 24
	StackKnown  = 1 << 31
	// StackPCBits is how many bits a program counter has. A word of the stack with more is none, and ends it.
	StackPCBits = 47
	// StackMix and StackMixShift make the hash of a pc of its low 32 bits. StackParent is what a parent is multiplied by.
	StackMix      = 0x9e3779b1
	StackMixShift = 32 - stackBits
	StackParent   = 5
	// StacksNodes is where the nodes are in the table's memory, StacksSize its size.
	StacksNodes = PageSize
	StacksSize  = PageSize + 8*StackNodes

	stackBits     = 20
	parentInverse = 838861 // of StackParent, modulo StackNodes and smaller powers of two
	// maxStack bounds the frames of a stack: hostile nodes may be parents of each other.
	maxStack = 1024
	// keptStacks bounds the memory of the stacks that a Stacks keeps, in bytes.
	keptStacks = 8 << 20
	endMask    = 7
)

// StackHome is the first place of the frame at pc that called parent, in a table of StackNodes.
func StackHome(parent uint32, pc uint64) uint32 { return stackHome(parent, pc, stackBits) }

func stackHome(parent uint32, pc uint64, bits uint) uint32 {
	return (StackParent*parent + uint32(pc)*StackMix>>(32-bits)) % (1 << bits)
}

// StackWord is the word of a node at its home.
func StackWord(pc uint64, first bool) uint64 {
	w := pc<<StackShift + 1
	if first {
		w |= StackFirst
	}
	return w
}

// Stacks reads a table of stacks. Each stack is put together once.
type Stacks struct {
	shared *Shared
	off    uint64 // of the table in it
	bits   uint   // the table has 1 << bits nodes
	known  map[uint32][]byte
	bytes  int
}

// StacksIn returns the reader of a table in memory that no program can take away.
func StacksIn(mem []byte) *Stacks { return StacksOf(mem, StackNodes) }

// StacksOf is StacksIn for a table with as many nodes, a power of two up to StackNodes.
func StacksOf(mem []byte, nodes uint32) *Stacks {
	return &Stacks{shared: &Shared{mem: mem, foreign: true}, bits: uint(bits.TrailingZeros32(nodes)), known: map[uint32][]byte{}}
}

// Stacks returns a reader of the table of stacks; nil if there is none.
func (s *Shared) Stacks() *Stacks {
	if s.g.stacks() == 0 {
		return nil
	}
	return &Stacks{shared: s, off: s.g.stacks(), bits: stackBits, known: map[uint32][]byte{}}
}

// Frames returns the program counters of a stack as u64, innermost first, and the reason of its end. They are valid
// until the next call. It returns nil if the program has overwritten the table.
func (t *Stacks) Frames(number uint32) (pcs []byte, end uint8) {
	end = uint8(number / StackEnd & endMask)
	if pcs, ok := t.known[number]; ok {
		return pcs, end
	}
	if pcs = t.guarded(number); pcs == nil {
		return nil, end
	}
	if t.bytes += len(pcs) + 64; t.bytes > keptStacks {
		t.known, t.bytes = map[uint32][]byte{}, len(pcs)+64
	}
	t.known[number] = pcs
	return pcs, end
}

// guarded is follow in memory that may not be there.
func (t *Stacks) guarded(number uint32) (pcs []byte) {
	var err error
	defer t.shared.Guard(&err)()
	return t.follow(number)
}

// follow collects the frames from the outermost to the first.
func (t *Stacks) follow(number uint32) []byte {
	if number&StackKnown == 0 || t.shared.mem == nil {
		return nil
	}
	var list [maxStack]uint64
	for n, place := 0, number%(1<<t.bits); n < maxStack; n++ {
		w := atomic.LoadUint64(t.node(place))
		d := uint32(w % (1 << StackShift))
		if d == 0 || d > StackProbes {
			return nil
		}
		pc := w &^ StackFirst >> StackShift
		list[n] = pc
		if w&StackFirst != 0 {
			return innermostFirst(list[:n+1])
		}
		place = (place - (d - 1) - stackHome(0, pc, t.bits)) * parentInverse % (1 << t.bits)
	}
	return nil
}

// innermostFirst returns the words in the opposite order.
func innermostFirst(list []uint64) []byte {
	b := make([]byte, 0, 8*len(list))
	for i := range list {
		b = binary.LittleEndian.AppendUint64(b, list[len(list)-1-i])
	}
	return b
}

func (t *Stacks) node(place uint32) *uint64 {
	return t.shared.word(t.off + StacksNodes + 8*uint64(place))
}

// Full returns how many stacks found no place.
func (t *Stacks) Full() uint64 { return atomic.LoadUint64(t.shared.word(t.off)) }

// Intern enters a stack as hit programs do, which is the meaning of ir.Intern. It returns 0 if there is no place.
func (t *Stacks) Intern(pcs []uint64, end uint8) uint32 {
	node := uint32(0)
	for i, pc := range pcs {
		place, ok := t.enter(stackHome(node, pc, t.bits), StackWord(pc, i == 0))
		if !ok {
			atomic.AddUint64(t.shared.word(t.off), 1)
			return 0
		}
		node = place
	}
	return node + StackEnd*uint32(end) + StackKnown
}

// enter finds or makes the node whose word at its home is w.
func (t *Stacks) enter(home uint32, w uint64) (place uint32, ok bool) {
	for d := range uint32(StackProbes) {
		place, w := (home+d)%(1<<t.bits), w+uint64(d)
		for {
			switch was := atomic.LoadUint64(t.node(place)); {
			case was == w:
				return place, true
			case was == 0:
				if atomic.CompareAndSwapUint64(t.node(place), 0, w) {
					return place, true
				}
				continue
			}
			break
		}
	}
	return 0, false
}
