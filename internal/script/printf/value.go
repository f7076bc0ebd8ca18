// Package printf has the values that scripts print: as text, in formats such as %-10s, and as JSON.
//
// Import rule: printf imports only script/types.
package printf

import (
	"math"
	"strconv"
	"strings"
)

// Value is a value that is printed.
type Value struct {
	kind kind
	num  uint64 // of integers, booleans, symbols
	flt  float64
	str  string
	list []Value
	keys []string // of the fields of a record
}

type kind uint8

const (
	noValue kind = iota
	boolValue
	intValue
	uintValue
	floatValue
	textValue
	symbolValue // a name with a number: an enumerator, a pointer
	namedValue  // a name with a signed number
	bufferValue
	arrayValue
	tupleValue
	recordValue
	stackValue
)

// None is the absence of a value.
func None() Value { return Value{} }

// Bool, Int, Uint, Float and Text make scalars.
func Bool(b bool) Value {
	v := Value{kind: boolValue}
	if b {
		v.num = 1
	}
	return v
}

// Int makes a signed integer.
func Int(n int64) Value { return Value{kind: intValue, num: uint64(n)} }

// Uint makes an unsigned integer.
func Uint(n uint64) Value { return Value{kind: uintValue, num: n} }

// Float makes a floating value of 32 or 64 bits.
func Float(f float64, bits int) Value { return Value{kind: floatValue, flt: f, num: uint64(bits)} }

// Approximate makes a floating value with a text.
func Approximate(text string, f float64) Value {
	return Value{kind: floatValue, flt: f, num: 64, str: text}
}

// IsReal reports floating-point values.
func (v Value) IsReal() bool { return v.kind == floatValue }

// Real is the value as a floating-point number.
func (v Value) Real() float64 {
	if v.kind == floatValue {
		return v.flt
	}
	if n, signed, _ := v.Number(); !signed {
		return float64(n)
	}
	return float64(int64(v.num))
}

// float is the shortest text that means the value, in the forms of %g: with an exponent if it is large or small.
func (v Value) float() string {
	abs, form := math.Abs(v.flt), byte('f')
	switch {
	case math.IsInf(v.flt, 0):
		return map[bool]string{false: "inf", true: "-inf"}[v.flt < 0]
	case math.IsNaN(v.flt):
		return "nan"
	case abs >= 1e17 || abs < 1e-4 && abs > 0:
		form = 'e'
	}
	return strconv.FormatFloat(v.flt, form, -1, int(v.num))
}

// Text makes a string.
func Text(s string) Value { return Value{kind: textValue, str: s} }

// Symbol makes a number that %s shows as a name.
func Symbol(name string, n uint64) Value { return Value{kind: symbolValue, str: name, num: n} }

// Named is Symbol with a signed number.
func Named(name string, n int64) Value { return Value{kind: namedValue, str: name, num: uint64(n)} }

// Pointer makes an address.
func Pointer(p uint64) Value { return Symbol("0x"+strconv.FormatUint(p, 16), p) }

// Buffer makes a sequence of bytes.
func Buffer(b []byte) Value { return Value{kind: bufferValue, str: string(b)} }

// Array makes an array, Tuple a tuple.
func Array(elems ...Value) Value { return Value{kind: arrayValue, list: elems} }

// Tuple makes a tuple.
func Tuple(elems ...Value) Value { return Value{kind: tupleValue, list: elems} }

// Record makes a record or struct.
func Record(keys []string, values []Value) Value {
	return Value{kind: recordValue, keys: keys, list: values}
}

// Number is the value as an integer, and whether it is one.
func (v Value) Number() (n uint64, signed, ok bool) {
	switch v.kind {
	case boolValue, uintValue, symbolValue:
		return v.num, false, true
	case intValue, namedValue:
		return v.num, true, true
	case floatValue:
		return uint64(int64(v.flt)), true, true
	}
	return 0, false, false
}

