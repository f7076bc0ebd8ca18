// Package format shows events: values as GDB prints them, lines of text, lines
// of JSON, the summary at the end.
//
// Import rule: format imports callargs, ctype, event and printk only.
package format

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Fmt is the letter of GDB's print/FMT: x d u o t c a f s z; 0 is the natural format.
type Fmt byte

// Printer prints values as GDB 13 does with its default settings. The zero value is ready for use.
type Printer struct {
	// Symbol returns the name of an address ("handler", "table+8"), or "". The name is printed after pointers,
	// in angle brackets. May be nil.
	Symbol func(addr uint64) string
	// Memory reads up to n bytes of the program's memory, fewer at the end of readable memory, for strings at
	// pointers inside aggregates. It is usually nil, because memory has changed since the hit; then such
	// pointers are shown without strings.
	Memory func(addr uint64, n int) []byte
	// Elements limits arrays and strings (set print elements), Repeats is the
	// threshold for <repeats N times> (set print repeats); 0 means 200 and 10.
	Elements, Repeats int
	// ASCII shows characters beyond ASCII as octal escapes, as GDB does in the C locale.
	ASCII bool
	// CPlusPlus omits "struct", "union" and "enum" before tags.
	CPlusPlus bool
	// NullStop ends arrays of characters at their first NUL (set print null-stop).
	NullStop bool
}

// Value prints a value of type t.
func (p *Printer) Value(t *ctype.Type, data []byte, f Fmt) string {
	return string(p.Append(nil, t, data, f))
}

// Append appends the text of a value of type t to b. If data is shorter than the type, missing parts are
// "<unavailable>".
func (p *Printer) Append(b []byte, t *ctype.Type, data []byte, f Fmt) []byte {
	return p.top(b, t, item{data: data}, f)
}

// AppendAt is Append for a value with a known address. GDB shows arrays of unknown length by their address.
func (p *Printer) AppendAt(b []byte, t *ctype.Type, data []byte, f Fmt, addr uint64) []byte {
	return p.top(b, t, item{data: data, addr: addr, placed: true}, f)
}

// item is a part of the printed value.
type item struct {
	data   []byte
	addr   uint64
	placed bool // addr is known
	up     *nest
	gaps
	bases *bases
	texts *texts
}

// part returns the sub-object of n bytes at off.
func (it item) part(off, n int64) item {
	if have := int64(len(it.data)); off < 0 || n < 0 || off > have {
		it.data = nil
	} else {
		it.data = it.data[off : off+min(n, have-off)]
	}
	it.addr += uint64(off)
	it.gaps = it.gaps.from(8 * off)
	return it
}

// nest is the chain of types around a value. In malformed debug information a type may contain itself; this
// ends the chain. The number of aggregates inside one value is limited too. Otherwise a few bytes of such
// information could cause endless output.
type nest struct {
	typ   *ctype.Type
	up    *nest
	root  *nest // the outermost, nil in itself
	depth int
	left  int // in the root: the number of further aggregates allowed
}

const (
	maxDepth      = 128 // C guarantees 63 levels
	maxAggregates = 1 << 18
)

func (n *nest) enter(t *ctype.Type) (nest, bool) {
	in := nest{typ: t, up: n, left: maxAggregates}
	if n == nil {
		return in, true
	}
	in.root, in.depth = n.root, n.depth+1
	if in.root == nil {
		in.root = n
	}
	in.root.left--
	if in.root.left < 0 || in.depth >= maxDepth {
		return in, false
	}
	for ; n != nil; n = n.up {
		if n.typ == t {
			return in, false
		}
	}
	return in, true
}

