package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// arrays finds the elements of arrays whose place or bounds are computed at the hit: Fortran's, and C's of variable length.
type arrays struct {
	*site
	*conversions
	*lookup
	rows map[*deref]*grid // parts of C's arrays
}

// grid is such an array: where its first element is, and how the others lie.
type grid struct {
	object expr
	from   *debuginfo.Array
	first  expr     // a pointer value, which is a fault while there are no elements
	dims   []extent // the dimension that runs fastest first
}

// extent is a dimension of a grid. Its expressions have type long; each is nil if it is not known.
type extent struct {
	lower, count expr
	stride       expr // bytes; nil: the elements lie one behind the other
	why          string
}

type (
	// arrayData is the address of the first element of the array that object describes.
	arrayData struct {
		typed
		object expr
		from   *debuginfo.Array
	}
	// objectWord is the number that an expression computes from the address of an object.
	objectWord struct {
		typed
		object expr
		ops    []debuginfo.Op
	}
)

// gridOf describes object e, if it is such an array; nil: it is none.
func (ar *arrays) gridOf(e expr) *grid {
	t := e.Type().Strip()
	if d, ok := e.(*deref); ok && ar.rows[d] != nil {
		return ar.rows[d]
	}
	scope, ok := ar.in.Scope.(debuginfo.Arrays)
	if !ok || t.Kind != ctype.Invalid && t.Kind != ctype.Array || !isLvalue(e) {
		return nil
	}
	a := scope.Array(t)
	if a == nil {
		return nil
	}
	ar.available(e, func(shape) {
		ar.noValue(e, "what describes the array is not in memory here")
	})
	g := &grid{object: e, from: a}
	ar.needObject(e, a.Data)
	ar.needObject(e, a.Exists)
	g.first = &arrayData{typed{ctype.PointerTo(a.Elem), e.Span()}, e, a}
	for i := range a.Dims {
		g.dims = append(g.dims, ar.extent(e, &a.Dims[i]))
	}
	return g
}

func (ar *arrays) extent(e expr, d *debuginfo.Dimension) (x extent) {
	x.lower = ar.bound(e, &d.Lower)
	x.stride = ar.bound(e, &d.Stride)
	upper := ar.bound(e, &d.Upper)
	switch {
	case x.lower == nil:
		ar.noValue(e, "its lower bound is not known here: "+d.Lower.Why)
	case x.stride == nil && d.Stride.Why != "":
		ar.noValue(e, "the distance of its elements is not known here: "+d.Stride.Why)
	case d.Count.Kind != debuginfo.NoBound || d.Count.Why != "":
		x.count, x.why = ar.bound(e, &d.Count), d.Count.Why
	case upper == nil:
		x.why = d.Upper.Why
		if x.why == "" {
			x.why = "the program gives it none (an array of assumed size)"
		}
	default:
		one := &intConst{typed: typed{ctype.LongT, e.Span()}, v: 1}
		x.count = long("+", long("-", upper, x.lower), one)
	}
	return x
}

// long computes with two numbers of type long.
func long(op string, x, y expr) expr {
	a, known := constInt(x)
	b, known2 := constInt(y)
	t := typed{ctype.LongT, x.Span()}
	if known && known2 {
		switch op {
		case "+":
			return &intConst{typed: t, v: a + b}
		case "-":
			return &intConst{typed: t, v: a - b}
		case "*":
			return &intConst{typed: t, v: a * b}
		}
	}
	return &arith{t, op, x, y}
}

// bound is the number of a bound; nil: there is none here.
func (ar *arrays) bound(e expr, b *debuginfo.Bound) expr {
	t := typed{ctype.LongT, e.Span()}
	switch b.Kind {
	case debuginfo.ConstBound:
		return &intConst{typed: t, v: b.N}
	case debuginfo.VariableBound:
		return convert(promoted(ar.rvalue(ar.variable(b.Variable, e.Span()))), ctype.LongT)
	case debuginfo.ExprBound:
		ar.needObject(e, b.Expr)
		return &objectWord{t, e, b.Expr}
	}
	return nil
}

// needObject checks that an expression about object e can be computed.
func (ar *arrays) needObject(e expr, ops []debuginfo.Op) {
	if len(ops) == 0 || ar.uneval > 0 {
		return
	}
	plain := make([]debuginfo.Op, len(ops))
	for i, op := range ops {
		if plain[i] = op; op.Code == debuginfo.OpObject {
			plain[i] = debuginfo.Op{Code: debuginfo.OpConst}
		}
	}
	if why := ar.invalidExpr(plain); why != "" {
		ar.noValue(e, why)
	}
	if released(plain, true, ar.redZone()) {
		ar.noValue(e, "what describes the array is on a part of the stack that is already released")
	}
}

// noValue: the debug information has no value of array e here.
func (ar *arrays) noValue(e expr, why string) {
	panic(&bail{ar.from.At(e.Span(), "this array has no value here: "+why, ""), true, true, why, false})
}

// whole makes sure that all elements can be found.
func (ar *arrays) whole(g *grid) {
	for _, d := range g.dims {
		if d.count == nil {
			ar.noValue(g.object, "its upper bound is not known: "+d.why)
		}
	}
}

// isText: the array is one text, whose characters lie one behind the other.
func (g *grid) isText() bool {
	return g.from.Text && len(g.dims) == 1 && g.dims[0].count != nil && g.dims[0].stride == nil
}

