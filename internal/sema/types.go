package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

var (
	longDoubleT = &ctype.Type{Kind: ctype.Float, Name: "long double", Size: 16}
	int128T     = &ctype.Type{Kind: ctype.Int, Name: "__int128", Size: 16, Signed: true}
	uint128T    = &ctype.Type{Kind: ctype.Int, Name: "unsigned __int128", Size: 16}
	// unsignedCharT is char where it has no sign; the type unsigned char is another one.
	unsignedCharT = &ctype.Type{Kind: ctype.Char, Name: "char", Size: 1}
	voidPtrT      = ctype.PointerTo(ctype.VoidT)
	codePtrT      = ctype.PointerTo(&ctype.Type{Kind: ctype.Func, Elem: ctype.VoidT})
	textT         = ctype.ArrayOf(ctype.CharT, -1) // a string taken at the hit
)

// baseTypes are the base types of the x86-64 System V ABI, by their normalised names.
var baseTypes = map[string]*ctype.Type{
	"void": ctype.VoidT, "_Bool": ctype.BoolT, "bool": ctype.BoolT,
	"char": ctype.CharT, "signed char": ctype.SCharT, "unsigned char": ctype.UCharT,
	"short": ctype.ShortT, "unsigned short": ctype.UShortT,
	"int": ctype.IntT, "unsigned int": ctype.UIntT, "unsigned": ctype.UIntT, "signed": ctype.IntT,
	"long": ctype.LongT, "unsigned long": ctype.ULongT,
	"long long": ctype.LLongT, "unsigned long long": ctype.ULLongT,
	"float": ctype.FloatT, "double": ctype.DoubleT, "long double": longDoubleT,
	"_Complex float":       {Kind: ctype.Complex, Name: "complex float", Size: 8},
	"_Complex double":      {Kind: ctype.Complex, Name: "complex double", Size: 16},
	"_Complex long double": {Kind: ctype.Complex, Name: "complex long double", Size: 32},
	"__int128":             int128T, "unsigned __int128": uint128T,
}

// stdTypes replace the usual typedefs if the program does not have them.
var stdTypes = map[string]*ctype.Type{
	"int8_t": ctype.SCharT, "uint8_t": ctype.UCharT, "int16_t": ctype.ShortT, "uint16_t": ctype.UShortT,
	"int32_t": ctype.IntT, "uint32_t": ctype.UIntT, "int64_t": ctype.LongT, "uint64_t": ctype.ULongT,
	"size_t": ctype.ULongT, "ssize_t": ctype.LongT, "ptrdiff_t": ctype.LongT,
	"intptr_t": ctype.LongT, "uintptr_t": ctype.ULongT,
}

func builtinType(name string) *ctype.Type { return baseTypes[name] }

// namedType finds a typedef, a base type, or (as C++ and GDB) a tag by its bare name.
func namedType(s debuginfo.Scope, name string) *ctype.Type {
	if r, ok := s.(debuginfo.Resolver); ok {
		if e, err := r.Resolve(name, true); err == nil {
			return e.Type
		}
	}
	name = strings.TrimPrefix(name, "::")
	for _, kind := range []ctype.Kind{ctype.Typedef, ctype.Struct, ctype.Union, ctype.Enum} {
		if t, err := s.Type(kind, name); err == nil {
			return t
		}
	}
	if t := stdTypes[name]; t != nil {
		return &ctype.Type{Kind: ctype.Typedef, Name: name, Size: t.Size, Elem: t}
	}
	return nil
}

var tagKinds = map[string]ctype.Kind{"struct": ctype.Struct, "union": ctype.Union, "enum": ctype.Enum}

// Classes of types, on stripped types.

func isPointer(t *ctype.Type) bool { return t.Strip().Kind == ctype.Pointer }
func isArray(t *ctype.Type) bool   { k := t.Strip(); return k.Kind == ctype.Array && !k.Vector }
func isFunc(t *ctype.Type) bool    { return t.Strip().Kind == ctype.Func }
func isVoid(t *ctype.Type) bool    { return t.Strip().Kind == ctype.Void }
func isRecord(t *ctype.Type) bool {
	k := t.Strip().Kind
	return k == ctype.Struct || k == ctype.Union
}

// elemOf is what a pointer, reference or array is made of.
func elemOf(t *ctype.Type) *ctype.Type {
	if e := t.Strip().Elem; e != nil {
		return e
	}
	return ctype.VoidT
}

// isInt: an integer that fits a machine word, so that we can compute with it.
func isInt(t *ctype.Type) bool {
	s := t.Strip()
	return s.IsInteger() && (s.Size == 1 || s.Size == 2 || s.Size == 4 || s.Size == 8)
}

// isFloat: a float or double.
func isFloat(t *ctype.Type) bool {
	s := t.Strip()
	return s.Kind == ctype.Float && (s.Size == 4 || s.Size == 8)
}

// isNumber: an integer or floating type that we can compute with.
func isNumber(t *ctype.Type) bool { return isInt(t) || isFloat(t) }

// isScalar: a value that lives in one IR value.
func isScalar(t *ctype.Type) bool { return isNumber(t) || isPointer(t) }

// isSigned reports whether an integer of type t is sign-extended.
func isSigned(t *ctype.Type) bool {
	s := t.Strip()
	return s.Signed && s.Kind != ctype.Bool && s.Kind != ctype.Pointer
}

