package format

import "github.com/jalon-trace/jalon/internal/ctype"

// selected returns the variant of a record's bytes, or nil if the discriminant is missing or matches no
// variant.
func selected(v *ctype.Variants, it item) *ctype.Variant {
	if v.Discr == nil {
		return &v.List[0]
	}
	d := member(it, v.Discr)
	size := v.Discr.Type.Strip().Size
	switch {
	case size < 1 || size > 16 || int64(len(d.data)) < size || d.hit(0, 8*size):
		return nil
	case size > 8 && word(d.data[8:size]) != 0:
		return v.Other()
	}
	return v.Select(word(d.data[:min(size, 8)]))
}

// variant prints Circle {__0 = 2.5}, and None of a variant without data.
func (p *Printer) variant(b []byte, v *ctype.Variants, it item, f Fmt) []byte {
	x := selected(v, it)
	if x == nil && v.Discr != nil && member(it, v.Discr).missing(v.Discr.Type.Strip()) {
		return it.appendGap(b)
	}
	if x == nil {
		return append(b, "<no variant has this discriminant>"...)
	}
	b = append(b, x.Name...)
	if !holdsData(x) {
		return b
	}
	return p.value(append(b, ' '), x.Type, member(it, &x.Field), f)
}

func holdsData(x *ctype.Variant) bool {
	s := x.Type.Strip()
	return s.Kind != ctype.Struct || len(s.Fields()) > 0 || s.Variants() != nil
}

// jsonVariant writes {"Circle":{"__0":2.5}}, "None" of a variant without data, null
// when it is not known which one it is.
func jsonVariant(b []byte, v *ctype.Variants, it item, asText bool, up *nest) []byte {
	x := selected(v, it)
	switch {
	case x == nil:
		return append(b, "null"...)
	case !holdsData(x):
		return appendString(b, x.Name)
	}
	b = append(appendString(append(b, '{'), x.Name), ':')
	b = appendJSON(b, x.Type, member(it, &x.Field), asText, up)
	return append(b, '}')
}
