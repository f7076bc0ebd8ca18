package types

import "github.com/jalon-trace/jalon/internal/ctype"

// FromC returns the language's type of values of a C type; NoneT if it has none.
func FromC(c *ctype.Type) *Type {
	s := c.Strip()
	switch s.Kind {
	case ctype.Void:
		return VoidT
	case ctype.Bool:
		return BoolT
	case ctype.Char, ctype.Int:
		if s.Size != 1 && s.Size != 2 && s.Size != 4 && s.Size != 8 {
			return NoneT
		}
		return IntOf(s.Size, s.Signed)
	case ctype.Enum:
		if s.Size != 1 && s.Size != 2 && s.Size != 4 && s.Size != 8 {
			return NoneT
		}
		return &Type{Kind: Int, Size: s.Size, Signed: s.Signed, C: s}
	case ctype.Float:
		if s.Size == 4 || s.Size == 8 {
			return &Type{Kind: Float, Size: s.Size, Signed: true}
		}
	case ctype.Pointer, ctype.Reference:
		if s.Elem == nil || s.Elem.Strip().Kind == ctype.Func {
			return &Type{Kind: Pointer, Size: 8}
		}
		return &Type{Kind: Pointer, Size: 8, pointee: s.Elem}
	case ctype.Func:
		return &Type{Kind: Pointer, Size: 8}
	case ctype.Struct, ctype.Union:
		return &Type{Kind: Struct, Size: s.Size, C: s}
	case ctype.Array:
		return arrayFromC(s)
	}
	return NoneT
}

// arrayFromC returns a string for an array of characters.
func arrayFromC(s *ctype.Type) *Type {
	elem := FromC(s.Elem)
	if elem.Kind == None || elem.Kind == Void {
		return NoneT
	}
	n := max(s.Count, 0)
	if e := s.Elem.Strip(); n > 0 && e.Size == 1 && (e.Kind == ctype.Char || e.Kind == ctype.Int) && (e.Signed || e.Name == "char") {
		return StringOf(n)
	}
	return ArrayOf(elem, n)
}
