// Package maps defines the tables that hit programs keep from one hit to the next, in memory that the code at the sites,
// jalon and programs in the kernel write to. This file has the layout and the protocol.
//
// Import rule: maps imports nothing of jalon.
package maps

import "math/bits"

// A table, in memory that is zero at first and aligned to Align:
//
//	+0           u64 keys for which there was no room (writers, atomic)
//	+8           i64 keys for which there still is room, with Limit; jalon stores Limit there at first (writers and jalon, atomic)
//	+HeaderSize  slots, Stride bytes each: Slots, and Window-1 more; with Single one
//	+CellsAt     sets of cells: Sets, SetStride bytes each
//
// A slot:
//
//	+0       u64 tag: 0 if the slot is free; otherwise the upper 62 bits of the key's hash, and the state in the low 2 bits
//	+8       the words of the key: 2 + More; with Single none
//	+Value   without cells, words of the value
//
// With cells, each set has a cell for each slot, in the order of the slots and at the same distance: the words of a value
// as one kind of writer on one CPU has changed them. A reader adds them up, or takes the largest. In a process the first half
// of the sets is for threads that write in restartable sequences, the other half for those that write with a lock;
// programs of the kernel have one set a CPU, or of several CPUs where a table would be too large, and write with a lock, since others interrupt them there.
//
// The slot of a key is one of the Window slots from Index on. Slots are taken in order. Hits never give one back, or to another key, so a slot that a hit
// has found is that of its key until the hit ends, whatever interrupts it, for however long. A key that is deleted keeps its slot, hidden, until jalon gives
// the slot back: see 9.
//
// To find a key:
//
//  1. for each slot of the window, in order: load the tag.
//  2. 0: the key is not there, and was not when the tag was loaded, except where the window was passed by 6.
//  3. another hash, claimed, retired or gone: go on with the next slot. A claimed slot may be of this very key; see 6.
//  4. the hash, and hidden or shown: the words of the key do not change any more. If they are those of the key, this is its
//     slot. Otherwise go on.
//  5. after the window: the key is not there, and there is no room for it.
//
// To insert a key, where 2 finds a free slot:
//
//  6. lock cmpxchg tag: 0 -> hash | Claimed. If it fails, go to 1, with the first slot of the window: another
//     thread has taken the slot, so all together make progress. (Programs of the kernel, which must end, go on with the
//     same slot, which has a tag now.) From here to 8 the slot is of no use for
//     anything else. A thread that ends in between, or leaves by longjmp from a signal handler, loses one slot: nothing waits
//     for it. Another thread that inserts the same key meanwhile looks at the slot again, Claims times at most, and then takes a further slot of the
//     window. The key has two slots then. From 8 on all writers use the first one, and what was written to the other one
//     remains there: a reader of sums adds up the slots of one key. Where a key belongs to one thread at a time, as the
//     address of a frame does, this does not happen.
//  7. store the words of the key. The value is zero.
//  8. store the tag: hash | Hidden. Behind 7, and x86 stores are seen in order: a thread that sees this tag sees the key.
//
// With Limit there may be room in the window, and none for another key: before 6, Room is made less by 1. If it was 0, that is undone, and the slot is
// passed as one of another key: 5 follows. It is undone also if 6 fails. (Programs of the kernel only look at Room before 6, and make it less behind 6. If
// it was 0 then, they leave the slot with Gone.) A writer that ends in between takes away the room of one key.
//
// In a map whose values are read at the sites (one of the session without cells) a key must not have two slots: what was written to
// the second one could not be found. There, a slot that is claimed with the key's hash is never passed. Its thread has published it
// soon, except if it was interrupted or has ended between 6 and 8: then the update
// is counted at Full, and has no effect. That it is claimed is seen in the tag that 3 and 4 have compared: a tag that is loaded once more may be that of a slot
// that was published in between, which must not be passed.
//
// To show or hide a key, its writer changes bit 0 of the tag by one plain instruction: all other bits of the tag are
// constant since 8, so two threads that do this at the same time leave one of the two results. Words of a value are
// loaded and stored whole, each by itself: a value of several words belongs to one writer at a time.
//
// The only slot of a table with Single needs no search, and its tag is 0 or Shown.
//
// No step waits for another thread, and every state between two steps is one that other threads can meet for ever:
// writers may be killed anywhere. The contents may be anything, since the traced program can write there: the code
// looks at Window slots from an index that is masked, and never follows what it has read.
//
// A slot is given to another key only when all hits have ended that may have found it. Code of a process can be stopped: slots with values, of keys that are
// no longer needed, are given back there by the tracer, with the threads stopped outside of hit programs (Compact). Programs of the kernel cannot be stopped,
// and interrupt each other. So where the kernel uses the table too, slots of keys that were deleted (Shape.Reuse) are given back while hits go on
// (RetireDeleted, FreeDeleted):
//
//  9. jalon: lock cmpxchg tag: hash | Hidden -> hash, which is Retired. (A tag that would be 0, Gone or Freeing then is never retired.) MapFind passes the slot,
//     as it does a hidden one. A hit that has found it before may still show or hide its key: then the tag is Shown or Hidden again, never Retired.
//  10. A hit that inserts the key and meets its slot retired: lock cmpxchg tag: hash | Retired -> hash | Hidden; then it looks at the slot again. So the key
//     gets no second slot, and its old one is not given back this time.
//  11. jalon waits until all hits have ended that had begun at 9 (engine.Engine.Grace, of both engines where both use the table). A hit keeps no slot for the
//     next one. So what has the slot's address now has found it after 9, and has changed its tag by 10.
//  12. jalon: lock cmpxchg tag: hash | Retired -> Freeing. If it fails, the slot stays the key's. Otherwise no hit has the slot, and none finds it any more.
//  13. It stores zero in the value and in the words of the key, then the tag Gone. The tag is not 0, because keys that lie behind would not be found any more.
//     So hits pass it, and take it only in place of 5: lock cmpxchg tag: Gone -> hash | Claimed.
//  14. Two hits that insert one key may see different slots gone. So before 7 each looks through the window: where another slot has the key's hash, it leaves
//     its own with Gone, and the update is counted at Full. One of the two sees the other: each looks when its own claim can be seen. Sums need not do that.
//
// Slots with cells are given back while hits go on, in both engines, with less, since nothing reads them but jalon,
// which has a value of its own for each key that it adds to that of the slots (Retire, Free):
//
//  15. jalon: lock cmpxchg tag: hash | Hidden -> hash, which is Retired; then Room is made more by 1. From here on no search finds the slot. A hit that needs the
//     key takes another slot for it. Hits that found this one before may still change its cells. All cells count as before: a reader finds them under
//     the key, whose words stay.
//  16. jalon waits until all hits have ended that had begun at 15 (engine.Engine.Grace). A hit keeps no slot for the next one, so nothing has the address of the slot
//     any more. If a hit has changed the tag meanwhile, since it showed the key, the slot is as before, and stays.
//  17. jalon adds what the cells have to its own value of the key. The slot is jalon's alone now: between 17 and 18 no hit and no other reader looks at it.
//  18. It stores zero in the cells and in the words of the key.
//  19. It stores the tag Gone. From here on the slot is free, for any key, as by 13.
//  20. Where the next slot has the tag 0, or this slot is the last one, no search continues behind it: lock cmpxchg tag: Gone -> 0, from behind. A hit may have passed the slot before,
//     and take the next one now: then the search for that key ends here, and the key gets a second slot, as it does by 6.
//
// jalon may be killed between any two of these: hits meet a slot that they pass, from Gone on one that they may take. What is lost then is lost with jalon, which alone reads it.
const (
	HeaderSize = 64
	Full       = 0
	Room       = 8

	Tag = 0
	Key = 8

	// Window is how many slots a key may be in.
	Window = 16
	// Claims is how often a writer looks again at a slot that another one has claimed for the same key.
	Claims = 1000
	// Align is the distance between memory that different CPUs write to: processors fetch pairs of lines.
	Align = 128
)

