package dwarf

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// computed is ctype.Type.Ref of arrays and texts whose place or bounds are computed at the hit. The kind of Fortran's is
// ctype.Invalid, so that nothing takes the object, which may be a descriptor, for the elements; an array of variable length
// in C is its elements.
type computed struct{ d die }

func markComputed(d die, t *ctype.Type) {
	t.Kind, t.Name, t.Size, t.Ref = ctype.Invalid, boundsAtRunTime, 0, computed{d}
	switch {
	case d.ab.tag == tagStringType:
		t.Name = "character*(*)"
	case d.ab.has(atRank):
		t.Name, t.Ref = "an array whose number of dimensions is known only at run time", nil
	}
}

// computedAtRunTime reports whether the elements of array d are found through a descriptor, or a bound or the
// size of the elements is no constant.
func computedAtRunTime(d die, elem *ctype.Type) bool {
	if d.ab.has(atDataLocation) || d.ab.has(atAllocated) || d.ab.has(atAssociated) || d.ab.has(atRank) {
		return true
	}
	if _, ok := elem.Strip().Ref.(computed); ok {
		return true
	}
	for c := range d.children() {
		if c.ab.tag != tagSubrangeType {
			continue
		}
		for _, at := range []uint16{atLowerBound, atUpperBound, atCount, atByteStride, atBitStride} {
			if v, ok := c.attr(at); ok && !v.IsConst() {
				return true
			}
		}
	}
	return false
}

// Array implements debuginfo.Arrays.
func (s *scope) Array(t *ctype.Type) *debuginfo.Array {
	c, ok := t.Strip().Ref.(computed)
	if !ok {
		return nil
	}
	var a *debuginfo.Array
	var err error
	func() {
		defer s.m.guard(&err)()
		if !s.m.closed {
			a = s.locations.array(c.d, 0)
		}
	}()
	return a
}

// array describes array or text d at pc; nil if the debug information is damaged.
func (lo *locations) array(d die, depth int) *debuginfo.Array {
	a := &debuginfo.Array{Text: d.ab.tag == tagStringType}
	if !lo.head(d, a) || depth > maxNested {
		return nil
	}
	if a.Text {
		a.Elem = &ctype.Type{Kind: ctype.Char, Name: "character", Size: 1}
		if e, ok := d.ref(atType); ok {
			a.Elem = lo.m.convert(e)
		}
		a.Dims = []debuginfo.Dimension{{Lower: constBound(1), Count: lo.textLength(d)}}
		return a
	}
	for c := range d.children() {
		if c.ab.tag == tagSubrangeType && len(a.Dims) < maxDims {
			a.Dims = append(a.Dims, lo.dimension(c))
		}
	}
	a.Elem = lo.m.typeOf(d)
	in, ok := a.Elem.Strip().Ref.(computed)
	switch {
	case !d.u.isFortran():
		slices.Reverse(a.Dims)
		if ok { // a type of its own for the rows
			rows := lo.array(in.d, depth+1)
			if rows == nil {
				return nil
			}
			a.Elem, a.Dims = rows.Elem, append(rows.Dims, a.Dims...)
		}
	case ok: // texts whose length is no constant
		text := lo.array(in.d, depth+1)
		if text == nil || !text.Text || text.Data != nil || text.Exists != nil {
			return nil
		}
		a.Text, a.TextType, a.Elem, a.Dims = true, a.Elem, text.Elem, append(text.Dims, a.Dims...)
	}
	if a.Elem.Strip().Size <= 0 || len(a.Dims) == 0 {
		return nil
	}
	return a
}

const (
	maxDims   = 15 // Fortran 2018 has 15, and a text adds one
	maxNested = 4  // types of rows in one another
)

// head reads what is said of the array as a whole; false: it cannot be translated.
func (lo *locations) head(d die, a *debuginfo.Array) bool {
	ok := true
	expr := func(at uint16) (ops []debuginfo.Op) {
		v, has := d.attr(at)
		switch {
		case !has || !ok:
			return nil
		case v.IsConst() && v.N != 0: // always
			return nil
		case !v.IsBlock():
			ok = false
			return nil
		}
		var why string
		if ops, why = lo.objectExpr(v); why != "" {
			ok = false
		}
		return ops
	}
	if d.ab.has(atAssociated) {
		a.Pointer, a.Exists = true, expr(atAssociated)
	} else {
		a.Exists = expr(atAllocated)
	}
	a.Data = expr(atDataLocation)
	return ok
}

