package ring

import "sync/atomic"

// In overwrite mode the writers never wait for a reader: a sub-buffer begins where the oldest is, and the reader takes
// snapshots. What is complete in a sub-buffer is counted, so that one is overwritten only when no writer will store to it
// any more. A writer that is stopped for long, or has died, keeps its sub-buffer from being overwritten, and no other.
// The table of the ring's head has for each:
//
//	done   units of 8 bytes that are complete, of all turns. A locked addition: any thread may add
//	base   what done was when the turn began. done - base is the number of complete units of this turn; the sub-buffer is
//	       complete when it is that of the whole (heads, contexts and fillers count too)
//
// Both are modulo 2^32. At first all are complete, but that of the first sub-buffer of a ring of sequences, which is
// claimed (initialise). consumed is not used. No event is longer than a sub-buffer, less its heads.
//
// Differences from the protocol with lock:
//
//	1o. Where a sub-buffer is needed: start = the first one behind old's whose entry is complete. If there is none within
//	    half of the ring: count CounterLost and dropped, give up. Claim it: lock cmpxchg base: old base -> done. It is ours
//	    until 3o: no other writer finds it complete, and since it was complete, no thread stores to it but us. From now on
//	    a reader knows by base that it is overwritten.
//	2o. Load reserved again. If it is past start: base -= units; go to 1o. Take the time.
//	3o. lock cmpxchg reserved: old -> end of the event; if it fails, base -= units and go to 1. A thread that dies between 1o
//	    and 3o leaves a sub-buffer that is not used any more.
//	4o. as 4, but that the filler only goes to the end of old's sub-buffer, and that all bytes of the event are stored: those
//	    without contents are zeroed between 5 and 6, since the room has older contents. Then, after the context's and the event's
//	    heads: done += units of packet's head and context; of old's sub-buffer: done += units of the filler.
//	6o. behind 6: done += units of the event.
//
// Differences from the sequences A and S. A is the same, with 6o behind 6: the room up to limit is its sub-buffer's.
//
//	S2o. In the sequence, where a sub-buffer is needed: if claim >= reserved, a sequence was aborted behind S3o: start = claim.
//	     Otherwise start as in 1o. Nothing is claimed before it is needed, so claim < reserved after each commit.
//	S3o. claim = start; then base = done. done does not change: the entry is complete, or was claimed here. An abort
//	     between the two stores leaves a complete sub-buffer, which the next one claims.
//	S4o. as S4. Then S5, and what 4o adds to done. A thread that dies there leaves two sub-buffers that are not used any more.
//
// Of a ring of sequences, all heads up to reserved are stored before the reservation: what is in a sub-buffer that is not
// complete can be read all the same, without the events with WordPending.
//
// The kernel's programs (Flat) do as writers with lock; programs cannot die, so less is counted by itself:
//
//	1f. as 1o, but that the entry is exchanged as a whole: lock cmpxchg base, done: old base, done -> done, done. It looks at a
//	    bounded number of entries and tries the exchanges a bounded number of times; then the hit is lost, and counted.
//	2f. as 2o. The distance in reserved is not part of the position that is compared.
//	2n. if the event needs no sub-buffer: as 2k, but that the context is only used if done - base is all from the sub-buffer's start
//	    to old. Then all that was reserved before old is complete: what the interrupted program of a lower hit has reserved and not
//	    stored is not. (The room has older contents, which could look like a context of this thread. In a ring that is not
//	    overwritten it is zero.) If the exchange of 3f succeeds, nothing was reserved since 1f, so done had no part of what is behind
//	    old, and old is in the sub-buffer's present turn.
//	3f. as 3o and 3k: with a context of its own the event leaves its distance, without one the distance grows.
//	4f. as 4o. Of done only the filler is added here, to old's sub-buffer, behind the filler's word. A sub-buffer whose entry lacks
//	    something is not read and not begun again: by the interrupted program's own hit it becomes complete.
//	6f. behind 6: done += units of packet's head, context and event, those that it has reserved. The addition returns the old value,
//	    which makes it a barrier also where stores are not seen in order.
//
// A program that is interrupted, or waits for a page, keeps one sub-buffer from being read and from being overwritten, until it
// goes on. Interrupts, and threads of the same CPU, that hit meanwhile reserve behind it, and pass over that sub-buffer when they
// come round to it. In each state between two steps an entry is complete, or claimed by one program that will begin it or undo
// the claim, or of the present turn; only one exchange makes the first the second, and only additions of what was reserved make the
// third the first again.
//
// Reader protocol (Snapshot), for each sub-buffer; the writers do not wait for it and it stores nothing:
//
//	R0. load reserved once. A sub-buffer that begins behind it is for the next snapshot: one before it may have been copied when it was
//	    not full yet, and the rest of that would be missing between the two.
//	R1. load done and base, then reserved.
//	R2. if complete: copy the whole. If the whole room from the head's position to reserved is complete: copy that. done was loaded
//	    before reserved, and all that is complete was reserved before: none of it is missing. Of a ring of sequences, if anything
//	    is complete (so that the head is that of this turn): copy up to reserved, words in order, so that an event whose
//	    word is complete is copied whole.
//	R3. load base again. If it has changed, the sub-buffer was begun again meanwhile: it is torn, and counted. Otherwise none
//	    of what was copied was overwritten: base is stored before anything else of a turn.
//
// The position in a sub-buffer's head gives the order. CounterRecorded less what snapshots have returned is what was
// overwritten before, or is in torn sub-buffers: exactly, when no hit is under way.

// MaxOverwrite is the largest ring that can be overwritten: a snapshot copies it.
const MaxOverwrite = 256 << 20

// initialise makes all sub-buffers ones that can be overwritten.
func (s *Shared) initialise() {
	if !s.g.overwrite() {
		return
	}
	sub := SubSize(s.g.size())
	for n := range s.g.Rings() {
		table := s.g.RingOffset(n) + SubTable
		for i := range s.g.size() / sub {
			base := -uint32(sub / 8)
			if i == 0 && n < s.restartable() {
				base = 0
			}
			atomic.StoreUint64(s.word(table+SubEntry*i), uint64(base)<<32)
		}
	}
}

// restartable is the number of rings of sequences, which are the first ones.
func (s *Shared) restartable() int {
	if s.g.registered() == 0 {
		return 0
	}
	return s.g.cpuRings()
}

// entry is that of a sub-buffer in the table.
type entry uint64

func (e entry) done() uint64 { return uint64(uint32(e)-uint32(e>>32)) * 8 }
func (e entry) base() uint32 { return uint32(e >> 32) }
