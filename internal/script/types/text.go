package types

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// String is the type as messages show it.
func (t *Type) String() string {
	switch t.Kind {
	case Int:
		if t.C != nil {
			return "enum " + t.C.Name
		}
		sign := "uint"
		if t.Signed {
			sign = "int"
		}
		return fmt.Sprintf("%s%d", sign, 8*t.Size)
	case String, Buffer, Inet:
		if t.Size == 0 {
			return t.Kind.String()
		}
		return fmt.Sprintf("%s[%d]", t.Kind, t.Size)
	case Pointer:
		return t.pointeeText() + " *"
	case Array:
		return fmt.Sprintf("%s[%d]", t.Elem, t.Count)
	case Struct:
		return CName(t.C)
	case Tuple, Record:
		return t.fieldsText()
	case KStack, UStack:
		return fmt.Sprintf("%s_%s_%d", t.Kind, t.Stack.Mode, t.Stack.Limit)
	case Sum, Min, Max, Avg, Stats:
		if !t.Signed {
			return "u" + t.Kind.String()
		}
	}
	return t.Kind.String()
}

// pointeeText is what a pointer points to, without the members of structs.
func (t *Type) pointeeText() string {
	if t.Elem == nil && t.pointee != nil {
		if s := t.pointee.Strip(); s.Kind == ctype.Struct || s.Kind == ctype.Union {
			return CName(s)
		}
	}
	return t.Pointee().String()
}

func (t *Type) fieldsText() string {
	parts := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		parts[i] = f.Type.String()
		if t.Kind == Record {
			parts[i] = "." + f.Name + " = " + parts[i]
		}
	}
	if t.Kind == Record {
		return "record { " + strings.Join(parts, ", ") + " }"
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// CName is the name of a struct or union with its keyword.
func CName(c *ctype.Type) string {
	word := "struct"
	if c.Kind == ctype.Union {
		word = "union"
	}
	if c.Name == "" {
		return word + " {...}"
	}
	return word + " " + c.Name
}