// The states of a slot, in the low bits of its tag. Retired is that of a tag that is neither 0 nor Gone nor Freeing.
const (
	Retired   = 0
	Claimed   = 1
	Hidden    = 2
	Shown     = 3
	StateMask = 3
)

// Tags of slots that no key has, and that a search passes: Gone may be taken, Freeing not yet.
const (
	Gone    = 4
	Freeing = 8
)

// The factors of Hash: odd, with bits without a pattern.
const (
	Factor0 = 0x9e3779b97f4a7c15
	Factor1 = 0xc2b2ae3d27d4eb4f
)

// HashFold is how far the hash is shifted and mixed with itself before a further word.
const HashFold = 32

// Hash is the hash of a key. Its upper bits choose the slot.
func Hash(key ...uint64) uint64 {
	h := key[0]*Factor0 + key[1]*Factor1
	for _, w := range key[2:] {
		h = (h ^ h>>HashFold + w) * Factor0
	}
	return h
}

// Shape is the form of a table.
type Shape struct {
	Slots  int  // a power of two
	Words  int  // of a value
	More   int  // words of a key, beside the first two
	Single bool // one slot, without key
	Sets   int  // of cells; 0: the values are in the slots
	Limit  int  // keys that the table takes; 0: as many as find a slot
	// Reuse: jalon gives back the slots of deleted keys while hits go on. There are no cells.
	Reuse bool
}

