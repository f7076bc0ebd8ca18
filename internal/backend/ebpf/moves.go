package ebpf

import "github.com/cilium/ebpf/asm"

// move is one of several copies done all at once. from is locNone for a number.
type move struct {
	to, from loc
	number   uint64
}

// moves does parallel copies: first those whose target is not read any more; a cycle of copies is broken
// through the scratch register; constants last.
func (od *operands) moves(ms []move) {
	var pending, numbers []move
	for _, m := range ms {
		if m.from.kind == locNone {
			numbers = append(numbers, m)
		} else if m.from != m.to {
			pending = append(pending, m)
		}
	}
	for len(pending) > 0 {
		n := ready(pending)
		if n < 0 {
			// A ring: what the first target holds is still to be read.
			kept := loc{kind: locReg, r: scratch}
			first := pending[0].to
			od.move(kept, first)
			for k := range pending {
				if pending[k].from == first {
					pending[k].from = kept
				}
			}
			continue
		}
		od.move(pending[n].to, pending[n].from)
		pending = append(pending[:n], pending[n+1:]...)
	}
	for _, m := range numbers {
		if m.to.kind == locReg {
			od.movImm(m.to.r, int64(m.number))
			continue
		}
		if k := int64(m.number); k == int64(int32(k)) {
			od.storeImm(asm.R10, slotOffset(m.to.slot), 8, k)
			continue
		}
		od.movImm(scratch, int64(m.number))
		od.move(m.to, loc{kind: locReg, r: scratch})
	}
}

// ready finds a move whose target is no other's source.
func ready(ms []move) int {
next:
	for n := range ms {
		for k := range ms {
			if k != n && ms[k].from == ms[n].to {
				continue next
			}
		}
		return n
	}
	return -1
}

func (od *operands) move(to, from loc) {
	switch {
	case to.kind == locReg && from.kind == locReg:
		od.mov(to.r, from.r)
	case to.kind == locReg:
		od.emit(asm.LoadMem(to.r, asm.R10, slotOffset(from.slot), asm.DWord))
	case from.kind == locReg:
		od.emit(asm.StoreMem(asm.R10, slotOffset(to.slot), from.r, asm.DWord))
	default:
		r := od.extra()
		od.emit(asm.LoadMem(r, asm.R10, slotOffset(from.slot), asm.DWord))
		od.emit(asm.StoreMem(asm.R10, slotOffset(to.slot), r, asm.DWord))
	}
}
