package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// An array that is in registers, or that is a constant, has no address. An element whose index is computed at the hit
// is chosen from the values of all elements.

// mostChosen bounds the elements of such an array.
const mostChosen = 128

// choice is element i of list.
type choice struct {
	typed
	i    *within
	list []expr
}

// chosen is element i of an array of n elements, of which at gives the one with a constant index; the first one has the index
// lo. It is nil if their values cannot be computed with.
func (mb *members) chosen(i expr, lo, n int64, t *ctype.Type, span lang.Span, at func(int64) expr) expr {
	if i = mb.rvalue(i); n <= 0 || n > mostChosen || !isInt(i.Type()) || !isScalar(t) {
		return nil
	}
	number := typed{ctype.LongT, i.Span()}
	index := convert(promoted(i), ctype.LongT)
	if lo != 0 {
		index = &arith{number, "-", index, &intConst{typed: number, v: lo}}
	}
	count := &intConst{typed: typed{ctype.ULongT, i.Span()}, v: n}
	c := &choice{typed{t, span}, &within{number, index, count}, nil}
	for k := range n {
		c.list = append(c.list, mb.rvalue(at(lo+k)))
	}
	return c
}

// chosenBehind is element i behind pointer p, which the compiler has optimised out; nil for all others, and if i is constant.
func (mb *members) chosenBehind(p, i expr, span lang.Span) expr {
	points, elem := pointerIn(p), elemOf(p.Type())
	if _, isConst := constInt(i); isConst || points == nil || elem == nil || mb.uneval > 0 {
		return nil
	}
	v, size := points.To.Object(), elem.Strip().Size
	if v == nil || v.Count != nil || size <= 0 {
		return nil
	}
	whole := untypedSize(v.Loc)
	if v.Type != nil {
		whole = v.Type.Strip().Size
	}
	lo := -points.Offset / size
	if points.Offset+lo*size < 0 {
		lo++
	}
	return mb.chosen(i, lo, (whole-points.Offset)/size-lo, elem, span, func(k int64) expr { return mb.synthetic(p, k, span) })
}

// shiftedPointer is p + n of a pointer that the compiler has optimised out, which is one too; nil for all others.
func shiftedPointer(c *checker, x *lang.Binary, p, n expr) expr {
	if _, isConst := constInt(p); isConst && x.Op == "+" {
		p, n = n, p
	}
	i, ok := constInt(n)
	if points := pointerIn(p); points != nil && ok && isPointer(p.Type()) {
		if x.Op == "-" {
			i = -i
		}
		loc := debuginfo.Location{Unavailable: shapeOf(p).ref.loc.Unavailable}
		loc.Points = &debuginfo.Pointer{To: points.To, Offset: points.Offset + i*c.elemSize(p.Span(), elemOf(p.Type()))}
		return &varRef{typed: typed{p.Type(), x.Span()}, name: c.textOf(x.Span()), loc: loc}
	}
	return nil
}

// needPlace makes sure that e, whose address is needed, is no such element.
func needPlace(c *checker, e expr) {
	if chosen, ok := e.(*choice); ok {
		const msg = "this array is not in memory here: its elements have no address"
		panic(&bail{d: c.from.At(chosen.span, msg, ""), unavailable: true, undescribed: true, otherwise: true, why: msg})
	}
}

// chosenValue is the element that the index says.
func chosenValue(vs *values, e *choice) ir.Value {
	i := vs.within(e.i)
	join := vs.b.NewBlock("chosen", classOf(e.t))
	var choose func(list []expr, from int64)
	choose = func(list []expr, from int64) {
		half := len(list) / 2
		if half == 0 {
			vs.b.Jump(join, vs.value(list[0]))
			return
		}
		low, high := vs.b.NewBlock("element"), vs.b.NewBlock("element")
		vs.b.BranchTo(vs.b.Bin(ir.ULt, 8, i, vs.b.Const(from+int64(half))), ir.Edge{To: low}, ir.Edge{To: high}, false)
		vs.b.Start(low)
		choose(list[:half], from)
		vs.b.Start(high)
		choose(list[half:], from+int64(half))
	}
	choose(e.list, 0)
	vs.b.Start(join)
	return vs.b.Param(join, 0)
}
