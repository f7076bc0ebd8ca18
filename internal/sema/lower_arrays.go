package sema

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

// about computes an expression about an object.
func about(vs *values, object expr, ops []debuginfo.Op) sym {
	return vs.locationOf(vs.byteAddr(vs.place(object)), ops)
}

// arrayData is the address of an array's first element. That there are elements is tested before.
func (vs *values) arrayData(e *arrayData) ir.Value {
	if e.from.Exists != nil {
		there := vs.word(about(vs, e.object, e.from.Exists))
		next := vs.b.NewBlock("array")
		none := vs.traps.at(vs.emitter, absence(e.from))
		vs.b.BranchTo(there, ir.Edge{To: next}, ir.Edge{To: none}, false)
		vs.b.Start(next)
	}
	if e.from.Data == nil {
		return vs.word(vs.byteAddr(vs.place(e.object)))
	}
	return vs.word(about(vs, e.object, e.from.Data))
}

// gridHead is the room in the record for the extents of an array.
func gridHead(g *grid) int64 { return 16*int64(len(g.dims)) + 8 }

// within is the largest number of bytes of whole elements, at least one, in limit and in most.
func (g *grid) within(limit, most int64) int64 {
	size := g.from.Elem.Strip().Size
	return max(size, min(limit, most/size*size))
}

// takeGrid takes the bytes from the lowest to the highest address of an element, and the extents: the reader finds the
// elements.
func (l *lowerer) takeGrid(g *grid, limit int64) fieldSlots {
	size := g.from.Elem.Strip().Size
	fs := l.newSlot(countedHeader+limit, 8)
	fs.grid = l.rec.add(slot{size: gridHead(g), align: 8})
	b, first := l.b, l.value(g.first)
	stride, none := b.Const(size), b.Const(0)
	before, end := b.Const(0), b.Const(size)
	for k, d := range g.dims {
		n := l.elements(d.count)
		if d.stride != nil {
			stride = l.wide(d.stride)
		}
		l.put(n, 8, fs.grid.imm(int64(16*k)))
		l.put(stride, 8, fs.grid.imm(int64(16*k+8)))
		way := b.Bin(ir.Mul, 8, b.Bin(ir.Sub, 8, n, b.Const(1)), stride)
		back := b.Bin(ir.And, 8, way, b.Bin(ir.Sar, 8, way, b.Const(63)))
		before = b.Bin(ir.Sub, 8, before, back)
		end = b.Bin(ir.Add, 8, end, b.Bin(ir.Sub, 8, way, back))
		none = b.Bin(ir.Or, 8, none, b.Bin(ir.Eq, 8, n, b.Const(0)))
		stride = b.Bin(ir.Mul, 8, stride, n)
	}
	l.put(before, 8, fs.grid.imm(int64(16*len(g.dims))))
	some := b.Bin(ir.Sub, 8, none, b.Const(1)) // all bits, or none
	length := b.Bin(ir.And, 8, b.Bin(ir.Add, 8, end, before), some)
	from := sym{v: b.Bin(ir.Sub, 8, first, before)}
	l.copy(ir.CopyN, l.word(from), length, fs.value.imm(0), limit, l.faultFor(from))
	return fs
}

// elements is the number of elements of a dimension. Fortran's may be negative: there are none.
func (l *lowerer) elements(count expr) ir.Value {
	n := l.wide(count)
	n = l.b.Bin(ir.And, 8, n, l.b.Un(ir.Not, 8, l.b.Bin(ir.Sar, 8, n, l.b.Const(63))))
	bad := l.b.Bin(ir.ULt, 8, l.b.Const(maxRepeat), n)
	ok := l.b.NewBlock("count")
	l.b.BranchTo(bad, ir.Edge{To: l.traps.at(l.emitter, trapBounds)}, ir.Edge{To: ok}, true)
	l.b.Start(ok)
	return n
}
