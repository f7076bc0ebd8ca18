package regalloc

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/test/testkit"
)

// paper is a machine of a few registers, some of which are destroyed at some positions.
type paper struct {
	regs      []Reg
	destroyed map[int32]Reg
	pinned    ir.Value
}

func (p *paper) Registers(ir.Value) []Reg                           { return p.regs }
func (p *paper) Wanted(_ ir.Value, hinted Reg, ok bool) (Reg, bool) { return hinted, ok }
func (p *paper) Cost(r Reg, used bool) int                          { return int(r) }
func (p *paper) Pinned(v ir.Value) bool                             { return v == p.pinned }
func (p *paper) Destroyed(r Reg, iv Interval) bool {
	for pos, d := range p.destroyed {
		if d == r && iv.From <= pos && pos <= iv.To {
			return true
		}
	}
	return false
}

// TestAllocate: whatever the lives are, each value that needs a place has one; two that
// live at the same time have different ones; none is in a register that is destroyed
// meanwhile.
func TestAllocate(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	spilled, shared := 0, 0
	for range 3000 {
		n := 1 + r.Intn(40)
		l := &Liveness{Lives: make([]Interval, n)}
		for v := range l.Lives {
			from := int32(r.Intn(200))
			l.Lives[v] = Interval{From: from, To: from + int32(r.Intn(60)) - 5, Hint: ir.None}
			if v > 0 && r.Intn(2) == 0 {
				l.Lives[v].Hint = ir.Value(r.Intn(v))
			}
		}
		m := &paper{destroyed: map[int32]Reg{}, pinned: ir.Value(r.Intn(n))}
		for k := range 1 + r.Intn(6) {
			m.regs = append(m.regs, Reg(k))
		}
		for range r.Intn(8) {
			m.destroyed[int32(r.Intn(250))] = Reg(r.Intn(6))
		}
		opt := Options{Registers: 8, ShareSlots: r.Intn(2) == 0}
		out := Allocate(l, m, opt)
		count := 0
		for v, at := range out.Places {
			iv := l.Lives[v]
			if iv.Needed() != (at.Kind != Nowhere) {
				t.Fatalf("value %d lives %v and has place %v", v, iv, at)
			}
			if at.Kind == InRegister && m.Destroyed(at.Reg, iv) {
				t.Fatalf("value %d is in a register that is destroyed", v)
			}
			if at.Kind == Spilled {
				if count++; at.Slot < 0 || at.Slot >= out.Slots {
					t.Fatalf("slot %d of %d", at.Slot, out.Slots)
				}
			}
			for w := range v {
				if o := out.Places[w]; o == at && at.Kind != Nowhere && iv.Overlaps(l.Lives[w]) {
					t.Fatalf("values %d and %d live at the same time at %v", v, w, at)
				}
			}
		}
		spilled += count
		shared += count - out.Slots
	}
	if spilled == 0 || shared == 0 {
		t.Errorf("%d values spilled, %d in shared slots", spilled, shared)
	}
}
