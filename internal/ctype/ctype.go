// Package ctype models C types as debug information describes them: sizes, member offsets, bit-fields,
// enumerators. The readers of DWARF and BTF produce types; sema and format use them. The package reads neither
// files nor memory.
//
// Import rule: ctype imports nothing of jalon.
package ctype

import (
	"strings"
	"sync"
)

// Kind is the class of a type.
type Kind uint8

// The kinds. Char is an Int whose values print as characters (DW_ATE_signed_char,
// DW_ATE_unsigned_char, DW_ATE_UTF); Bool is C's _Bool.
const (
	Invalid Kind = iota
	Void
	Bool
	Char
	Int
	Float // float, double, long double (x87, Size 16), _Float128; see Quad
	Complex
	Enum
	Pointer
	Reference // C++ T& and T&&: a pointer that reads as its target
	Array
	Struct // struct and C++ class
	Union
	Func
	Typedef
	Const
	Volatile
	Restrict
	Atomic
)

// Type is one C type. Chains (Typedef, Pointer, ...) are complete when made. The members of structs and unions
// and the values of enums may be loaded on first use, so access them only through Fields and Enumerators.
type Type struct {
	Kind   Kind
	Name   string // base type, typedef, or tag without "struct "; "" when anonymous
	Size   int64  // bytes; 0 when incomplete or void
	Signed bool   // Char, Int, Enum
	Elem   *Type  // Pointer, Reference, Array, Typedef, qualifiers; Func: result (Void for none)
	Count  int64  // Array: elements; -1 when unknown (int a[], flexible array members)
	Vector bool   // Array: a SIMD vector (DW_AT_GNU_vector)
	Lower  int64  // Array: the index of the first element, 0 in C
	// Fortran means that elements of an Array are written a(i, j), with the first index for the innermost
	// dimension.
	Fortran bool
	// Decayed means that a Pointer represents an array of unknown length (a flexible member) and is shown
	// without its type.
	Decayed bool
	// Borrows means that a Pointer is a reference or a Box of Rust: its elements are those of the object that it leads to.
	Borrows bool
	// Tagless says that a Struct, Union or Enum is named without the keyword, as in C++.
	Tagless bool
	// Of is set if an Int (an offset) or an Array of two words (a function) is a C++ pointer to member of that
	// class (Itanium C++ ABI 2.3). To is the member's type.
	Of, To *Type
	Params []*Type
	// Variadic means that a Func takes further arguments.
	Variadic bool
	// Incomplete marks a declaration whose definition was not found.
	Incomplete bool
	// Class is set for classes in languages with inheritance. Two types have the same value exactly if they are
	// the same class, even if described by different units.
	Class any
	Ref   any // for the package that made the type

	once     sync.Once
	complete func(*Type)
	fields   []Field
	enums    []Enumerator
	names    []Name
	variants *Variants
}

// Field is a member of a struct or union.
type Field struct {
	Name      string // "" for an anonymous struct or union, or an unnamed bit-field
	Type      *Type
	BitOffset int64 // from the start of the struct, little-endian bit numbering
	BitSize   int64 // bits of a bit-field; 0 for an ordinary member
	Base      bool  // C++: a base class sub-object
	Embedded  bool  // its members can be named as those of the struct: Go's embedded fields, what a type of Fortran extends
	// Virtual marks a virtual base, which has no fixed offset. The first word of the object points to a table;
	// the word at VtableOffset bytes from there is the base's offset (Itanium C++ ABI 2.5.2). VtableOffset 0
	// means unknown. BitOffset is not used.
	Virtual      bool
	VtableOffset int64
}

// NameKind is the kind of a Name.
type NameKind uint8

// The kinds of names that a class has besides its data members.
const (
	StaticMember NameKind = iota
	Function
	NestedType
	Constant // an enumerator of an unscoped enumeration, a template's value argument
	Using    // a using-declaration; Of is the class from which it takes the name
)

// Name is a name declared in a class that is not a data member.
type Name struct {
	Name string
	Kind NameKind
	Of   *Type // also of a NestedType that is a type argument of Rust
	Ref  any   // for the package that made the type
}

// Enumerator is one named value of an enum.
type Enumerator struct {
	Name  string
	Value int64
}

// Lazy registers complete, which is called once before the first access to the members of t. complete calls
// SetFields or SetEnumerators.
func (t *Type) Lazy(complete func(*Type)) { t.complete = complete }

