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
// Reader protocol (Snapshot), for each sub-buffer; the writers do not wait for it and it stores nothing:
//
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

// MaxOverwrite is the largest ring that can be overwritten.
const MaxOverwrite = MaxSubs * 128 << 10

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
