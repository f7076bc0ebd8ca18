package dwarf

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// variants reads a DW_TAG_variant_part (DWARF 5, section 5.7.10):
//
//	structure Option<&i32>
//	  variant_part           discr: the member below it
//	    member               the discriminant, a number; in Rust it may lie where a
//	                         variant has a pointer that is never null (a "niche")
//	    variant              discr_value 0
//	      member None        its data, a structure
//	    variant              without a value: all others
//	      member Some
//
// A part that is not understood has no variants: its values are then not shown.
func (ts *types) variants(part die) *ctype.Variants {
	v := &ctype.Variants{}
	var discr *ctype.Type
	if part.ab.has(atDiscr) {
		d, ok := part.ref(atDiscr)
		if !ok {
			return nil
		}
		f, ok := ts.field(d, false)
		if discr = f.Type.Strip(); !ok || !f.Type.IsInteger() || discr.Size < 1 || discr.Size > 16 || f.BitSize != 0 {
			return nil
		}
		v.Discr = &f
	}
	for c := range part.children() {
		if c.ab.tag != tagVariant {
			continue
		}
		x, ok := ts.variant(c, discr)
		if !ok || len(v.List) > 100_000 {
			if v.Discr == nil {
				return nil
			}
			return &ctype.Variants{Discr: v.Discr}
		}
		v.List = append(v.List, x)
	}
	if v.Discr == nil && len(v.List) != 1 || len(v.List) == 0 {
		return nil
	}
	return v
}

// variantsOf finds the variant part of a structure.
func (ts *types) variantsOf(d die) *ctype.Variants {
	if d.u.isC() || d.u.isCxx() {
		return nil
	}
	for c := range d.children() {
		if c.ab.tag == tagVariantPart {
			return ts.variants(c)
		}
	}
	return nil
}

func (ts *types) variant(d die, discr *ctype.Type) (x ctype.Variant, ok bool) {
	for c := range d.children() {
		if c.ab.tag == tagMember && !ok {
			x.Field, ok = ts.field(c, false)
		}
	}
	switch value, has := d.attr(atDiscrValue); {
	case has:
		n, fits := discriminant(value, discr)
		if !fits {
			return x, false
		}
		x.Values = []ctype.Span{{Lo: n, Hi: n}}
	case d.ab.has(atDiscrList):
		return x, false // no compiler here writes one
	default:
		x.Default = true
	}
	return x, ok
}

// discriminant is a value of the discriminant's type as an unsigned number. The sign of a short form is the type's:
// LLVM writes -5 of an i16 as the byte 0xfb. It writes numbers of 16 bytes as blocks.
func discriminant(v val, t *ctype.Type) (n uint64, ok bool) {
	switch {
	case t == nil:
		return 0, false
	case v.IsBlock() && t.Size == 16 && len(v.B) == 16:
		return binary.LittleEndian.Uint64(v.B), binary.LittleEndian.Uint64(v.B[8:]) == 0
	case !v.IsConst() || t.Size > 8:
		return 0, false
	}
	n = v.N
	if t.Signed {
		switch v.Form {
		case raw.FormData1:
			n = uint64(int8(n))
		case raw.FormData2:
			n = uint64(int16(n))
		case raw.FormData4:
			n = uint64(int32(n))
		}
	}
	return n & (^uint64(0) >> (64 - 8*t.Size)), true
}
