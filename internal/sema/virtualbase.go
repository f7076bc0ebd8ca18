package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
)

// basePart is a virtual base of an object that is collected whole, or of one of its parts.
type basePart struct {
	event.VirtualBase
	field ctype.Field // of the class In
	data  int64       // bytes to copy
	parts []*basePart // of the base itself
	slot  slotID
	state slotID
}

// Limits of one field.
const (
	maxBaseParts = 256
	maxBaseSteps = 1 << 14
)

// virtualBases plans the virtual bases of object e and of its parts, in the order in which they are shown. Those
// beyond the limits have no value.
func (co *collector) virtualBases(e expr) []*basePart {
	if s := shapeOf(e); !s.mem || s.ctx {
		return nil
	}
	f := &baseFinder{steps: maxBaseSteps, parts: maxBaseParts, room: groupLimit}
	return f.in(nil, e.Type().Strip(), 0, &wholeObject{}, 0)
}

// baseFinder goes through the parts of an object.
type baseFinder struct {
	steps, parts int
	room         int64
}

// wholeObject is an object that is no base of another. The virtual bases in it and its bases are shared.
type wholeObject struct{ shown []*ctype.Type }

func (w *wholeObject) first(class *ctype.Type) bool {
	for _, c := range w.shown {
		if ctype.SameClass(c, class) {
			return false
		}
	}
	w.shown = append(w.shown, class)
	return true
}

// in adds to list the virtual bases of the part of type s at byte off. The part is a base in object w, or w itself.
func (f *baseFinder) in(list []*basePart, s *ctype.Type, off int64, w *wholeObject, depth int) []*basePart {
	f.steps--
	switch {
	case f.steps < 0 || depth > maxNesting:
		return list
	case s.Kind == ctype.Array && s.Elem != nil && s.Count > 0:
		elem := s.Elem.Strip()
		if elem.Kind != ctype.Array && !isRecord(elem) || elem.Size <= 0 {
			return list
		}
		for i := range s.Count {
			n := len(list)
			list = f.in(list, elem, off+i*elem.Size, &wholeObject{}, depth+1)
			if n == len(list) {
				break // nor has the next element any
			}
		}
		return list
	case !isRecord(s) || s.Incomplete:
		return list
	}
	for i, m := range s.Fields() {
		if m.Type == nil || m.BitSize > 0 {
			continue
		}
		switch t := m.Type.Strip(); {
		case m.Base && m.Virtual:
			list = f.base(list, s, i, off, w, depth)
		case m.Base:
			list = f.in(list, t, off+m.BitOffset/8, w, depth+1)
		case isRecord(t) || t.Kind == ctype.Array:
			list = f.in(list, t, off+m.BitOffset/8, &wholeObject{}, depth+1)
		}
	}
	return list
}

// base adds virtual base i of class s, of the object at byte off.
func (f *baseFinder) base(list []*basePart, s *ctype.Type, i int, off int64, w *wholeObject, depth int) []*basePart {
	m := s.Fields()[i]
	b := &basePart{field: m, VirtualBase: event.VirtualBase{In: s, Index: i, At: off, StatusOffset: -1}}
	t := m.Type.Strip()
	size := event.BaseHeader + dataSize(t, 0)
	switch {
	case !w.first(t):
		b.Again = true
		return append(list, b)
	case m.VtableOffset >= 0 || t.Incomplete || f.parts <= 0 || f.room < size:
		return append(list, b) // without a slot
	}
	f.parts--
	f.room -= size
	b.data, b.Size = size-event.BaseHeader, int(size)
	b.parts = f.in(nil, t, 0, w, depth+1)
	return append(list, b)
}

// dataSize is the number of bytes up to the end of the last member of a class that has a fixed place. What lies
// behind may belong to another object if the class is a base.
func dataSize(s *ctype.Type, depth int) int64 {
	if depth > maxNesting {
		return s.Size
	}
	end := int64(0)
	for _, m := range s.Fields() {
		if m.Virtual || m.Type == nil {
			continue
		}
		t := m.Type.Strip()
		last := m.BitOffset + m.BitSize
		if m.BitSize == 0 {
			size := t.Size
			if m.Base {
				size = dataSize(t, depth+1)
			}
			last = m.BitOffset + 8*max(0, size)
		}
		end = max(end, (last+7)/8)
	}
	return min(end, max(s.Size, 0))
}

// basesSize is the room that the parts take in the record.
func basesSize(list []*basePart) (n int64) {
	for _, b := range list {
		n += int64(b.Size) + basesSize(b.parts)
	}
	return n
}

// takeBases takes the virtual bases of the object at an address. A fault skips that base and its own.
func (l *lowerer) takeBases(list []*basePart, object sym) {
	outer := l.traps
	for _, b := range list {
		if b.Size == 0 {
			continue
		}
		l.traps = &traps{}
		b.slot = l.rec.add(slot{size: int64(b.Size), align: 8})
		at := object.plus(b.At)
		at.trust = noTrust
		table := l.loadWord(at, 8)
		l.put(table, 8, b.slot.imm(0))
		distance := l.loadWord(sym{v: table, off: b.field.VtableOffset}, 8)
		l.put(distance, 8, b.slot.imm(8))
		base := sym{v: l.b.Bin(ir.Add, 8, l.word(at), distance)}
		if b.data > 0 {
			l.copy(ir.Copy, l.word(base), ir.None, b.slot.imm(event.BaseHeader), b.data, l.faultFor(base))
		}
		l.takeBases(b.parts, base)
		l.endField("base "+b.field.Name, []failing{{l.traps, b.slot, &b.state}})
	}
	l.traps = outer
}

// bases are the schema's entries for virtual bases.
func (r *record) bases(list []*basePart) (out []event.VirtualBase) {
	for _, b := range list {
		x := b.VirtualBase
		x.StatusOffset = r.offset(b.state)
		if b.slot != 0 {
			x.Offset = r.offset(b.slot)
		}
		x.Bases = r.bases(b.parts)
		out = append(out, x)
	}
	return out
}