// objectExpr translates an expression that may use the object's address.
func (lo *locations) objectExpr(v val) ([]debuginfo.Op, string) {
	env := lo.env(v.u)
	env.Object = true
	return env.Word(v.B, nil)
}

func (lo *locations) dimension(c die) debuginfo.Dimension {
	dim := debuginfo.Dimension{Lower: constBound(c.u.firstIndex())}
	for at, to := range map[uint16]*debuginfo.Bound{atLowerBound: &dim.Lower, atUpperBound: &dim.Upper, atCount: &dim.Count, atByteStride: &dim.Stride} {
		if v, ok := c.attr(at); ok {
			*to = lo.boundOf(v)
		}
	}
	if v, ok := c.attr(atBitStride); ok && !c.ab.has(atByteStride) {
		dim.Stride = debuginfo.Bound{Why: "its elements are counted in bits"}
		if v.IsConst() && v.Int()%8 == 0 {
			dim.Stride = constBound(v.Int() / 8)
		}
	}
	return dim
}

func constBound(n int64) debuginfo.Bound {
	return debuginfo.Bound{Kind: debuginfo.ConstBound, N: n}
}

// boundOf reads a bound: a constant, the value of a variable, or an expression.
func (lo *locations) boundOf(v val) debuginfo.Bound {
	if v.IsConst() {
		return constBound(v.Int())
	}
	if v.IsBlock() {
		ops, why := lo.objectExpr(v)
		if why != "" {
			return debuginfo.Bound{Why: why}
		}
		return debuginfo.Bound{Kind: debuginfo.ExprBound, Expr: ops}
	}
	return variableBound(lo.bound(v))
}

func variableBound(x *debuginfo.Variable) debuginfo.Bound {
	if x.Loc.Unavailable != "" || !x.Type.IsInteger() {
		why := x.Loc.Unavailable
		if why == "" {
			why = "the variable with its bound is no integer"
		}
		return debuginfo.Bound{Why: why}
	}
	return debuginfo.Bound{Kind: debuginfo.VariableBound, Variable: x}
}

// textLength is the length of a text: DW_AT_string_length is the variable that has it, or the place where it is.
func (lo *locations) textLength(d die) debuginfo.Bound {
	v, ok := d.attr(atStringLength)
	switch {
	case !ok:
		if n := d.size(); n > 0 {
			return constBound(n)
		}
		return debuginfo.Bound{Why: "the debug information does not have its length"}
	case v.IsRef():
		return lo.boundOf(v)
	case !v.IsBlock() && v.isSecOffset():
		return variableBound(&debuginfo.Variable{Name: "its length", Type: ctype.LongT, Loc: lo.located(v)})
	case !v.IsBlock():
		return debuginfo.Bound{Why: "its length has a form that is not known"}
	}
	if d, ok := called(v); ok {
		return variableBound(lo.boundIn(d, &debuginfo.Variable{Name: "its length", Type: ctype.LongT}))
	}
	size := int64(v.u.f.AddrSize)
	if n, ok := d.num(atStringLengthBytes); ok {
		size = int64(n)
	} else if n, ok := d.num(atByteSize); ok && v.u.f.Version < 5 { // DWARF 4, 5.9
		size = int64(n)
	}
	ops, why := lo.objectExpr(v)
	switch {
	case why != "":
		return debuginfo.Bound{Why: why}
	case size != 1 && size != 2 && size != 4 && size != 8:
		return debuginfo.Bound{Why: fmt.Sprintf("its length is a number of %d bytes", size)}
	}
	return debuginfo.Bound{Kind: debuginfo.ExprBound, Expr: append(ops[:len(ops):len(ops)], debuginfo.Op{Code: debuginfo.OpDeref, Arg: size})}
}

// called is the entry whose location is the whole of an expression (DW_OP_call4): gfortran names the variable with the length
// so in DWARF 4.
func called(v val) (die, bool) {
	c := raw.Cursor{B: v.B}
	if c.U8() != 0x99 {
		return die{}, false
	}
	off := uint64(c.U32())
	if c.Bad || !c.Done() {
		return die{}, false
	}
	return v.u.dieAt(v.u.off + off)
}
