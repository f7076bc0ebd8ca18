package sema

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The record:
//
//	+0   header (ring.RecHeader)
//	+24  in the kernel engine, the thread's name (ir.CommSize)
//	     a status byte for each slot that can fail, padded to 8; zero (OK) unless a fault writes it
//	     the slots, each at its alignment
//	     what only long records have: the frames of a stack without a number
//
// Which slots can fail is known when their code is made. Until then record
// operations carry slot number and offset in Imm; finish puts the real offsets in.

// slot is room in the record.
type slot struct {
	size, align int64
	at          int64 // the offset, set by finish
	status      bool  // it is a status byte
	comm        bool  // it is the thread's name, which is before all others
	long        bool  // only long records have it
}

// slotID names a slot; 0 is none.
type slotID int

type record struct {
	slots  []slot
	fields map[*plan]fieldSlots
	number slotID // of a stack's number
}

// What a Reserve has for the size until finish.
const (
	longRecord = iota
	shortRecord
)

// fieldSlots are the slots of one field.
type fieldSlots struct {
	value, status slotID
	skip          int64 // bytes of the slot before the value
	size          int64
	str, strState slotID
	strSize       int64
	copied        slotID // of the copy of a stack that is not followed at the hit
	copiedSize    int64
	addr          slotID // of the value's address, where its text needs it
	grid          slotID // of the extents of an array
}

const slotShift = 32

func (r *record) add(s slot) slotID {
	r.slots = append(r.slots, s)
	return slotID(len(r.slots))
}

// imm is the provisional record offset of byte off of slot id.
func (id slotID) imm(off int64) int64 { return int64(id)<<slotShift + off }

// finish lays the slots out, corrects p, and returns the size of the record, and that of short ones; 0: there are none.
func (r *record) finish(p *ir.Program) (size, short int) {
	at := int64(ring.RecHeader)
	place := func(which func(*slot) bool) {
		for i := range r.slots {
			if s := &r.slots[i]; which(s) {
				at = roundUp(at, s.align)
				s.at = at
				at += s.size
			}
		}
		at = roundUp(at, 8)
	}
	place(func(s *slot) bool { return s.comm })
	place(func(s *slot) bool { return s.status })
	place(func(s *slot) bool { return !s.status && !s.comm && !s.long })
	least := at
	place(func(s *slot) bool { return s.long })
	if at > least {
		short = int(least)
	}
	for in := range p.Instrs() {
		switch {
		case in.Op == ir.Reserve && in.Imm == shortRecord:
			in.Imm = least
		case in.Op == ir.Reserve:
			in.Imm = at
		case in.Op.HasSlot():
			in.Imm = r.slots[in.Imm>>slotShift-1].at + in.Imm&(1<<slotShift-1)
		}
	}
	return int(at), short
}

func roundUp(n, align int64) int64 { return (n + align - 1) / align * align }

func (r *record) offset(id slotID) int {
	if id == 0 {
		return -1
	}
	return int(r.slots[id-1].at)
}

// describe is the schema's entry for a field.
func (r *record) describe(p *plan) event.Field {
	f := p.Field
	s, ok := r.fields[p]
	f.StatusOffset, f.StrStatusOffset = r.offset(s.status), r.offset(s.strState)
	if !ok {
		return f
	}
	f.Offset, f.Size = r.offset(s.value)+int(s.skip), int(s.size)
	if s.copied != 0 {
		c := f
		c.Kind, c.Offset, c.Size = event.Stack, r.offset(s.copied), int(s.copiedSize)
		f.Copied = &c
	}
	if s.addr != 0 {
		f.AddrOffset = r.offset(s.addr)
	}
	if s.grid != 0 {
		f.Grid = r.gridOf(p.grid, s.grid)
	}
	f.Bases, f.Texts = r.bases(p.bases), r.textsOf(p.texts)
	if s.str != 0 {
		f.StrOffset, f.StrSize = r.offset(s.str), int(s.strSize)
	}
	return f
}

// gridOf is the schema's entry for the elements of an array with extents in a slot.
func (r *record) gridOf(g *grid, head slotID) *event.Grid {
	return &event.Grid{Elem: g.from.Elem, Rank: len(g.dims), Offset: r.offset(head)}
}
