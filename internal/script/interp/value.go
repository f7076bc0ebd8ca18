package interp

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// val is a value. Its type, which the checker knows, says which fields have it.
type val struct {
	n    uint64  // integers (extended to 64 bits by their sign), booleans, pointers
	f    float64 // doubles
	s    string  // strings, buffers, and what is only printed: names, times
	list []val   // arrays, tuples, records
	tail string  // is shown behind a string that was longer
	// stack has the frames of a stack, whose addresses s has.
	stack []printf.Frame
}

func num(n uint64) val { return val{n: n} }

func truth(b bool) val {
	if b {
		return val{n: 1}
	}
	return val{}
}

// fit cuts an integer to a type and extends it to 64 bits.
func fit(n uint64, t *types.Type) uint64 { return ctype.Extend(n, int64(t.Size), t.Signed) }

// convert returns a value of another type. The checker has permitted it.
func convert(v val, from, to *types.Type) val {
	switch to.Kind {
	case types.Int, types.Pointer:
		return num(fit(integer(v, from), to))
	case types.Bool:
		return truth(isTrue(v, from))
	case types.Float:
		if to.Size == 4 {
			return val{f: float64(float32(float(v, from)))}
		}
		return val{f: float(v, from)}
	case types.Array:
		if from.Kind != types.Array {
			return split(v, from, to)
		}
	case types.Tuple:
		out := val{list: make([]val, len(to.Fields))}
		for i := range to.Fields {
			out.list[i] = convert(v.list[i], from.Fields[i].Type, to.Fields[i].Type)
		}
		return out
	case types.Record:
		out := val{list: make([]val, len(to.Fields))}
		for i, f := range to.Fields {
			for j, g := range from.Fields {
				if f.Name == g.Name {
					out.list[i] = convert(v.list[j], g.Type, f.Type)
				}
			}
		}
		return out
	}
	return v
}

// integer is a value as an integer of 64 bits.
func integer(v val, t *types.Type) uint64 {
	switch {
	case t.Floating():
		return uint64(int64(v.f))
	case t.Kind == types.Array:
		return littleEndian(v, t)
	}
	return v.n
}

// littleEndian reads the bytes of an array of integers as one integer.
func littleEndian(v val, t *types.Type) uint64 {
	var n uint64
	for i, e := range v.list {
		shift := 8 * int64(i) * t.Elem.Size
		if shift >= 64 {
			break
		}
		n |= fit(e.n, types.IntOf(t.Elem.Size, false)) << shift
	}
	return n
}

// split makes an array of the bytes of an integer or a string.
func split(v val, from, to *types.Type) val {
	raw := make([]byte, to.Size+8)
	if from.Kind == types.String {
		copy(raw, v.s)
	} else {
		binary.LittleEndian.PutUint64(raw, v.n)
	}
	out := val{list: make([]val, to.Count)}
	for i := range out.list {
		var n uint64
		for b := range to.Elem.Size {
			n |= uint64(raw[int64(i)*to.Elem.Size+b]) << (8 * b)
		}
		out.list[i] = num(fit(n, to.Elem))
	}
	return out
}

func float(v val, t *types.Type) float64 {
	switch {
	case t.Floating():
		return v.f
	case t.Signed:
		return float64(int64(v.n))
	}
	return float64(v.n)
}

func isTrue(v val, t *types.Type) bool {
	switch {
	case t.Floating():
		return v.f != 0
	case t.Kind == types.String:
		return v.s != ""
	}
	return v.n != 0
}

// equal compares values of compatible types.
func equal(a, b val) bool {
	if a.n != b.n || a.s != b.s || a.f != b.f || len(a.list) != len(b.list) {
		return false
	}
	for i := range a.list {
		if !equal(a.list[i], b.list[i]) {
			return false
		}
	}
	return true
}

// encode appends a value as the key of a Go map.
func encode(b []byte, v val) []byte {
	b = binary.LittleEndian.AppendUint64(b, v.n)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.f))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v.s)))
	b = append(b, v.s...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v.list)))
	for _, e := range v.list {
		b = encode(b, e)
	}
	return b
}

// printed is a value as it is printed.
func printed(v val, t *types.Type) printf.Value {
	switch t.Kind {
	case types.Int:
		return printedInt(v, t)
	case types.Bool:
		return printf.Bool(v.n != 0)
	case types.Float:
		return printf.Float(v.f, int(8*t.Size))
	case types.Pointer:
		return printf.Pointer(v.n)
	case types.Buffer:
		return printf.Buffer([]byte(v.s))
	case types.Struct:
		return printedStruct(v, t)
	case types.KStack, types.UStack:
		return printf.Stack(v.stack, t.Stack.Mode)
	case types.KSym, types.USym, types.CgroupPath:
		if v.s == "" {
			return printf.Pointer(v.n)
		}
		return printf.Text(v.s)
	case types.String:
		return printf.Text(cstr(v.s) + v.tail)
	case types.Array:
		elems := make([]printf.Value, len(v.list))
		for i, e := range v.list {
			elems[i] = printed(e, t.Elem)
		}
		return printf.Array(elems...)
	case types.Tuple, types.Record:
		elems, names := make([]printf.Value, len(v.list)), make([]string, len(v.list))
		for i, e := range v.list {
			elems[i], names[i] = printed(e, t.Fields[i].Type), t.Fields[i].Name
		}
		if t.Kind == types.Tuple {
			return printf.Tuple(elems...)
		}
		return printf.Record(names, elems)
	case types.Count, types.Sum, types.Min, types.Max, types.Avg:
		return printed(v, t.Number())
	}
	return printf.Text(strings.TrimRight(v.s, "\x00"))
}

func printedInt(v val, t *types.Type) printf.Value {
	if t.C != nil {
		for _, e := range t.C.Enumerators() {
			if uint64(e.Value) == v.n {
				if t.Signed {
					return printf.Named(e.Name, e.Value)
				}
				return printf.Symbol(e.Name, v.n)
			}
		}
	}
	if t.Signed {
		return printf.Int(int64(v.n))
	}
	return printf.Uint(v.n)
}
