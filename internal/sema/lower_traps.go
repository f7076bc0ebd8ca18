package sema

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
)

// trap is a way in which an evaluation can fail at the hit.
type trap uint8

const (
	trapUnreadable trap = iota // its block has the address as parameter
	trapDivide
	trapBounds
	trapIndex
	trapNoEntry
	trapAtEntry
	trapNoValue // the caller does not have what the function was entered with
	trapNotAllocated
	trapNotAssociated
	trapOtherFrame
	trapNoThread // jalon does not know the thread
	numTraps
)

var (
	trapStatus = [numTraps]event.Status{event.Unreadable, event.DivideByZero, event.BadBounds, event.BadIndex, event.NoEntry, event.FailedAtEntry, event.OptimisedOut, event.NotAllocated, event.NotAssociated, event.OtherFrame, event.OptimisedOut}
	trapNotes  = [numTraps]string{"unreadable", "division by zero", "bad count", "bad index", "no entry", "failed at the entry", "optimised out", "not allocated", "not associated", "another caller", "unknown thread"}
)

// traps are the blocks that the faults of one field (or the condition) lead to,
// made when first needed.
type traps struct {
	block [numTraps]ir.BlockID
	made  [numTraps]bool
}

func (t *traps) at(em *emitter, k trap) ir.BlockID {
	if !t.made[k] {
		var params []ir.Class
		if k == trapUnreadable {
			params = []ir.Class{ir.I64}
		}
		t.block[k], t.made[k] = em.b.NewBlock(trapNotes[k], params...), true
	}
	return t.block[k]
}

func (t *traps) each(f func(trap, ir.BlockID)) {
	for k := range numTraps {
		if t.made[k] {
			f(k, t.block[k])
		}
	}
}

func (t *traps) any() bool { return t.made != [numTraps]bool{} }