// text is a text as an array of its characters.
func (g *grid) text() *repeat {
	span := g.object.Span()
	return &repeat{typed: typed{ctype.ArrayOf(g.from.Elem, -1), span}, x: &deref{typed{g.from.Elem, span}, g.first}, n: g.dims[0].count}
}

// at is element a(i, j), or the text a(i, j) of an array of texts.
func (ar *arrays) at(g *grid, x *lang.Call, index []expr) expr {
	skip := 0
	if g.from.Text && len(g.dims) > 1 && len(index) == len(g.dims)-1 {
		skip = 1
	}
	if len(index) != len(g.dims)-skip {
		ar.fail(x.Span(), fmt.Sprintf("this array has %d dimensions", len(g.dims)-min(skip, 1)), "")
	}
	p := g.first
	stride := expr(&intConst{typed: typed{ctype.LongT, x.Span()}, v: g.from.Elem.Strip().Size})
	for k, d := range g.dims {
		if d.stride != nil {
			stride = d.stride
		}
		if k >= skip {
			p = ar.step(p, d, ar.inside(d, index[k-skip]), stride, x.Span())
		}
		if k == len(g.dims)-1 {
			break
		}
		if d.count == nil {
			ar.noValue(g.object, "an upper bound is not known: "+d.why)
		}
		stride = long("*", stride, d.count)
	}
	elem := g.from.Elem
	if skip > 0 {
		elem = g.from.TextType
	}
	return &deref{typed{elem, x.Span()}, &conv{typed{ctype.PointerTo(elem), x.Span()}, p}}
}

// inside is an index counted from the lower bound; one that is outside of the bounds is a fault.
func (ar *arrays) inside(d extent, i expr) expr {
	if !isInt(i.Type()) {
		ar.fail(i.Span(), fmt.Sprintf("an index must be an integer, this is %s", typeString(i.Type())), "")
	}
	n := long("-", convert(promoted(i), ctype.LongT), d.lower)
	if d.count == nil {
		return n
	}
	at, known := constInt(n)
	count, known2 := constInt(d.count)
	if known && known2 && (at < 0 || at >= count) {
		lower, _ := constInt(d.lower)
		ar.fail(i.Span(), fmt.Sprintf("index %d is outside of %d:%d", at+lower, lower, lower+count-1), "")
	}
	// A dimension without elements may have a negative number of them.
	none := &intConst{typed: typed{ctype.LongT, i.Span()}}
	some := &condExpr{typed{ctype.LongT, i.Span()}, &compare{typed{ctype.IntT, i.Span()}, "<", d.count, none}, none, d.count}
	return &within{typed{ctype.LongT, i.Span()}, n, convert(some, ctype.ULongT)}
}

// step is the address i elements behind p.
func (ar *arrays) step(p expr, d extent, i, stride expr, span lang.Span) expr {
	if n, ok := constInt(stride); ok {
		return &ptrAdd{typed{p.Type(), span}, p, i, n, false}
	}
	return &ptrAdd{typed{p.Type(), span}, p, &arith{typed{ctype.LongT, span}, "*", i, stride}, 1, false}
}

// runtimeElement is a(i, j) of object a; nil: it is no such array.
func (c *checker) runtimeElement(x *lang.Call, a expr) expr {
	g := c.gridOf(a)
	if g == nil {
		return nil
	}
	var index []expr
	for _, arg := range x.Args {
		index = append(index, c.value(arg))
	}
	return c.at(g, x, index)
}

// absence is how a missing array fails.
func absence(a *debuginfo.Array) trap {
	if a.Pointer {
		return trapNotAssociated
	}
	return trapNotAllocated
}

// takeGrid collects a whole array.
func (co *collector) takeGrid(g *grid) *plan {
	co.whole(g)
	if g.isText() {
		return co.takeRepeat(g.text())
	}
	t := g.from.Elem
	for i, d := range g.dims {
		t = ctype.ArrayOf(t, -1)
		t.Fortran = !isArray(g.object.Type()) && (!g.from.Text || i > 0)
		if n, ok := constInt(d.lower); ok {
			t.Lower = n
		}
	}
	p := plain(asGrid, g.object, t)
	p.grid, p.Kind = g, event.Counted
	size := g.from.Elem.Strip().Size
	n := int64(co.in.RepeatLimit)
	if isChar(g.from.Elem) {
		n = max(n, int64(co.in.StringLimit))
	}
	if size > groupLimit {
		co.fail(g.object.Span(), fmt.Sprintf("elements of %d bytes are too large to be collected", size), "name one: x(i).member")
	}
	p.limit = max(1, min(n, groupLimit/size)) * size
	return p
}

// arrayText compares a text whose length is computed at the hit with a literal; nil: there is none.
func (ar *arrays) arrayText(x *lang.Binary, a, b expr) expr {
	if _, ok := a.(*strLit); ok {
		a, b = b, a
	}
	lit, ok := b.(*strLit)
	if !ok {
		return nil
	}
	g := ar.gridOf(a)
	if g == nil || !g.isText() {
		return nil
	}
	return sameText(x, &content{class: "CHARACTER", first: g.first, count: g.dims[0].count}, lit)
}

// textBehind is the text that a pointer leads to: a CHARACTER of deferred length is one. e itself of all others.
func (ar *arrays) textBehind(e expr) expr {
	scope, ok := ar.in.Scope.(debuginfo.Arrays)
	if t := elemOf(e.Type()); ok && isPointer(e.Type()) && t != nil && t.Strip().Kind == ctype.Invalid && scope.Array(t.Strip()) != nil {
		return ar.pointee(ar.rvalue(e), e.Span())
	}
	return e
}
