package dwarf

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// callerVariable is a variable of a call that may have led to the position.
type callerVariable struct {
	f     *callerFrame
	v     *debuginfo.Variable
	after *debuginfo.Variable // the same behind the call, or nil
}

const (
	manyCallers   = "too many calls lead here to search them at the hit"
	unlikeCallers = "the functions that call keep it in different ways"
)

// joined is the variable of the call that has led to the position. Calls that are known decide which type is meant; of those
// that are only possible, others with a variable of this type count too.
func (cs *callerScope) joined(name string, list []callerVariable) (*debuginfo.Variable, error) {
	var types []*ctype.Type
	var of []string
	for _, known := range []bool{true, false} {
		if len(types) > 0 {
			break
		}
		for _, c := range list {
			like := func(t *ctype.Type) bool { return sameType(t, c.v.Type, mostTypeDepth) }
			if c.f.known == known && !slices.ContainsFunc(types, like) {
				types, of = append(types, c.v.Type), append(of, c.f.functions()[0]+"::"+name)
			}
		}
	}
	if len(types) > 1 {
		return nil, &debuginfo.AmbiguousError{Name: name, Candidates: of}
	}
	list = slices.DeleteFunc(list, func(c callerVariable) bool { return !sameType(c.v.Type, types[0], mostTypeDepth) })
	v := *list[0].v
	v.Loc = cs.location(list, v.Type)
	return cs.withCount(&v, list), nil
}

// withCount joins the numbers of elements of arrays whose length is computed at the hit.
func (cs *callerScope) withCount(v *debuginfo.Variable, list []callerVariable) *debuginfo.Variable {
	v.Count = nil
	var counts []callerVariable
	for _, c := range list {
		if c.v.Count == nil {
			continue
		}
		n := callerVariable{f: c.f, v: c.v.Count}
		if c.after != nil {
			n.after = c.after.Count
		}
		counts = append(counts, n)
		if c.v.CountAdd != v.CountAdd || len(counts) > 1 && !sameType(n.v.Type, counts[0].v.Type, mostTypeDepth) {
			v.Loc = debuginfo.Location{Unavailable: unlikeCallers}
		}
	}
	switch {
	case len(counts) == 0:
		return v
	case len(counts) != len(list):
		v.Loc = debuginfo.Location{Unavailable: unlikeCallers}
		fallthrough
	default:
		n := *counts[0].v
		n.Loc = cs.location(counts, n.Type)
		v.Count = &n
	}
	return v
}

// callerPlace is where a call has the value, in the registers of the position.
type callerPlace struct {
	ret    uint64
	pieces []debuginfo.Piece // nil: it has none
}

// location selects where the value is by the return address.
func (cs *callerScope) location(list []callerVariable, t *ctype.Type) debuginfo.Location {
	var places []callerPlace
	var out debuginfo.Location
	inMemory, values := true, 0
	for _, c := range list {
		pieces, why := cs.piecesOf(&c)
		if why != "" {
			if out.Unavailable == "" {
				out.Unavailable = why
			}
			places = append(places, callerPlace{ret: c.f.ret})
			continue
		}
		values++
		places = append(places, callerPlace{c.f.ret, pieces})
		inMemory = inMemory && len(pieces) == 1 && pieces[0].Kind == debuginfo.InMemory && pieces[0].BitSize == 0
		if c.v.Loc.Replaceable != "" {
			out.Replaceable = c.v.Loc.Replaceable
		}
	}
	if values == 0 && len(places) == len(cs.list) {
		return out // whichever call it is
	}
	out.Unavailable = ""
	if inMemory {
		expr, _, why := cs.selected(places, func(p callerPlace) ([]debuginfo.Op, bool) { return p.pieces[0].Expr, true })
		out.Pieces, out.Unavailable = []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: expr}}, why
	} else {
		out.Pieces, out.Unavailable = cs.inParts(places, t.Strip().Size)
	}
	if out.Unavailable != "" {
		out.Pieces = nil
	}
	return out
}

// piecesOf is where one call has the value.
func (cs *callerScope) piecesOf(c *callerVariable) (pieces []debuginfo.Piece, why string) {
	if c.v.Loc.Unavailable != "" {
		return nil, c.v.Loc.Unavailable
	}
	_, kept := c.f.at.(*callerScope) // of a caller's caller: what that call leaves alone, those below it do
	if c.after != nil && fmt.Sprint(c.after.Loc.Pieces) == fmt.Sprint(c.v.Loc.Pieces) {
		kept = true
	}
	missing := 0
	for _, p := range c.v.Loc.Pieces {
		ok := true
		switch p.Kind {
		case debuginfo.InRegister:
			p.Kind = debuginfo.IsValue
			if p.Expr, ok = []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(p.Reg)}}, p.Reg < int(host.Processor.FrameColumns); ok {
				p.Expr, ok = cs.inCallee(p.Expr, kept)
			}
		case debuginfo.IsValue, debuginfo.InMemory:
			p.Expr, ok = cs.inCallee(p.Expr, kept)
		case debuginfo.IsBytes, debuginfo.IsMissing:
		default:
			ok = false
		}
		if !ok {
			p = debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: p.BitSize, Why: "the caller has it in a register that the call may have changed"}
		}
		if p.Kind == debuginfo.IsMissing {
			missing, why = missing+1, p.Why
		}
		pieces = append(pieces, p)
	}
	if missing == len(pieces) {
		if why == "" {
			why = "optimised out here"
		}
		return nil, why
	}
	return pieces, ""
}

