package debuginfo

import "github.com/jalon-trace/jalon/internal/ctype"

// Array describes an array, or a text with a length, whose place or bounds are computed at the hit: Fortran's automatic,
// allocatable, pointer and assumed-shape arrays, its CHARACTERs of a length that is no constant, and C's arrays of variable
// length. The object that a
// variable or member of such a type is has the elements, or a descriptor that leads to them.
type Array struct {
	Elem *ctype.Type
	Text bool // the elements are the characters of a text, or of texts; Dims[0] is the range of these
	// TextType is the type of the texts of an array of them.
	TextType *ctype.Type
	// Data is the address of the first element; nil: that of the object.
	Data []Op
	// Exists is not zero if there are elements now; nil: always. Pointer: they are a pointer's target, and otherwise
	// they are allocated.
	Exists  []Op
	Pointer bool
	Dims    []Dimension // the dimension that runs fastest first
}

// Dimension is a range of indices of an Array.
type Dimension struct {
	Lower  Bound
	Upper  Bound // the last index, or
	Count  Bound // the number of elements
	Stride Bound // bytes from an element to the next one; none: the elements lie one behind the other
}

// Bound is a number that describes an Array.
type Bound struct {
	Kind     BoundKind
	N        int64
	Variable *Variable
	Expr     []Op
	Why      string // of NoBound: why it is not known; "": the program has no such bound
}

// BoundKind is where the number of a Bound is.
type BoundKind uint8

// The kinds of Bound.
const (
	NoBound BoundKind = iota
	ConstBound
	VariableBound
	ExprBound
)

// Arrays is implemented by scopes whose language has such arrays.
type Arrays interface {
	// Array describes type t at the scope's pc; nil: it is no such array.
	Array(t *ctype.Type) *Array
}