// top prints a whole value: pointers show their type.
func (p *Printer) top(b []byte, t *ctype.Type, it item, f Fmt) []byte {
	s := t.Strip()
	if s.Kind == ctype.Complex && f != 0 && f != 's' && s.Size > 0 && s.Size <= int64(len(it.data)) {
		return p.scalar(b, &ctype.Type{Kind: ctype.Int, Size: s.Size, Signed: true}, it, f)
	}
	if (s.Kind == ctype.Pointer || s.Kind == ctype.Reference) && (f == 0 || f == 's') && !plainCharPointer(t) && !s.Decayed {
		b = append(b, '(')
		b = append(b, TypeName(t, p.CPlusPlus)...)
		b = append(b, ") "...)
	}
	b = p.value(b, t, it, f)
	if s.Kind == ctype.Reference && (f == 0 || f == 's') && p.Memory != nil && s.Elem != nil && len(it.data) >= 8 {
		if size := s.Elem.Strip().Size; size > 0 && size <= maxTarget {
			addr := word(it.data)
			b = append(b, ": "...)
			b = p.value(b, s.Elem, item{data: p.Memory(addr, int(size)), addr: addr, placed: true}, f)
		}
	}
	return b
}

// maxTarget limits the bytes read through a reference.
const maxTarget = 64 << 10

// plainCharPointer reports whether GDB shows a pointer without its type: a pointer to char or a wide character,
// qualified or not, but not a typedef.
func plainCharPointer(t *ctype.Type) bool {
	t = unqualified(t)
	if t == nil || t.Kind != ctype.Pointer || t.Elem == nil {
		return false
	}
	if t = unqualified(t.Elem); t == nil {
		return false
	}
	return ctype.IsWideName(t.Name) || t.Kind == ctype.Char && t.Name == "char"
}

// unqualified removes qualifiers but not typedefs.
func unqualified(t *ctype.Type) *ctype.Type {
	for n := 0; t != nil && n < maxDepth; n++ {
		switch t.Kind {
		case ctype.Const, ctype.Volatile, ctype.Restrict, ctype.Atomic:
			t = t.Elem
		default:
			return t
		}
	}
	return t
}

// value prints a value of any kind.
func (p *Printer) value(b []byte, t *ctype.Type, it item, f Fmt) []byte {
	s := t.Strip()
	if it.missing(s) {
		return it.appendGap(b)
	}
	if s.Of != nil && (f == 0 || f == 's') && int64(len(it.data)) >= s.Size {
		return p.memberPointer(b, s, it.data)
	}
	switch s.Kind {
	case ctype.Struct, ctype.Union, ctype.Array:
		if t, text := it.content(s, f); t != nil {
			return p.str(b, stringChars(t.Chars), text.Data, contentEnd(text.Truncated))
		}
		if b, ok := p.containerElements(b, s, it, f); ok {
			return b
		}
		in, ok := it.up.enter(s)
		if !ok {
			return append(b, "{...}"...)
		}
		it.up = &in
		if s.Kind == ctype.Array {
			return p.array(b, s, it, f)
		}
		return p.structure(b, s, it, f)
	case ctype.Void:
		return append(b, "void"...)
	case ctype.Complex:
		return p.complex(b, s, it, f)
	case ctype.Func:
		return p.function(b, s, it)
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Float, ctype.Enum, ctype.Pointer, ctype.Reference:
		if int64(len(it.data)) < s.Size || s.Size <= 0 {
			return append(b, "<unavailable>"...)
		}
		it.data = it.data[:s.Size]
		if f != 0 && f != 's' {
			return p.scalar(b, s, it, f)
		}
		return p.natural(b, t, s, it, f)
	}
	if b, ok := p.partElements(b, s, it, f); ok {
		return b
	}
	if s.Name != "" && s.Name[0] != '<' { // it says what it is
		return append(append(append(b, '<'), s.Name...), '>')
	}
	return append(b, "<error type>"...)
}

// natural prints a scalar without a format letter.
func (p *Printer) natural(b []byte, t, s *ctype.Type, it item, f Fmt) []byte {
	switch s.Kind {
	case ctype.Bool:
		switch v := word(it.data); v {
		case 0:
			return append(b, "false"...)
		case 1:
			return append(b, "true"...)
		default:
			return strconv.AppendUint(b, v, 10)
		}
	case ctype.Enum:
		return appendEnum(b, s, it.data)
	case ctype.Float:
		return appendFloat(b, s, it.data)
	case ctype.Pointer:
		return p.pointer(b, s, it)
	case ctype.Reference:
		b = append(b, '@')
		return appendHex(b, word(it.data))
	}
	b = appendDecimal(b, it.data, s.Signed)
	if e := textual(t, f); e.width > 0 {
		b = append(b, ' ')
		b = p.character(b, e, it.data)
	}
	return b
}