// SetFields sets the members of a struct or union.
func (t *Type) SetFields(f []Field) { t.fields = f }

// SetNames sets the names in a class that are not data members.
func (t *Type) SetNames(n []Name) { t.names = n }

// SetEnumerators sets the values of an enum.
func (t *Type) SetEnumerators(e []Enumerator) { t.enums = e }

func (t *Type) load() {
	t.once.Do(func() {
		if t.complete != nil {
			t.complete(t)
		}
	})
}

// Quad reports whether a number of 16 bytes, or a complex number of two of them, has IEEE 754's format of 128 bits and not that of the x87. Debug
// information says so by the name only: _Float128, __float128, f128, and gfortran's real(kind=16), whose x87 numbers are real(kind=10).
func (t *Type) Quad() bool {
	if t.Kind != Float && t.Kind != Complex {
		return false
	}
	name := strings.ToLower(t.Name)
	for _, part := range []string{"128", "quad", "kind=16", "(16)", "*16"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// Fields returns the members of a struct or union in declaration order.
func (t *Type) Fields() []Field { t.load(); return t.fields }

// Names returns the names in a class that are not data members.
func (t *Type) Names() []Name { t.load(); return t.names }

// Enumerators returns the values of an enum in declaration order.
func (t *Type) Enumerators() []Enumerator { t.load(); return t.enums }

// Strip removes typedefs and qualifiers. A cyclic or too long chain (malformed debug information) gives an
// Invalid type.
func (t *Type) Strip() *Type {
	for n := 0; t != nil && n < 256; n++ {
		switch t.Kind {
		case Typedef, Const, Volatile, Restrict, Atomic:
			t = t.Elem
		default:
			return t
		}
	}
	return &Type{Kind: Invalid, Name: "<invalid>"}
}

// IsInteger reports whether t, stripped, is an integer type (enums and _Bool included).
func (t *Type) IsInteger() bool {
	switch t.Strip().Kind {
	case Bool, Char, Int, Enum:
		return true
	}
	return false
}

// IsArithmetic reports whether t is an integer or floating type.
func (t *Type) IsArithmetic() bool { return t.IsInteger() || t.Strip().Kind == Float }

// IsScalar reports whether t is arithmetic or a pointer.
func (t *Type) IsScalar() bool {
	return t.IsArithmetic() || t.Strip().Kind == Pointer
}

// IsAggregate reports whether t is a struct, union or array.
func (t *Type) IsAggregate() bool {
	switch t.Strip().Kind {
	case Struct, Union, Array:
		return true
	}
	return false
}

// Builtin types of the x86-64 System V ABI, used for literals and promotions.
var (
	VoidT   = &Type{Kind: Void, Name: "void"}
	BoolT   = &Type{Kind: Bool, Name: "_Bool", Size: 1}
	CharT   = &Type{Kind: Char, Name: "char", Size: 1, Signed: true}
	SCharT  = &Type{Kind: Char, Name: "signed char", Size: 1, Signed: true}
	UCharT  = &Type{Kind: Char, Name: "unsigned char", Size: 1}
	ShortT  = &Type{Kind: Int, Name: "short", Size: 2, Signed: true}
	UShortT = &Type{Kind: Int, Name: "unsigned short", Size: 2}
	IntT    = &Type{Kind: Int, Name: "int", Size: 4, Signed: true}
	UIntT   = &Type{Kind: Int, Name: "unsigned int", Size: 4}
	LongT   = &Type{Kind: Int, Name: "long", Size: 8, Signed: true}
	ULongT  = &Type{Kind: Int, Name: "unsigned long", Size: 8}
	LLongT  = &Type{Kind: Int, Name: "long long", Size: 8, Signed: true}
	ULLongT = &Type{Kind: Int, Name: "unsigned long long", Size: 8}
	FloatT  = &Type{Kind: Float, Name: "float", Size: 4}
	DoubleT = &Type{Kind: Float, Name: "double", Size: 8}
)

// PointerTo returns the type T*.
func PointerTo(t *Type) *Type { return &Type{Kind: Pointer, Size: 8, Elem: t} }

// ArrayOf returns the type T[n].
func ArrayOf(t *Type, n int64) *Type {
	size := int64(0)
	if n > 0 && t.Size > 0 {
		size = n * t.Size
	}
	return &Type{Kind: Array, Elem: t, Count: n, Size: size}
}
