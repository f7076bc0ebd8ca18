package results

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/convention"
)

// rustc (compiler/rustc_target/src/callconv) returns a value by its form:
//
//	one word        a number, a pointer, and a structure of nothing else     rax (128 bits: rax, rdx) or xmm0
//	two words       a structure of two words, also a variant with its tag    each in the next one of rax, rdx or of xmm0, xmm1
//	other, up to 8 bytes                                                     its bytes in rax
//	larger                                                                   in memory, at the address that rdi has at the entry
//
// Debug information has neither the form nor the convention: a structure with repr(C) is not one word, and an extern "C"
// function follows C's rules. So all places that a value may have are listed. If they are not one, the machine code of the
// function and of its callers decides, or the value is not available.

// ofRust is where the function returns a value of type t. unproved: the compiler may have removed it, so callers must show
// that it is there. Without pieces it is in memory, at the address that was passed.
func (f *Function) ofRust(t *ctype.Type, unproved bool) debuginfo.Location {
	r := rustTypes{aligned: f.Module.Alignment}
	list, why := r.places(t)
	switch {
	case why != "":
		return debuginfo.Location{Unavailable: why}
	case len(list) == 1 && (!unproved || list[0].regs == 0):
		return list[0].loc
	}
	return f.proved(list, unproved)
}

// rustWord is a number in a register of its own.
type rustWord struct {
	off, size int64
	float     bool
	bit       bool // only the lowest bit has a meaning
}

// rustTypes finds the forms of types.
type rustTypes struct {
	aligned func(*ctype.Type) int64 // what debug information says
	unsure  bool                    // the form is not certain: the value may be returned as bytes
}

// places lists where a value of type t may be returned.
func (r *rustTypes) places(t *ctype.Type) (list []place, why string) {
	s := t.Strip()
	if s.Size <= 0 || s.Incomplete || s.Kind == ctype.Invalid {
		return nil, "a value of this type has no bytes, or its type is not known"
	}
	words, why := r.form(s, 0)
	if why != "" {
		return nil, why
	}
	if s.Size > 16 {
		if len(words) > 0 {
			return nil, "in registers or in memory, by the version of rustc"
		}
		return []place{{}}, ""
	}
	var whole place
	if s.Size <= 8 {
		whole = assign([]rustWord{{size: s.Size}}, s.Size)
	}
	if len(words) == 0 {
		list = []place{whole}
	} else {
		list = r.with(list, assign(words, s.Size))
		if r.unsure {
			list = r.with(list, whole)
		}
	}
	if s.Kind == ctype.Struct || s.Kind == ctype.Union || s.Kind == ctype.Array {
		c := convention.Result(s, false)
		if c.Unavailable != "" {
			return nil, c.Unavailable
		}
		list = r.with(list, place{c, registersOf(c)})
	}
	return list, ""
}

// with adds a place, unless it is one of the list.
func (r *rustTypes) with(list []place, p place) []place {
	if slices.ContainsFunc(list, func(q place) bool { return (p.regs == 0) == (q.regs == 0) && same(p.loc, q.loc) }) {
		return list
	}
	return append(list, p)
}

// assign assigns registers to words.
func assign(words []rustWord, size int64) (p place) {
	general, vector := amd64.Processor.Results, int(amd64.Processor.Vector0)
	end := int64(0)
	pad := func(to int64) {
		if to > end {
			p.loc.Pieces = append(p.loc.Pieces, debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: (to - end) * 8})
		}
	}
	for _, w := range words {
		pad(w.off)
		for end = w.off; end < w.off+w.size; {
			n := min(w.off+w.size-end, 8)
			x := debuginfo.Piece{Kind: debuginfo.InRegister, BitSize: n * 8}
			if w.float {
				x.Reg, vector = vector, vector+1
			} else {
				x.Reg, general = int(general[0]), general[1:]
			}
			if w.bit {
				x.Kind, x.Expr = debuginfo.IsValue, []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(x.Reg)}, {Code: debuginfo.OpConst, Arg: 1}, {Code: debuginfo.OpAnd}}
			}
			p.loc.Pieces = append(p.loc.Pieces, x)
			end += n
		}
	}
	pad(size)
	p.regs = registersOf(p.loc)
	return p
}

// same reports whether two locations have all bytes that both have in the same places: one may leave out padding.
func same(a, b debuginfo.Location) bool {
	x, y := bytesOf(a), bytesOf(b)
	for i := range min(len(x), len(y)) {
		if x[i] >= 0 && y[i] >= 0 && x[i] != y[i] {
			return false
		}
	}
	return true
}

// bytesOf is the register and the byte in it for each byte of a location, -1 for those that have no place.
func bytesOf(l debuginfo.Location) (list []int) {
	for _, p := range l.Pieces {
		for i := range int(p.BitSize / 8) {
			at := p.Reg*8 + i
			if p.Kind == debuginfo.IsMissing {
				at = -1
			}
			list = append(list, at)
		}
	}
	return list
}

// form returns the words of a value, none if it is returned as bytes.
func (r *rustTypes) form(t *ctype.Type, depth int) (words []rustWord, why string) {
	s := t.Strip()
	if depth > 16 {
		return nil, "its type is not known"
	}
	word := func(w rustWord) ([]rustWord, string) {
		w.size = s.Size
		return []rustWord{w}, ""
	}
	switch s.Kind {
	case ctype.Bool:
		return word(rustWord{bit: true})
	case ctype.Char, ctype.Int, ctype.Pointer, ctype.Reference:
		return word(rustWord{})
	case ctype.Enum:
		return word(rustWord{bit: s.Size == 1 && !slices.ContainsFunc(s.Enumerators(), func(e ctype.Enumerator) bool { return e.Value&^1 != 0 })})
	case ctype.Float:
		if s.Size != 4 && s.Size != 8 {
			return nil, "a number of this size is not taken"
		}
		return word(rustWord{float: true})
	case ctype.Array:
		if s.Vector {
			return nil, "vectors are not taken"
		}
		return nil, ""
	case ctype.Struct, ctype.Union:
		if n := r.aligned(s); n != 0 && n != r.natural(s, 0) && !(n == 8 && r.natural(s, 0) == 16) {
			return nil, "its alignment is not that of its members"
		}
		if s.Kind == ctype.Union {
			return r.union(s, depth)
		}
		if v := s.Variants(); v != nil {
			return r.enum(s, v, depth)
		}
		return r.members(s.Fields(), s.Size, depth)
	}
	return nil, "its type is not known"
}

