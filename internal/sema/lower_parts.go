package sema

import (
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// part is a part of the hit that is not executed at each hit: what is between a Begin and its End.
type part struct {
	skip   ir.BlockID       // where the hit goes without it
	before map[int]ir.Value // the locals there
}

// sequence emits actions and items in their order. A local that a part keeps is a parameter of the block behind the part: without the
// part it has the value from before, or 0.
type sequence struct {
	*lowerer
	plans []*plan
	parts []part
	last  map[int]int // the last step that uses a local
	step  int
}

// inParts reports whether a list of actions has parts.
func inParts(list []*action) bool {
	return slices.ContainsFunc(list, func(a *action) bool { return a.Do == Begin })
}

// sequence emits actions, each of them behind the first After items of the collect list.
func (l *lowerer) sequence(list []*action, plans []*plan) {
	s := &sequence{lowerer: l, plans: plans, last: lastUses(list, plans)}
	if l.locals == nil {
		l.locals = map[int]ir.Value{}
	}
	for _, a := range list {
		s.items(a.After, a)
		s.action(a)
		s.step++
	}
	s.items(-1, nil)
}

// items emits the items before number n; -1: all.
func (s *sequence) items(n int, next *action) {
	for len(s.plans) > 0 && (n < 0 || s.plans[0].item < n) {
		p := s.plans[0]
		if next == nil || next.Do != Taken || p.item != n-1 {
			s.field(p)
		} else {
			s.taken(p, next.Local)
		}
		s.plans = s.plans[1:]
		s.step++
	}
}

func (s *sequence) action(a *action) {
	switch a.Do {
	case Begin:
		s.begin(a)
	case End:
		s.end()
	case Taken:
		if s.in.NoRecord {
			s.keepLocal(a)
		}
	case Keep:
		s.keepLocal(a)
	default:
		s.change(a, false)
	}
}

// taken emits an item and keeps its value; 0 if it has none.
func (s *sequence) taken(p *plan, local int) {
	s.traps = &traps{}
	fs := s.newSlot(8, 8)
	v := s.value(p.x)
	s.put(v, 8, fs.value.imm(0))
	with := s.b.NewBlock("taken", ir.I64)
	s.b.Jump(with, v)
	f := failing{s.traps, fs.value, &fs.status}
	if f.traps.any() {
		none := s.b.NewBlock("not taken")
		s.failed(f, none)
		s.b.Start(none)
		s.b.Jump(with, s.b.Const(0))
	}
	s.b.Start(with)
	s.locals[local] = s.b.Param(with, 0)
	if s.rec.fields == nil {
		s.rec.fields = map[*plan]fieldSlots{}
	}
	s.rec.fields[p] = fs
}

// begin emits the branch to a part, or past it. A condition that cannot be evaluated does not hold.
func (s *sequence) begin(a *action) {
	s.traps = &traps{}
	yes, skip := s.b.NewBlock("part"), s.b.NewBlock("without the part")
	s.parts = append(s.parts, part{skip, maps.Clone(s.locals)})
	s.branch(a.cond, yes, skip)
	s.traps.each(func(_ trap, blk ir.BlockID) {
		s.b.Start(blk)
		s.count(ring.CounterCondFault)
		s.b.Jump(skip)
	})
	s.b.Start(yes)
}

// end emits the way behind a part.
func (s *sequence) end() {
	p := s.parts[len(s.parts)-1]
	s.parts = s.parts[:len(s.parts)-1]
	var kept []int
	for _, n := range slices.Sorted(maps.Keys(s.locals)) {
		old, has := p.before[n]
		switch {
		case has && old == s.locals[n]:
		case s.last[n] > s.step:
			kept = append(kept, n)
		default:
			delete(s.locals, n)
		}
	}
	classes := make([]ir.Class, len(kept))
	behind := s.b.NewBlock("behind the part", classes...)
	with := make([]ir.Value, len(kept))
	for i, n := range kept {
		with[i] = s.locals[n]
	}
	s.b.Jump(behind, with...)
	s.b.Start(p.skip)
	without := make([]ir.Value, len(kept))
	zero := ir.None
	for i, n := range kept {
		if v, has := p.before[n]; has {
			without[i] = v
			continue
		}
		if zero == ir.None {
			zero = s.b.Const(0)
		}
		without[i] = zero
	}
	s.b.Jump(behind, without...)
	s.b.Start(behind)
	for i, n := range kept {
		s.locals[n] = s.b.Param(behind, i)
	}
}

// lastUses is the last step of a sequence that uses a local, by its number.
func lastUses(list []*action, plans []*plan) map[int]int {
	last, step := map[int]int{}, 0
	use := func(locals []int) {
		for _, n := range locals {
			last[n] = step
		}
		step++
	}
	for _, a := range list {
		for ; len(plans) > 0 && plans[0].item < a.After; plans = plans[1:] {
			use(plans[0].locals)
		}
		use(a.uses)
	}
	for _, p := range plans {
		use(p.locals)
	}
	return last
}
