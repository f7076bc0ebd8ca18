package check

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// The base types of C by their words in alphabetical order.
var baseTypes = map[string]*ctype.Type{
	"void": ctype.VoidT, "_Bool": ctype.BoolT, "bool": ctype.BoolT,
	"char": ctype.CharT, "char signed": ctype.SCharT, "char unsigned": ctype.UCharT,
	"short": ctype.ShortT, "int short": ctype.ShortT, "short signed": ctype.ShortT, "int short signed": ctype.ShortT,
	"short unsigned": ctype.UShortT, "int short unsigned": ctype.UShortT,
	"int": ctype.IntT, "signed": ctype.IntT, "int signed": ctype.IntT, "unsigned": ctype.UIntT, "int unsigned": ctype.UIntT,
	"long": ctype.LongT, "int long": ctype.LongT, "long signed": ctype.LongT, "int long signed": ctype.LongT,
	"long unsigned": ctype.ULongT, "int long unsigned": ctype.ULongT,
	"long long": ctype.LLongT, "int long long": ctype.LLongT, "long long signed": ctype.LLongT, "int long long signed": ctype.LLongT,
	"long long unsigned": ctype.ULLongT, "int long long unsigned": ctype.ULLongT,
	"float": ctype.FloatT, "double": ctype.DoubleT,
}

// typedefs are the names of integer types that scripts use without a header.
var typedefs = map[string]*ctype.Type{
	"int8_t": ctype.SCharT, "int16_t": ctype.ShortT, "int32_t": ctype.IntT, "int64_t": ctype.LongT,
	"uint8_t": ctype.UCharT, "uint16_t": ctype.UShortT, "uint32_t": ctype.UIntT, "uint64_t": ctype.ULongT,
	"size_t": ctype.ULongT, "ssize_t": ctype.LongT, "intptr_t": ctype.LongT, "uintptr_t": ctype.ULongT,
	"pid_t": ctype.IntT, "off_t": ctype.LongT, "uint": ctype.UIntT, "ulong": ctype.ULongT, "ushort": ctype.UShortT,
	"s8": ctype.SCharT, "s16": ctype.ShortT, "s32": ctype.IntT, "s64": ctype.LLongT,
	"u8": ctype.UCharT, "u16": ctype.UShortT, "u32": ctype.UIntT, "u64": ctype.ULLongT,
	"__s8": ctype.SCharT, "__s16": ctype.ShortT, "__s32": ctype.IntT, "__s64": ctype.LLongT,
	"__u8": ctype.UCharT, "__u16": ctype.UShortT, "__u32": ctype.UIntT, "__u64": ctype.ULLongT,
	"int8": ctype.SCharT, "int16": ctype.ShortT, "int32": ctype.IntT, "int64": ctype.LongT,
	"uint8": ctype.UCharT, "uint16": ctype.UShortT, "uint32": ctype.UIntT, "uint64": ctype.ULongT,
}

// record returns the type of struct, union or enum, and defines it if it has a body.
func (e *cenv) record(r *script.CRecord, at script.Node) *ctype.Type {
	key := r.Tag + " " + r.Name
	if !r.Defined {
		if t := e.tags[key]; t != nil {
			return t
		}
		e.env = e
		if t := e.named(r.Tag, r.Name); t != nil {
			return t
		}
		t := &ctype.Type{Kind: kindOf(r.Tag), Name: r.Name, Incomplete: true}
		e.tags[key] = t
		return t
	}
	t := e.tags[key]
	switch {
	case r.Name == "" || t == nil:
		t = &ctype.Type{Kind: kindOf(r.Tag), Name: r.Name}
	case !t.Incomplete:
		e.fail(at, "%s is defined twice", key)
		return t
	}
	t.Incomplete = true // until its members are placed
	if r.Name != "" {
		e.tags[key] = t
	}
	defer func() { t.Incomplete = false }()
	if r.Tag == "enum" {
		e.enum(t, r)
	} else {
		e.members(t, r)
	}
	return t
}

func kindOf(tag string) ctype.Kind {
	switch tag {
	case "union":
		return ctype.Union
	case "enum":
		return ctype.Enum
	}
	return ctype.Struct
}

func (e *cenv) enum(t *ctype.Type, r *script.CRecord) {
	var list []ctype.Enumerator
	next := int64(0)
	t.Size = 4
	for _, v := range r.Values {
		if v.Value != nil {
			n, ok := e.constant(v.Value)
			if !ok {
				e.fail(v, "the value of %s is not a constant", v.Name)
			}
			next = n
		}
		if _, ok := e.enums[v.Name]; ok {
			e.fail(v, "the constant %s is defined twice", v.Name)
		}
		list = append(list, ctype.Enumerator{Name: v.Name, Value: next})
		e.enums[v.Name] = constant{t, next}
		t.Signed = t.Signed || next < 0 && !large(v.Value)
		if next > 1<<32-1 || next < -1<<31 || large(v.Value) {
			t.Size = 8
		}
		next++
	}
	t.SetEnumerators(list)
}