// natural is the alignment that a type has by its members.
func (r *rustTypes) natural(t *ctype.Type, depth int) (n int64) {
	s := t.Strip()
	switch {
	case depth > 16:
		return 1
	case s.Kind == ctype.Array && s.Elem != nil:
		return r.natural(s.Elem, depth+1)
	case s.Kind != ctype.Struct && s.Kind != ctype.Union:
		return s.Size
	}
	if n = r.aligned(s); n != 0 && depth > 0 {
		return n
	}
	fields := s.Fields()
	if v := s.Variants(); v != nil {
		if fields = nil; v.Discr != nil {
			fields = append(fields, *v.Discr)
		}
		for _, x := range v.List {
			fields = append(fields, x.Type.Strip().Fields()...)
		}
	}
	n = 1
	for _, f := range fields {
		n = max(n, r.natural(f.Type, depth+1))
	}
	return n
}

// members is the form of a structure of a size.
func (r *rustTypes) members(fields []ctype.Field, size int64, depth int) ([]rustWord, string) {
	fields = withBytes(fields)
	var words []rustWord
	for _, f := range fields {
		if len(fields) > 2 || f.BitSize != 0 || f.Virtual {
			return nil, ""
		}
		x, why := r.form(f.Type, depth+1)
		if why != "" || len(x) == 0 || len(x)+len(fields) > 3 {
			return nil, why
		}
		for _, w := range x {
			w.off += f.BitOffset / 8
			words = append(words, w)
		}
	}
	return r.inOrder(words, size), ""
}

// withBytes keeps the members that have a size.
func withBytes(fields []ctype.Field) []ctype.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f ctype.Field) bool { return f.Type.Strip().Size == 0 })
}

// inOrder returns the words if they lie as one word or two would, in a value of a size.
func (r *rustTypes) inOrder(words []rustWord, size int64) []rustWord {
	up := func(n, to int64) int64 { return (n + to - 1) / to * to }
	slices.SortFunc(words, func(a, b rustWord) int { return int(a.off - b.off) })
	switch len(words) {
	case 1:
		r.unsure = true // repr(C)
		if words[0].off == 0 && words[0].size == size {
			return words
		}
	case 2:
		a, b := words[0], words[1]
		for _, most := range []int64{8, 16} { // a number of 128 bits is aligned to 8 before rustc 1.77
			if a.off == 0 && b.off == up(a.size, min(b.size, most)) && size == up(b.off+b.size, min(max(a.size, b.size), most)) {
				return words
			}
		}
	}
	return nil
}

// union is the form of a union: that of its members if they have one.
func (r *rustTypes) union(s *ctype.Type, depth int) (words []rustWord, why string) {
	r.unsure = true // repr(C)
	for i, f := range withBytes(s.Fields()) {
		x, why := r.members([]ctype.Field{f}, s.Size, depth)
		clearBits(x)
		if why != "" || i > 0 && !slices.Equal(x, words) {
			return nil, why
		}
		words = x
	}
	return words, ""
}

func clearBits(words []rustWord) {
	for i := range words {
		words[i].bit = false
	}
}

// enum is the form of an enum with data.
func (r *rustTypes) enum(s *ctype.Type, v *ctype.Variants, depth int) (words []rustWord, why string) {
	data := func(x ctype.Variant) []ctype.Field {
		fields := slices.Clone(x.Type.Strip().Fields())
		for i := range fields {
			fields[i].BitOffset += x.BitOffset
		}
		return withBytes(fields)
	}
	if v.Discr == nil {
		return r.members(data(v.List[0]), s.Size, depth)
	}
	if i := slices.IndexFunc(v.List, func(x ctype.Variant) bool { return x.Default }); i >= 0 { // the tag is a value that the data cannot have
		for j, x := range v.List {
			if j != i && len(data(x)) > 0 {
				return nil, ""
			}
		}
		words, why = r.members(data(v.List[i]), s.Size, depth)
		clearBits(words)
		return words, why
	}
	tag := rustWord{off: v.Discr.BitOffset / 8, size: v.Discr.Type.Strip().Size, bit: v.Discr.Type.Strip().Size == 1}
	words = []rustWord{tag}
	var of *ctype.Type
	for _, x := range v.List {
		for _, span := range x.Values {
			words[0].bit = words[0].bit && span.Hi <= 1
		}
		fields := data(x)
		if len(fields) == 0 {
			continue
		}
		w, why := r.form(fields[0].Type, depth+1)
		if why != "" || len(fields) > 1 || len(w) != 1 {
			return nil, why
		}
		w[0].off, w[0].bit = w[0].off+fields[0].BitOffset/8, false
		k := fields[0].Type.Strip()
		if len(words) == 1 {
			words, of = append(words, w[0]), k
		} else if words[1] != w[0] {
			return nil, ""
		}
		r.unsure = r.unsure || k.Kind != of.Kind || k.Signed != of.Signed // by the version of rustc
	}
	return r.inOrder(words, s.Size), ""
}
