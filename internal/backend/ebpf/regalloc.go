package ebpf

import (
	"sort"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

type locKind uint8

const (
	locNone locKind = iota
	locReg
	locSpill
)

// loc is where a value lives for its whole interval.
type loc struct {
	kind locKind
	r    asm.Register
	slot int // of the stack, in units of 8 bytes below the frame pointer, from 0
}

// r0 takes the results of calls and is scratch everywhere. When one scratch
// register is not enough for a program (a spilled operand and a spilled result),
// secondScratch is withheld from values, too.
const (
	scratch       = asm.R0
	secondScratch = asm.R5
	firstSaved    = asm.R6 // r6 to r9 survive calls
	lastRegister  = asm.R9
)

// preference is the order in which registers are given out. r1 to r3 take the
// arguments of calls, so they come last among those that calls destroy.
var preference = []asm.Register{asm.R4, asm.R5, asm.R3, asm.R2, asm.R1, asm.R6, asm.R7, asm.R8, asm.R9}

// allocation is the result of the register allocator.
type allocation struct {
	loc   []loc
	held  [lastRegister + 1][]ir.Value // what each register holds, by position
	slots int
}

type allocator struct {
	l        *liveness
	out      *allocation
	withheld asm.Register // R0: none
}

// allocate gives each value a register or a stack slot: linear scan in
// the order of definition, whole intervals, no splitting.
func allocate(l *liveness, withheld asm.Register) *allocation {
	al := &allocator{l: l, withheld: withheld, out: &allocation{loc: make([]loc, len(l.iv))}}
	var order []ir.Value
	for v, iv := range l.iv {
		if iv.from < iv.to {
			order = append(order, ir.Value(v))
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return l.iv[order[i]].from < l.iv[order[j]].from })
	for _, v := range order {
		al.place(v)
	}
	al.assignSlots(order)
	return al.out
}

// free reports whether r is not taken at the start of iv and not destroyed in it.
func (al *allocator) free(r asm.Register, iv interval, crosses bool) bool {
	if r == al.withheld || crosses && r < firstSaved {
		return false
	}
	vs := al.out.held[r]
	return len(vs) == 0 || al.l.iv[vs[len(vs)-1]].to < iv.from
}

func (al *allocator) place(v ir.Value) {
	iv := al.l.iv[v]
	crosses := al.l.crosses(iv)
	if v == al.l.an.context() && al.free(asm.R1, iv, crosses) {
		al.assign(v, asm.R1)
		return
	}
	if iv.hint != ir.None {
		if h := al.out.loc[iv.hint]; h.kind == locReg && al.free(h.r, iv, crosses) {
			al.assign(v, h.r)
			return
		}
	}
	for _, r := range preference {
		if al.free(r, iv, crosses) {
			al.assign(v, r)
			return
		}
	}
	al.spillFor(v, iv, crosses)
}

func (al *allocator) assign(v ir.Value, r asm.Register) {
	al.out.loc[v] = loc{kind: locReg, r: r}
	al.out.held[r] = append(al.out.held[r], v)
}

// spillFor spills v, or the value that lives longest of those whose register
// v can have.
func (al *allocator) spillFor(v ir.Value, iv interval, crosses bool) {
	victim, last := asm.R0, iv.to
	for _, r := range preference {
		if r == al.withheld || crosses && r < firstSaved {
			continue
		}
		vs := al.out.held[r]
		if o := vs[len(vs)-1]; al.l.iv[o].to > last && o != al.l.an.record() {
			victim, last = r, al.l.iv[o].to
		}
	}
	if victim == asm.R0 {
		al.out.loc[v] = loc{kind: locSpill}
		return
	}
	vs := al.out.held[victim]
	al.out.loc[vs[len(vs)-1]] = loc{kind: locSpill}
	al.out.held[victim] = vs[:len(vs)-1]
	al.assign(v, victim)
}

// assignSlots shares stack slots between spilled values that do not live at the
// same time.
func (al *allocator) assignSlots(order []ir.Value) {
	var busy []int32 // by slot: the end of the last interval
	for _, v := range order {
		if al.out.loc[v].kind != locSpill {
			continue
		}
		iv, slot := al.l.iv[v], 0
		for slot < len(busy) && busy[slot] >= iv.from {
			slot++
		}
		if slot == len(busy) {
			busy = append(busy, 0)
		}
		busy[slot] = iv.to
		al.out.loc[v].slot = slot
	}
	al.out.slots = len(busy)
}