// large reports whether an expression has a number that only an unsigned type holds: then C's type of the expression is unsigned.
func large(x script.Expr) (found bool) {
	if x != nil {
		script.Walk(x, func(n script.Node) bool {
			k, ok := n.(*script.Int)
			found = found || ok && k.Value>>63 != 0
			return !found
		})
	}
	return found
}

// layout places members by the rules of the x86-64 ABI, which arm64 shares for these types.
type layout struct {
	union, packed bool
	bits          int64 // used so far
	align, size   int64 // bytes
	fields        []ctype.Field
}

func (e *cenv) members(t *ctype.Type, r *script.CRecord) {
	l := &layout{union: r.Tag == "union", packed: r.Packed, align: 1}
	for _, m := range r.Members {
		mt := e.ctype(m.Type, m)
		if m.Bits != nil {
			n, ok := e.constant(m.Bits)
			if !ok || n < 0 || n > mt.Size*8 || !mt.IsInteger() {
				e.fail(m, "the width of the bit-field is not a constant that its type permits")
				continue
			}
			l.bitfield(m.Name, mt, n)
			continue
		}
		if mt.Size == 0 && !(mt.Strip().Kind == ctype.Array) && mt.Strip().Kind != ctype.Struct && mt.Strip().Kind != ctype.Union || mt.Strip().Incomplete {
			e.fail(m, "the type of the member %s is not complete", m.Name)
			continue
		}
		l.add(m.Name, mt)
	}
	if r.Aligned != nil {
		if n, ok := e.constant(r.Aligned); ok && n > 0 && n&(n-1) == 0 && n <= 4096 {
			l.align = max(l.align, n)
		}
	}
	size := max(l.size, (l.bits+7)/8)
	t.Size = (size + l.align - 1) / l.align * l.align
	t.SetFields(l.fields)
}

func (l *layout) add(name string, t *ctype.Type) {
	a := l.alignOf(t)
	at := ((l.bits+7)/8 + a - 1) / a * a
	l.place(ctype.Field{Name: name, Type: t, BitOffset: at * 8}, t.Size*8, a)
}

// bitfield adds a bit-field: within one unit of its type, unless packed. Width 0 ends a unit.
func (l *layout) bitfield(name string, t *ctype.Type, width int64) {
	unit := t.Size * 8
	switch {
	case width == 0:
		l.bits = (l.bits + unit - 1) / unit * unit
		return
	case !l.packed && l.bits/unit != (l.bits+width-1)/unit:
		l.bits = (l.bits + unit - 1) / unit * unit
	}
	a := int64(1)
	if name != "" && !l.packed {
		a = t.Size
	}
	l.place(ctype.Field{Name: name, Type: t, BitOffset: l.bits, BitSize: width}, width, a)
}

// place appends a field; in a union all begin at 0.
func (l *layout) place(f ctype.Field, bits, align int64) {
	l.align = max(l.align, align)
	if l.union {
		f.BitOffset = 0
		l.size = max(l.size, (bits+7)/8)
	} else {
		l.bits = f.BitOffset + bits
	}
	l.fields = append(l.fields, f)
}

func (l *layout) alignOf(t *ctype.Type) int64 {
	if l.packed {
		return 1
	}
	return alignOf(t, 0)
}

// alignOf is the alignment of a type.
func alignOf(t *ctype.Type, depth int) int64 {
	s := t.Strip()
	switch {
	case depth > 32:
		return 1
	case s.Kind == ctype.Array:
		return alignOf(s.Elem, depth+1)
	case s.Kind == ctype.Struct || s.Kind == ctype.Union:
		a := int64(1)
		for _, f := range s.Fields() {
			a = max(a, alignOf(f.Type, depth+1))
		}
		if s.Size%a != 0 { // packed
			return 1
		}
		return a
	}
	return min(max(s.Size, 1), 8)
}

// ctype returns the type of a declaration.
func (e *cenv) ctype(d *script.CType, at script.Node) *ctype.Type {
	var t *ctype.Type
	switch {
	case d.Record != nil:
		t = e.record(d.Record, at)
	case baseTypes[d.Name] != nil:
		t = baseTypes[d.Name]
	default:
		e.env = e
		if t = e.named("", d.Name); t == nil {
			t = typedefs[d.Name]
		}
		if t == nil {
			e.fail(at, "there is no type %q", d.Name)
			return ctype.IntT
		}
	}
	for _, step := range d.Derive {
		switch {
		case step.Pointer:
			t = ctype.PointerTo(t)
		case step.Func:
			t = &ctype.Type{Kind: ctype.Func, Elem: t}
		default:
			t = e.array(t, step.Count, at)
		}
	}
	return t
}

func (e *cenv) array(t *ctype.Type, count script.Expr, at script.Node) *ctype.Type {
	n := int64(0)
	if count != nil {
		var ok bool
		if n, ok = e.constant(count); !ok || n < 0 || n > 1<<30 {
			e.fail(at, "the size of the array is not a constant")
			n = 0
		}
	}
	if t.Size > 0 && n > 1<<40/t.Size {
		e.fail(at, "the array is too large")
		n = 0
	}
	return ctype.ArrayOf(t, n)
}