// String is the value as print() shows it.
func (v Value) String() string {
	switch v.kind {
	case noValue:
		return "null"
	case boolValue:
		return strconv.FormatBool(v.num != 0)
	case intValue:
		return strconv.FormatInt(int64(v.num), 10)
	case uintValue:
		return strconv.FormatUint(v.num, 10)
	case floatValue:
		if v.str != "" {
			return v.str
		}
		return v.float()
	case bufferValue:
		return hexBytes(v.str, true, true)
	case arrayValue:
		return "[" + v.join(",") + "]"
	case tupleValue:
		return "(" + v.join(", ") + ")"
	case recordValue:
		return v.record()
	case stackValue:
		return v.stack(8)
	}
	return v.str
}

func (v Value) join(sep string) string {
	parts := make([]string, len(v.list))
	for i, e := range v.list {
		parts[i] = e.String()
	}
	return strings.Join(parts, sep)
}

func (v Value) record() string {
	if len(v.list) == 0 {
		return "{}"
	}
	parts := make([]string, len(v.list))
	for i, e := range v.list {
		parts[i] = "." + v.keys[i] + " = " + e.String()
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// Key is the value as the key of a map: a tuple is shown without its parentheses.
func (v Value) Key() string {
	switch v.kind {
	case stackValue:
		return v.stack(4)
	case tupleValue:
		parts := make([]string, len(v.list))
		for i, e := range v.list {
			parts[i] = e.String()
			if e.kind == stackValue {
				parts[i] = e.stack(4)
			}
		}
		return strings.Join(parts, ", ")
	}
	return v.String()
}

// JSONKey is the value as the key of a map in JSON: as Key, but there are no blanks that are not part of a text.
func (v Value) JSONKey() string {
	if v.kind == tupleValue {
		return v.compactList()
	}
	return v.compact()
}

// compact is String without blanks between parts, and without indentation.
func (v Value) compact() string {
	switch v.kind {
	case stackValue:
		return v.stack(0)
	case arrayValue:
		return "[" + v.compactList() + "]"
	case tupleValue:
		return "(" + v.compactList() + ")"
	case recordValue:
		parts := make([]string, len(v.list))
		for i, e := range v.list {
			parts[i] = "." + v.keys[i] + "=" + e.compact()
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return v.String()
}

func (v Value) compactList() string {
	parts := make([]string, len(v.list))
	for i, e := range v.list {
		parts[i] = e.compact()
	}
	return strings.Join(parts, ",")
}

// Missing reports that there is no value.
func (v Value) Missing() bool { return v.kind == noValue }

// JSON is the value as JSON. Integers that a double does not hold are strings, as in bpftrace.
func (v Value) JSON() string {
	switch v.kind {
	case noValue:
		return "null"
	case intValue, namedValue:
		s := strconv.FormatInt(int64(v.num), 10)
		if int64(float64(int64(v.num))) != int64(v.num) || int64(v.num) == 1<<63-1 {
			return `"` + s + `"`
		}
		return s
	case uintValue, symbolValue:
		s := strconv.FormatUint(v.num, 10)
		if f := float64(v.num); f >= 1<<64 || uint64(f) != v.num {
			return `"` + s + `"`
		}
		return s
	case floatValue:
		if math.IsInf(v.flt, 0) || math.IsNaN(v.flt) { // JSON has no such numbers
			return Quote(v.float())
		}
		return v.float()
	case bufferValue:
		parts := make([]string, len(v.str))
		for i := range len(v.str) {
			parts[i] = strconv.Itoa(int(int8(v.str[i])))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case arrayValue, tupleValue:
		parts := make([]string, len(v.list))
		for i, e := range v.list {
			parts[i] = e.JSON()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case recordValue:
		parts := make([]string, len(v.list))
		for i, e := range v.list {
			parts[i] = Quote(v.keys[i]) + ": " + e.JSON()
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case textValue:
		return Quote(v.str)
	case stackValue:
		return Quote(v.stack(8))
	}
	return v.String()
}

// Quote writes a JSON string. Bytes that are not UTF-8 are written as they are, as bpftrace does.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20:
			b.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// hexBytes writes bytes: printable ones as they are if ascii, others as \x00, or if not escape as 00 with blanks
// between.
func hexBytes(s string, ascii, escape bool) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case ascii && c >= 32 && c <= 126:
			b.WriteByte(c)
		case escape:
			b.WriteString(`\x`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		default:
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}