// selected is the expression for what the call has that has led here. some: a call has it.
func (cs *callerScope) selected(places []callerPlace, value func(callerPlace) ([]debuginfo.Op, bool)) (expr []debuginfo.Op, some bool, why string) {
	s := &callSearch{leaves: map[string]int{}, other: debuginfo.OtherFrame}
	for _, p := range places {
		ops, ok := cs.noValue(), false
		if p.pieces != nil {
			if own, has := value(p); has {
				ops, ok = own, true
			}
		}
		some = some || ok
		s.add(p.ret, ops)
	}
	most := mostCallers
	if cs.of.depth > 0 {
		most = innerCallers
	}
	if len(s.cases) > most || s.size > mostOps {
		return nil, some, manyCallers
	}
	return s.expression(cs.ret), some, ""
}

// noValue is the expression for a variable that has no value at the call. It has an end, which is never reached: no
// return address is 0.
func (cs *callerScope) noValue() []debuginfo.Op {
	n := int64(len(cs.ret))
	return append(slices.Clone(cs.ret), []debuginfo.Op{
		{Code: debuginfo.OpBra, Arg: n + 3}, {Code: debuginfo.OpConst}, {Code: debuginfo.OpSkip, Arg: n + 4}, {Code: debuginfo.OpNone},
	}...)
}

// mostInParts bounds the bytes of values that calls keep in different ways.
const mostInParts = 256

// inParts divides the value into words that each call has in one place.
func (cs *callerScope) inParts(places []callerPlace, size int64) (pieces []debuginfo.Piece, why string) {
	cuts, ok := cutsOf(places, size)
	if !ok {
		return nil, unlikeCallers
	}
	for i, lo := range cuts[:len(cuts)-1] {
		n := cuts[i+1] - lo
		expr, some, why := cs.selected(places, func(p callerPlace) ([]debuginfo.Op, bool) { return p.bits(lo, n) })
		switch {
		case why != "":
			return nil, why
		case some:
			pieces = append(pieces, debuginfo.Piece{Kind: debuginfo.IsValue, BitSize: n, Expr: expr})
		default:
			pieces = append(pieces, debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: n})
		}
	}
	return pieces, ""
}

// cutsOf are the bits where one of the places has another piece, and between them words that can be read.
func cutsOf(places []callerPlace, size int64) ([]int64, bool) {
	if size <= 0 || size > mostInParts {
		return nil, false
	}
	all := []int64{0, size * 8}
	for _, p := range places {
		at := int64(0)
		for _, q := range p.pieces {
			if q.BitSize == 0 {
				q.BitSize = size * 8
			}
			if at += q.BitSize; at%8 != 0 || q.BitOffset%8 != 0 {
				return nil, false
			}
			all = append(all, min(at, size*8))
		}
	}
	slices.Sort(all)
	var cuts []int64
	for i, at := range slices.Compact(all) {
		if i > 0 {
			for from := cuts[len(cuts)-1]; from < at; cuts = append(cuts, from) {
				n := int64(64)
				for n > at-from {
					n /= 2
				}
				from += n
			}
			continue
		}
		cuts = append(cuts, at)
	}
	return cuts, true
}

// bits pushes n bits of the value from bit lo on.
func (p *callerPlace) bits(lo, n int64) ([]debuginfo.Op, bool) {
	for _, q := range p.pieces {
		if q.BitSize > 0 && lo >= q.BitSize {
			lo -= q.BitSize
			continue
		}
		at := q.BitOffset + lo
		ops := slices.Clip(q.Expr)
		switch q.Kind {
		case debuginfo.InMemory:
			return append(ops, debuginfo.Op{Code: debuginfo.OpAddConst, Arg: at / 8}, debuginfo.Op{Code: debuginfo.OpDeref, Arg: n / 8}), true
		case debuginfo.IsValue:
			switch {
			case at == 0:
				return ops, true
			case at >= 64:
				return nil, false
			}
			return append(ops, debuginfo.Op{Code: debuginfo.OpConst, Arg: at}, debuginfo.Op{Code: debuginfo.OpShr}), true
		case debuginfo.IsBytes:
			v := int64(0)
			for i := int64(0); i < n/8 && at/8+i < int64(len(q.Bytes)); i++ {
				v |= int64(q.Bytes[at/8+i]) << (8 * i)
			}
			return []debuginfo.Op{{Code: debuginfo.OpConst, Arg: v}}, true
		}
		return nil, false
	}
	return nil, false
}

// mostTypeDepth bounds how deep types are compared.
const mostTypeDepth = 8

// sameType reports whether two types, which may be of different units, are the same for a reader of values.
func sameType(a, b *ctype.Type, depth int) bool {
	if a == nil || b == nil || a == b || depth == 0 {
		return a == b || depth == 0 && a != nil && b != nil
	}
	a, b = a.Strip(), b.Strip()
	if a.Kind != b.Kind || a.Name != b.Name || a.Size != b.Size || a.Signed != b.Signed || a.Count != b.Count {
		return false
	}
	if a.Kind != ctype.Struct && a.Kind != ctype.Union {
		return (a.Elem == nil) == (b.Elem == nil) && (a.Elem == nil || sameType(a.Elem, b.Elem, depth-1))
	}
	if a.Class != nil || b.Class != nil {
		return ctype.SameClass(a, b)
	}
	f, g := a.Fields(), b.Fields()
	if len(f) != len(g) {
		return false
	}
	for i := range f {
		if f[i].Name != g[i].Name || f[i].BitOffset != g[i].BitOffset || a.Name == "" && !sameType(f[i].Type, g[i].Type, depth-1) {
			return false
		}
	}
	return true
}