// KeyWords is the number of words of a key.
func (s Shape) KeyWords() int {
	if s.Single {
		return 0
	}
	return 2 + s.More
}

// Value is the offset of the value in a slot, or in a cell.
func (s Shape) Value() int {
	if s.Sets > 0 {
		return 0
	}
	return Key + 8*s.KeyWords()
}

// Stride is the distance of slots, and of cells: a power of two.
func (s Shape) Stride() uint64 {
	return 1 << bits.Len64(uint64(max(Key+8*s.KeyWords(), s.Value()+8*s.Words))-1)
}

// Count is the number of slots.
func (s Shape) Count() int {
	if s.Single {
		return 1
	}
	return s.Slots + Window - 1
}

func aligned(n uint64) uint64 { return (n + Align - 1) &^ (Align - 1) }

// CellsAt is where the cells begin.
func (s Shape) CellsAt() uint64 { return aligned(HeaderSize + uint64(s.Count())*s.Stride()) }

// SetStride is the distance of the sets of cells.
func (s Shape) SetStride() uint64 { return aligned(uint64(s.Count()) * s.Stride()) }

// Bytes is the size of the table.
func (s Shape) Bytes() uint64 { return s.CellsAt() + uint64(s.Sets)*s.SetStride() }

// Fit is the shape with which a table has at most so many bytes: with fewer sets of cells, down to `sets`, and then with fewer slots, down to `slots`, and fewer
// keys, so that each finds a slot.
func (s Shape) Fit(bytes uint64, sets, slots int) Shape {
	for s.Bytes() > bytes && s.Sets > sets {
		s.Sets /= 2
	}
	for s.Bytes() > bytes && s.Slots > slots {
		s.Slots /= 2
		s.Limit = min(s.Limit, max(s.Slots/2, 1))
	}
	return s
}

// IndexShift is how far a hash is shifted right to give the index; 64: the index is 0.
func (s Shape) IndexShift() int { return 64 - bits.TrailingZeros64(uint64(s.Slots)) }

// Index is the first slot for a hash.
func (s Shape) Index(hash uint64) uint64 { return hash >> s.IndexShift() }

// Table is a table with its address, for the code generator.
type Table struct {
	Shape
	Addr uint64
}
