package printk

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// block is memory that values point into: the record, a literal, a local variable, or the text made by helpers
// so far. Its bytes may move.
type block struct {
	b []byte
	// own means that it belongs to a local variable, to which the format may assign.
	own bool
}

// value is the value of an expression. typ is stripped of typedefs.
//
//	integer            n, extended to 64 bits as its type is signed or not
//	pointer, blk nil   n is an address in the kernel
//	pointer, blk set   it points to blk.b[off:], which we have
//	array, struct      blk.b[off:] is its first byte
//	fail set           there is no value; fail says why
type value struct {
	typ  *ctype.Type
	n    uint64
	blk  *block
	off  int
	list []value // an array of pointers that was initialised in the text
	fail string
}

// failed returns a value that is missing for the given reason.
func failed(format string, args ...any) value { return value{fail: fmt.Sprintf(format, args...)} }

const beyond = "beyond the record"

// integers are the types of arithmetic, by size and sign.
var integers = map[int64][2]*ctype.Type{
	1: {ctype.UCharT, ctype.SCharT}, 2: {ctype.UShortT, ctype.ShortT},
	4: {ctype.UIntT, ctype.IntT}, 8: {ctype.ULongT, ctype.LongT},
}

func intType(size int64, signed bool) *ctype.Type {
	if signed {
		return integers[size][1]
	}
	return integers[size][0]
}

func integer(t *ctype.Type, n uint64) value { return value{typ: t, n: extend(n, t)} }

func boolean(b bool) value {
	if b {
		return value{typ: ctype.IntT, n: 1}
	}
	return value{typ: ctype.IntT}
}

// extend converts the low bytes of n to a value of type t.
func extend(n uint64, t *ctype.Type) uint64 {
	if t.Kind == ctype.Bool {
		if n != 0 {
			return 1
		}
		return 0
	}
	return ctype.Extend(n, t.Size, t.Signed)
}

// at returns the object of type t at off in b. It reads a scalar; an array or struct refers to b.
func at(b *block, off int, t *ctype.Type) value {
	t = t.Strip()
	switch t.Kind {
	case ctype.Array, ctype.Struct, ctype.Union:
		if off < 0 || off > len(b.b) {
			return failed(beyond)
		}
		return value{typ: t, blk: b, off: off}
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer:
	default:
		return failed("a value of type %s", typeText(t))
	}
	n, ok := load(b.b, off, t.Size)
	if !ok {
		return failed(beyond)
	}
	return integer(t, n)
}

// load reads size bytes, little-endian.
func load(b []byte, off int, size int64) (uint64, bool) {
	if off < 0 || size < 0 || size > 8 || int64(off) > int64(len(b))-size {
		return 0, false
	}
	var w [8]byte
	copy(w[:size], b[off:])
	return binary.LittleEndian.Uint64(w[:]), true
}

// bitField reads a bit-field of a struct at off.
func bitField(b *block, off int, f *ctype.Field) value {
	t := f.Type.Strip()
	first := int64(off) + f.BitOffset/8
	shift := uint(f.BitOffset % 8)
	size := (int64(shift) + f.BitSize + 7) / 8
	if size > 8 || f.BitSize > 64 || first > math.MaxInt32 {
		return failed("a bit-field of %d bits", f.BitSize)
	}
	n, ok := load(b.b, int(first), size)
	if !ok {
		return failed(beyond)
	}
	n = n >> shift << (64 - uint(f.BitSize))
	if t.Signed {
		return integer(t, uint64(int64(n)>>(64-uint(f.BitSize))))
	}
	return integer(t, n>>(64-uint(f.BitSize)))
}

// pointerTypes are the pointers to the elements that arrays in records have.
var pointerTypes = func() map[*ctype.Type]*ctype.Type {
	m := map[*ctype.Type]*ctype.Type{}
	for _, name := range []string{"char", "unsigned char", "u8", "__u8", "unsigned long", "unsigned int", "u64"} {
		t := tracefs.NamedType(name)
		m[t] = ctype.PointerTo(t)
	}
	return m
}()

func pointerTo(t *ctype.Type) *ctype.Type {
	if p := pointerTypes[t]; p != nil {
		return p
	}
	return ctype.PointerTo(t)
}

// decay turns an array into a pointer to its first element.
func decay(v value) value {
	if v.fail == "" && v.typ.Kind == ctype.Array && v.list == nil {
		v.typ = pointerTo(v.typ.Elem)
	}
	return v
}

// isInt reports whether v is an integer.
func (v *value) isInt() bool {
	return v.fail == "" && v.blk == nil && v.list == nil && v.typ.IsInteger()
}

// truth returns v as a condition; ok is false if v has no value.
func (v *value) truth() (is, ok bool) {
	switch {
	case v.fail != "":
		return false, false
	case v.blk != nil || v.list != nil:
		return true, true
	}
	return v.n != 0, true
}

// convert is a cast of v to t.
func convert(v value, t *ctype.Type) value {
	v = decay(v)
	t = t.Strip()
	switch {
	case v.fail != "" || t.Kind == ctype.Void:
		return v
	case v.list != nil || v.typ.Kind == ctype.Struct || v.typ.Kind == ctype.Union:
		return failed("a cast of %s", typeText(v.typ))
	case t.Kind == ctype.Pointer:
		v.typ = t
		return v
	case t.Kind == ctype.Bool && v.blk != nil:
		return boolean(true)
	case v.blk != nil && t.IsInteger():
		return failed("the address of recorded data")
	case !t.IsInteger() || t.Size < 1 || t.Size > 8:
		return failed("a cast to %s", typeText(t))
	}
	return integer(t, v.n)
}

// typeText returns a type's name for use in a reason.
func typeText(t *ctype.Type) string {
	switch t.Kind {
	case ctype.Struct:
		return "struct " + t.Name
	case ctype.Union:
		return "union " + t.Name
	case ctype.Array:
		return "an array"
	case ctype.Pointer:
		return "a pointer"
	}
	if t.Name == "" {
		return "an unknown type"
	}
	return t.Name
}
