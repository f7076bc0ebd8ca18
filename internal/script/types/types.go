// Package types has the types of the language of scripts: how they are written, which of two holds the values of
// both, and what they are made of in C.
//
// Import rule: types imports only ctype.
package types

import "github.com/jalon-trace/jalon/internal/ctype"

// Kind is the class of a type.
type Kind uint8

// The kinds. From Count on, they are types of maps' values that are updated by functions.
const (
	None Kind = iota // not known yet
	Void
	Int
	Float // jalon's: doubles, where the engine has them
	Bool
	String
	Buffer
	Inet
	Pointer
	Array
	Struct // of C: a struct or union
	Tuple
	Record
	KStack
	UStack
	KSym
	USym
	Username
	MACAddr
	CgroupPath
	Timestamp
	ClockMode // the argument of nsecs()
	Count
	Sum
	Min
	Max
	Avg
	Stats
	Hist
	LHist
	TSeries
)

var kindNames = [...]string{
	None: "none", Void: "void", Int: "int", Float: "double", Bool: "bool", String: "string", Buffer: "buffer", Inet: "inet",
	Pointer: "pointer", Array: "array", Struct: "c_type", Tuple: "tuple", Record: "record", KStack: "kstack", UStack: "ustack",
	KSym: "ksym_t", USym: "usym_t", Username: "username_t", MACAddr: "mac_address", CgroupPath: "cgroup_path_t",
	Timestamp: "timestamp", ClockMode: "timestamp_mode", Count: "count_t", Sum: "sum_t", Min: "min_t", Max: "max_t",
	Avg: "avg_t", Stats: "stats_t", Hist: "hist_t", LHist: "lhist_t", TSeries: "tseries_t",
}

func (k Kind) String() string { return kindNames[k] }

// Space is the address space of what a pointer refers to, or of where a value was read.
type Space uint8

// The spaces. Unknown is for timers and the like, which run in both.
const (
	Unknown Space = iota
	Kernel
	User
)

// Type is a type. Types are not changed after they are made.
type Type struct {
	Kind   Kind
	Size   int64 // bytes; 0 if unknown or none
	Signed bool  // of integers, and of aggregations of integers
	Float  bool  // of aggregations: of floating-point values
	// Flexible means a non-negative literal, which can become unsigned.
	Flexible bool
	Elem     *Type // of Pointer (nil for void) and Array
	Count    int64 // elements of an Array
	Fields   []Field
	C        *ctype.Type // of Struct; of Int: its enum
	Stack    Stack
	Clock    string // of a ClockMode, and of the integers that nsecs returns
	Space    Space
	Ctx      bool // part of the context of the probe
	pointee  *ctype.Type
}

// Field is an element of a Tuple (Name "") or Record.
type Field struct {
	Name   string
	Type   *Type
	Offset int64
}

// Stack says how a stack is recorded.
type Stack struct {
	Mode  string
	Limit int64
}

// The types without parts.
var (
	NoneT    = &Type{Kind: None}
	VoidT    = &Type{Kind: Void}
	BoolT    = &Type{Kind: Bool, Size: 1}
	FloatT   = &Type{Kind: Float, Size: 8, Signed: true}
	Int8     = IntOf(1, true)
	Int16    = IntOf(2, true)
	Int32    = IntOf(4, true)
	Int64    = IntOf(8, true)
	Uint8    = IntOf(1, false)
	Uint16   = IntOf(2, false)
	Uint32   = IntOf(4, false)
	Uint64   = IntOf(8, false)
	KSymT    = &Type{Kind: KSym, Size: 8}
	USymT    = &Type{Kind: USym, Size: 24}
	UserT    = &Type{Kind: Username, Size: 8}
	MACT     = &Type{Kind: MACAddr, Size: 6}
	CgroupT  = &Type{Kind: CgroupPath, Size: 16}
	InetT    = &Type{Kind: Inet, Size: 24}
	TimeT    = &Type{Kind: Timestamp, Size: 16}
	CountT   = &Type{Kind: Count, Size: 8, Signed: true}
	HistT    = &Type{Kind: Hist, Size: 8}
	LHistT   = &Type{Kind: LHist, Size: 8}
	TSeriesT = &Type{Kind: TSeries, Size: 8}
)

var ints = func() (t [2][9]*Type) {
	for _, size := range []int64{1, 2, 4, 8} {
		t[0][size] = &Type{Kind: Int, Size: size}
		t[1][size] = &Type{Kind: Int, Size: size, Signed: true}
	}
	return t
}()

// IntOf returns the integer type of a size of 1, 2, 4 or 8 bytes.
func IntOf(size int64, signed bool) *Type {
	s := 0
	if signed {
		s = 1
	}
	return ints[s][size]
}

// StringOf returns the type of strings in size bytes, with their NUL.
func StringOf(size int64) *Type { return &Type{Kind: String, Size: size} }

// BufferOf returns the type of buffers of size bytes.
func BufferOf(size int64) *Type { return &Type{Kind: Buffer, Size: size} }

