package format

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// memberPointer prints a C++ pointer to member: &S::a, NULL, or for a function its type and address. Of a virtual
// function only the offset in the table is known.
func (p *Printer) memberPointer(b []byte, s *ctype.Type, data []byte) []byte {
	first := int64(word(data[:8]))
	if s.Kind != ctype.Array {
		if first == -1 {
			return append(b, "NULL"...)
		}
		if class, name := memberAt(s.Of, 8*first, 0); name != "" && first >= 0 {
			return append(b, "&"+class+"::"+name...)
		}
		return strconv.AppendInt(b, first, 10)
	}
	if len(data) < 16 {
		return append(b, "<unavailable>"...)
	}
	switch {
	case first == 0:
		return append(b, "NULL"...)
	case first&1 != 0:
		b = strconv.AppendInt(append(b, "&virtual table offset "...), first-1, 10)
	default:
		b = p.address(append(b, "("+TypeName(s, p.CPlusPlus)+") "...), uint64(first))
	}
	if adjust := int64(word(data[8:16])); adjust != 0 {
		b = strconv.AppendInt(append(b, ", this adjustment "...), adjust, 10)
	}
	return b
}

// memberAt is the member of a class, or of one of its bases, that begins at that bit.
func memberAt(class *ctype.Type, bit int64, depth int) (in, name string) {
	s := class.Strip()
	if depth > maxDepth || s.Kind != ctype.Struct && s.Kind != ctype.Union {
		return "", ""
	}
	fields := s.Fields()
	for i := range fields {
		if m := &fields[i]; !m.Base && m.BitSize == 0 && m.Name != "" && m.BitOffset == bit {
			return s.Name, m.Name
		}
	}
	for i := range fields {
		m := &fields[i]
		if m.Base && !m.Virtual && m.BitOffset <= bit && bit < m.BitOffset+8*m.Type.Strip().Size {
			if in, name = memberAt(m.Type, bit-m.BitOffset, depth+1); name != "" {
				return in, name
			}
		}
	}
	return "", ""
}

// memberDeclarator is S::*inner, in parentheses where the member's type is written around it.
func memberDeclarator(t *ctype.Type, inner string) string {
	inner = t.Of.Strip().Name + "::*" + inner
	if to := t.To; to != nil && (to.Kind == ctype.Func || to.Kind == ctype.Array) {
		return "(" + inner + ")"
	}
	return inner
}