// isChar: a character of one byte, of which strings are made.
func isChar(t *ctype.Type) bool {
	s := t.Strip()
	return s.Kind == ctype.Char && s.Size == 1
}

func isCharPointer(t *ctype.Type) bool {
	s := t.Strip()
	return s.Kind == ctype.Pointer && isChar(elemOf(s))
}

func isCharArray(t *ctype.Type) bool { return isArray(t) && isChar(elemOf(t)) }

// isByteElem: what GDB's /s takes for text: a character or any integer of one byte.
func isByteElem(t *ctype.Type) bool {
	s := t.Strip()
	return s.Size == 1 && (s.Kind == ctype.Char || s.Kind == ctype.Int)
}

// promote is C's integer promotion; bits is the width of a bit-field or 0.
func promote(t *ctype.Type, bits int64) *ctype.Type {
	s := t.Strip()
	if bits == 0 || bits > s.Size*8 {
		bits = s.Size * 8
	}
	switch {
	case s.Kind == ctype.Bool || bits < 32:
		return ctype.IntT
	case bits == 32 && s.Signed:
		return ctype.IntT
	case bits == 32:
		return ctype.UIntT
	case s.Kind == ctype.Enum || s.Kind == ctype.Char:
		return ofSize(8, s.Signed, false)
	}
	return t.Strip()
}

func isLongLong(t *ctype.Type) bool { return strings.Contains(t.Strip().Name, "long long") }

func ofSize(size int64, signed, longlong bool) *ctype.Type {
	switch {
	case size == 4 && signed:
		return ctype.IntT
	case size == 4:
		return ctype.UIntT
	case longlong && signed:
		return ctype.LLongT
	case longlong:
		return ctype.ULLongT
	case signed:
		return ctype.LongT
	}
	return ctype.ULongT
}

// usual is the usual arithmetic conversion of two promoted or floating types.
func usual(a, b *ctype.Type) *ctype.Type {
	a, b = a.Strip(), b.Strip()
	if isFloat(a) || isFloat(b) {
		if a.Kind == ctype.Float && b.Kind == ctype.Float && a.Size == 4 && b.Size == 4 ||
			a.Kind == ctype.Float && a.Size == 4 && b.Kind != ctype.Float ||
			b.Kind == ctype.Float && b.Size == 4 && a.Kind != ctype.Float {
			return ctype.FloatT
		}
		return ctype.DoubleT
	}
	switch {
	case a.Size == b.Size:
		return ofSize(a.Size, a.Signed && b.Signed, isLongLong(a) || isLongLong(b))
	case a.Size > b.Size:
		return ofSize(a.Size, a.Signed, isLongLong(a))
	}
	return ofSize(b.Size, b.Signed, isLongLong(b))
}

func typeString(t *ctype.Type) string { return declare(t, "", 0) }

func declare(t *ctype.Type, inner string, depth int) string {
	if t == nil {
		return "void" + space(inner)
	}
	if depth > 64 {
		return "..." + space(inner)
	}
	switch t.Kind {
	case ctype.Pointer, ctype.Reference:
		star := "*"
		if t.Kind == ctype.Reference {
			star = "&"
		}
		if e := t.Elem; e != nil && (e.Kind == ctype.Array || e.Kind == ctype.Func) {
			return declare(e, "("+star+inner+")", depth+1)
		}
		return declare(t.Elem, star+inner, depth+1)
	case ctype.Array:
		n := ""
		if t.Count >= 0 {
			n = fmt.Sprint(t.Count)
		}
		return declare(t.Elem, inner+"["+n+"]", depth+1)
	case ctype.Func:
		return declare(t.Elem, inner+params(t, depth), depth+1)
	case ctype.Const, ctype.Volatile, ctype.Restrict, ctype.Atomic:
		return qualified(t, inner, depth)
	case ctype.Struct, ctype.Union, ctype.Enum:
		return tagged(t) + space(inner)
	}
	name := t.Name
	if name == "" {
		name = "void"
	}
	return name + space(inner)
}

func params(t *ctype.Type, depth int) string {
	list := make([]string, 0, len(t.Params)+1)
	for _, p := range t.Params {
		list = append(list, declare(p, "", depth+1))
	}
	if t.Variadic {
		list = append(list, "...")
	}
	return "(" + strings.Join(list, ", ") + ")"
}

var qualifierNames = map[ctype.Kind]string{
	ctype.Const: "const", ctype.Volatile: "volatile", ctype.Restrict: "restrict", ctype.Atomic: "_Atomic",
}

func qualified(t *ctype.Type, inner string, depth int) string {
	q := qualifierNames[t.Kind]
	if t.Elem != nil && t.Elem.Kind == ctype.Pointer {
		return declare(t.Elem, " "+q+space(inner), depth+1)
	}
	return q + " " + declare(t.Elem, inner, depth+1)
}

func tagged(t *ctype.Type) string {
	kw := map[ctype.Kind]string{ctype.Struct: "struct", ctype.Union: "union", ctype.Enum: "enum"}[t.Kind]
	if t.Name == "" {
		return kw + " {...}"
	}
	return kw + " " + t.Name
}

func space(inner string) string {
	if inner == "" || inner[0] == ' ' {
		return inner
	}
	return " " + inner
}