// PointerTo returns the type of pointers to t; nil for void.
func PointerTo(t *Type, space Space) *Type {
	return &Type{Kind: Pointer, Size: 8, Elem: t, Space: space}
}

// ArrayOf returns the type of arrays of n elements.
func ArrayOf(t *Type, n int64) *Type {
	return &Type{Kind: Array, Size: t.Size * n, Elem: t, Count: n}
}

// Aggregate returns the type of the values of a map that one of sum, min, max, avg and stats updates.
func Aggregate(k Kind, signed bool) *Type {
	return &Type{Kind: k, Size: 8, Signed: signed}
}

// Floats returns an aggregation as one of floating-point values.
func Floats(t *Type) *Type {
	c := *t
	c.Signed, c.Float = true, true
	return &c
}

// Number is the type of the number that an aggregation has as its value; of other types it is t.
func (t *Type) Number() *Type {
	switch {
	case !t.Castable():
		return t
	case t.Float:
		return FloatT
	}
	return IntOf(8, t.Signed)
}

// Floating reports floating-point numbers, and aggregations that have one as their value.
func (t *Type) Floating() bool { return t.Number().Kind == Float }

// StackOf returns the type of stacks.
func StackOf(k Kind, mode string, limit int64) *Type {
	return &Type{Kind: k, Size: 16, Stack: Stack{mode, limit}}
}

// TupleOf returns the type of tuples with these elements.
func TupleOf(elems []*Type) *Type {
	fields := make([]Field, len(elems))
	for i, t := range elems {
		fields[i].Type = t
	}
	return layout(Tuple, fields)
}

// RecordOf returns the type of records with these fields.
func RecordOf(fields []Field) *Type { return layout(Record, fields) }

// layout places fields as a C compiler does.
func layout(k Kind, fields []Field) *Type {
	t := &Type{Kind: k, Fields: fields}
	align := int64(1)
	for i := range fields {
		a := fields[i].Type.align()
		align = max(align, a)
		t.Size = (t.Size + a - 1) / a * a
		fields[i].Offset = t.Size
		t.Size += fields[i].Type.Size
	}
	t.Size = (t.Size + align - 1) / align * align
	return t
}

func (t *Type) align() int64 {
	switch t.Kind {
	case String, Buffer, Inet, MACAddr:
		return 1
	case Array:
		return t.Elem.align()
	case Struct:
		if t.C == nil {
			return 8
		}
		return alignOf(t.C, 0)
	case Tuple, Record:
		a := int64(1)
		for _, f := range t.Fields {
			a = max(a, f.Type.align())
		}
		return a
	}
	switch {
	case t.Size <= 1:
		return 1
	case t.Size <= 2:
		return 2
	case t.Size <= 4:
		return 4
	}
	return 8
}

// alignOf is the alignment of a type of C.
func alignOf(c *ctype.Type, depth int) int64 {
	s := c.Strip()
	switch {
	case depth > 32:
		return 8
	case s.Kind == ctype.Array && s.Elem != nil:
		return alignOf(s.Elem, depth+1)
	case s.Kind == ctype.Struct || s.Kind == ctype.Union:
		a := int64(1)
		for _, f := range s.Fields() {
			if fa := alignOf(f.Type, depth+1); f.BitSize > 0 || f.BitOffset%(8*fa) == 0 { // not of a packed struct
				a = max(a, fa)
			}
		}
		for s.Size%a != 0 {
			a /= 2
		}
		return a
	}
	a := int64(1)
	for a < s.Size && a < 8 {
		a *= 2
	}
	return a
}

// In returns t as read in, or pointing to, an address space.
func (t *Type) In(s Space) *Type {
	if t.Space == s {
		return t
	}
	c := *t
	c.Space = s
	return &c
}

// WithCtx returns t as a part of the context of a probe, or not.
func (t *Type) WithCtx(ctx bool) *Type {
	if t.Ctx == ctx {
		return t
	}
	c := *t
	c.Ctx = ctx
	return &c
}

// Pointee returns what a pointer points to; VoidT if that is not known.
func (t *Type) Pointee() *Type {
	switch {
	case t.Elem != nil:
		return t.Elem
	case t.pointee != nil:
		return FromC(t.pointee)
	}
	return VoidT
}

// Is reports whether t is of one of the kinds.
func (t *Type) Is(kinds ...Kind) bool {
	for _, k := range kinds {
		if t.Kind == k {
			return true
		}
	}
	return false
}

// Aggregated reports types of maps' values that functions such as count update.
func (t *Type) Aggregated() bool { return t.Kind >= Count }

// Castable reports aggregations that have a single number as value.
func (t *Type) Castable() bool { return t.Is(Count, Sum, Min, Max, Avg) }

// ManyValued reports aggregations that have several values for each key of the map.
func (t *Type) ManyValued() bool { return t.Is(Hist, LHist, TSeries) }

// Field returns the field of a record with the name.
func (t *Type) Field(name string) (Field, bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}
