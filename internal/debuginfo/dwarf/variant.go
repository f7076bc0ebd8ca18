package dwarf

import "github.com/jalon-trace/jalon/internal/ctype"

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
// What is not understood makes the part nil: its values are then not shown.
func (ts *types) variants(part die) *ctype.Variants {
	v := &ctype.Variants{}
	var mask uint64
	if part.ab.has(atDiscr) {
		d, ok := part.ref(atDiscr)
		if !ok {
			return nil
		}
		f, ok := ts.field(d, false)
		if size := f.Type.Strip().Size; !ok || !f.Type.IsInteger() || size < 1 || size > 8 || f.BitSize != 0 {
			return nil
		} else {
			mask = ^uint64(0) >> (64 - 8*size)
		}
		v.Discr = &f
	}
	for c := range part.children() {
		if c.ab.tag != tagVariant {
			continue
		}
		x, ok := ts.variant(c, mask)
		if !ok || len(v.List) > 100_000 {
			return nil
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

func (ts *types) variant(d die, mask uint64) (x ctype.Variant, ok bool) {
	for c := range d.children() {
		if c.ab.tag == tagMember && !ok {
			x.Field, ok = ts.field(c, false)
		}
	}
	switch value, has := d.attr(atDiscrValue); {
	case has && value.IsConst():
		x.Values = []ctype.Span{{Lo: value.N & mask, Hi: value.N & mask}}
	case has:
		return x, false
	case d.ab.has(atDiscrList):
		return x, false // no compiler here writes one
	default:
		x.Default = true
	}
	return x, ok
}