func (p *Printer) complex(b []byte, s *ctype.Type, it item, f Fmt) []byte {
	half := s.Size / 2
	part := &ctype.Type{Kind: ctype.Float, Name: s.Name, Size: half}
	if e := s.Elem; e != nil && e.Kind == ctype.Float && e.Size == half {
		part = s.Elem
	}
	b = p.value(b, part, it.part(0, half), f)
	b = append(b, " + "...)
	b = p.value(b, part, it.part(half, half), f)
	return append(b, 'i')
}

// structure prints {a = 1, b = {x = 2}}; members without a name show their
// value only, base classes their name in angle brackets.
func (p *Printer) structure(b []byte, s *ctype.Type, it item, f Fmt) []byte {
	if s.Incomplete {
		return append(b, "<incomplete type>"...)
	}
	fields := s.Fields()
	if v := s.Variants(); v != nil && len(fields) == 0 {
		return p.variant(b, v, it, f)
	}
	if len(fields) == 0 {
		return append(b, "{<No data fields>}"...)
	}
	b = append(b, '{')
	first, own, inherits := true, false, false
	for i := range fields {
		m := &fields[i]
		if m.BitSize > 0 && m.Name == "" {
			continue // padding
		}
		at, again, missing := part(s, i, it)
		own, inherits = own || !m.Base, inherits || m.Base
		if again {
			continue
		}
		if !first {
			b = append(b, ", "...)
		}
		first = false
		switch {
		case m.Base:
			b = append(b, '<')
			b = append(b, m.Type.Strip().Name...)
			b = append(b, "> = "...)
		case m.Name != "":
			b = append(b, m.Name...)
			b = append(b, " = "...)
		}
		if missing != "" {
			b = append(b, missing...)
			continue
		}
		b = p.value(b, m.Type, at, f)
	}
	if v := s.Variants(); v != nil {
		b = p.variant(append(b, ", "...), v, it, f)
	}
	if inherits && !own {
		if !first {
			b = append(b, ", "...)
		}
		b = append(b, "<No data fields>"...)
	}
	return append(b, '}')
}

// part returns the value of field i of object it of class s, or the text of the reason why it is missing; again: a
// virtual base that was shown before.
func part(s *ctype.Type, i int, it item) (value item, again bool, missing string) {
	m := &s.Fields()[i]
	if m.Virtual {
		return it.virtualBase(s, i)
	}
	return member(it, m), false, ""
}

// member returns the value of a member. A bit-field is converted to the bytes of its type.
func member(it item, m *ctype.Field) item {
	size := m.Type.Strip().Size
	if m.BitSize == 0 {
		return it.part(m.BitOffset/8, size)
	}
	var raw [8]byte
	bits, ok := bitField(it.data, m.BitOffset, m.BitSize)
	sub := it.part(m.BitOffset/8, 0)
	sub.gaps = it.gaps.ofBits(m.BitOffset, m.BitSize)
	if !ok || size < 1 || size > 8 {
		sub.data = nil
		return sub
	}
	if s := m.Type.Strip(); s.Signed && m.BitSize < 64 {
		bits = uint64(int64(bits<<(64-m.BitSize)) >> (64 - m.BitSize))
	}
	for i := range raw {
		raw[i] = byte(bits >> (8 * i))
	}
	sub.data = append([]byte(nil), raw[:size]...)
	return sub
}

// bitField takes n (1 to 64) bits at bit offset off, little-endian.
func bitField(data []byte, off, n int64) (uint64, bool) {
	if have := 8 * int64(len(data)); n < 1 || n > 64 || off < 0 || off > have || n > have-off {
		return 0, false
	}
	v := uint64(0)
	for i := int64(0); i < n; {
		at := off + i
		take := min(8-at%8, n-i)
		v |= uint64(data[at/8]>>(at%8)) & (1<<take - 1) << i
		i += take
	}
	return v, true
}
