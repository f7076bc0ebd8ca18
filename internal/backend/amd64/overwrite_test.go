package amd64

import (
	"fmt"
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ring"
)

// overwriting chooses the state of rings that are overwritten.
func (tr *trial) overwriting(r *rand.Rand) {
	in := &tr.in
	in.Overwrite, in.Consumed = 1, uint64(r.Intn(1<<20)) // which does not matter
	if off := in.RingPos % subSize; off > 0 && off < ring.PacketHead+ring.ContextSize+ring.EventHead {
		in.RingPos += subSize / 2 // nothing ends before
	}
	next := (in.RingPos + subSize - 1) &^ (subSize - 1)
	switch {
	case !tr.state.RecordRoom && !tr.tooLarge():
		in.Busy = 1<<32 - 1
	case r.Intn(2) == 0:
		in.Busy = uint64(r.Uint32() & r.Uint32() &^ (1 << (next % ringSize / subSize) << uint(r.Intn(3)))) // room within half of the ring
		for k := range uint64(2) {
			in.Busy &^= 1 << ((next/subSize + 2 + k) % (ringSize / subSize))
		}
	}
	if tr.cfg.Layout.Registered != 0 && in.Busy == 0 && r.Intn(3) == 0 {
		in.Claim = next + subSize*uint64(r.Intn(3))
	}
}

// passes reports whether a sub-buffer is passed over when one begins, in a ring.
func (tr *trial) passes(pos, ringNo uint64) bool {
	in := &tr.in
	if in.Claim != 0 && ringNo < execRings/2 {
		return pos != in.Claim
	}
	return in.Busy>>(pos%ringSize/subSize)&1 != 0 || pos == in.Claim
}

// verifyTable: what was reserved is complete, and nothing else has changed.
func (tr *trial) verifyTable(out *caseOut) error {
	in := &tr.in
	end := out.Pos + out.RecLen
	begins := (out.Pos-1)/subSize != (end-1)/subSize
	for i, used := range out.Subs {
		want := uint64(subSize / 8)
		at := func(pos uint64) bool { return uint64(i) == pos%ringSize/subSize }
		switch {
		case at(end - 1):
			want = ((end-1)%subSize + 1) / 8
		case out.Pos%subSize != 0 && at(out.Pos) && begins: // with a filler
		case in.Claim != 0 && at(in.Claim):
			want = 0
		case in.Busy>>i&1 != 0:
			want = 5
		}
		if used != want {
			return fmt.Errorf("%d units of sub-buffer %d are complete, not %d; %#x to %#x were reserved", used, i, want, out.Pos, end)
		}
	}
	return nil
}
