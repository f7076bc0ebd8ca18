package format

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// appendJSON writes a value; the doc comment of JSON has the mapping. asText is /s.
func appendJSON(b []byte, t *ctype.Type, it item, asText bool, up *nest) []byte {
	s, data := t.Strip(), it.data
	if it.missing(s) {
		return append(b, "null"...)
	}
	if b, ok := it.jsonText(b, s); ok {
		return b
	}
	switch s.Kind {
	case ctype.Struct, ctype.Union, ctype.Array:
		return jsonAggregate(b, s, it, asText, up)
	case ctype.Complex:
		return jsonComplex(b, s, it)
	case ctype.Func:
		if len(data) >= 8 {
			return jsonPointer(b, word(data))
		}
		return append(b, "null"...)
	}
	if s.Size <= 0 || int64(len(data)) < s.Size {
		return append(b, "null"...)
	}
	data = data[:s.Size]
	switch s.Kind {
	case ctype.Bool:
		switch word(data) {
		case 0:
			return append(b, "false"...)
		case 1:
			return append(b, "true"...)
		}
		return appendDecimal(b, data, false)
	case ctype.Char, ctype.Int:
		return appendDecimal(b, data, s.Signed)
	case ctype.Enum:
		return jsonEnum(b, s, data)
	case ctype.Float:
		return jsonFloat(b, s, data)
	case ctype.Pointer, ctype.Reference:
		return jsonPointer(b, word(data))
	}
	return append(b, "null"...)
}

func jsonAggregate(b []byte, s *ctype.Type, it item, asText bool, up *nest) []byte {
	in, ok := up.enter(s)
	switch {
	case !ok || s.Incomplete:
		return append(b, "null"...)
	case s.Kind != ctype.Array && s.Variants() != nil && len(s.Fields()) == 0:
		return jsonVariant(b, s.Variants(), it, asText, &in)
	case s.Kind != ctype.Array:
		b = jsonMembers(append(b, '{'), s, it, asText, &in)
		return append(b, '}')
	}
	size := s.Elem.Strip().Size
	switch {
	case s.Count <= 0 && it.placed: // written as the pointer that it decays to
		return jsonPointer(b, it.addr)
	case s.Count < 0:
		return append(b, "null"...)
	case s.Count == 0 || size <= 0:
		return append(b, '[', ']')
	}
	n := min(s.Count, int64(len(it.data))/size)
	return jsonArray(b, s.Elem, it, n, size, asText && !s.Vector, &in)
}

// jsonMembers writes the members of a struct. Members of anonymous members are on the same level, as in C.
func jsonMembers(b []byte, s *ctype.Type, it item, asText bool, up *nest) []byte {
	fields := s.Fields()
	for i := range fields {
		at, again, missing := part(s, i, it)
		switch {
		case missing == "":
			b = jsonMember(b, &fields[i], at, asText, up)
		case !again:
			b = append(append(appendString(comma(b), fields[i].Type.Strip().Name), ':'), "null"...)
		}
	}
	return b
}

// jsonMember writes member m with value it.
func jsonMember(b []byte, m *ctype.Field, it item, asText bool, up *nest) []byte {
	name := m.Name
	if m.Base {
		name = m.Type.Strip().Name
	}
	if name == "" {
		if in := m.Type.Strip(); in.Kind == ctype.Struct || in.Kind == ctype.Union {
			b = jsonAnonymous(b, in, it, asText, up)
		}
		return b
	}
	b = append(appendString(comma(b), name), ':')
	return appendJSON(b, m.Type, it, asText, up)
}

func jsonAnonymous(b []byte, s *ctype.Type, it item, asText bool, up *nest) []byte {
	in, ok := up.enter(s)
	if !ok {
		return b
	}
	return jsonMembers(b, s, it, asText, &in)
}

func jsonArray(b []byte, elem *ctype.Type, it item, n, size int64, asText bool, up *nest) []byte {
	if c := jsonText(elem, asText); c.width > 0 && !it.hit(0, 8*n*size) {
		data := it.data[:n*size]
		for len(data) > 0 && isZero(data[len(data)-c.width:]) {
			data = data[:len(data)-c.width]
		}
		return appendChars(b, c, data)
	}
	b = append(b, '[')
	for i := range n {
		b = appendJSON(comma(b), elem, it.part(i*size, size), asText, up)
	}
	return append(b, ']')
}

// jsonText reports whether arrays of a type are text: char and Fortran's character (not signed char or unsigned char, which mean bytes)
// and wide characters; with /s all types that GDB shows as text.
func jsonText(elem *ctype.Type, asText bool) charset {
	c := textual(elem, 0)
	if s := elem.Strip(); c.width == 1 && !asText && s.Name != "char" && !strings.HasPrefix(s.Name, "character") {
		return charset{}
	}
	return c
}

func jsonComplex(b []byte, s *ctype.Type, it item) []byte {
	part := &ctype.Type{Kind: ctype.Float, Name: s.Name, Size: s.Size / 2}
	b = appendJSON(append(b, `{"re":`...), part, it.part(0, part.Size), false, nil)
	b = appendJSON(append(b, `,"im":`...), part, it.part(part.Size, part.Size), false, nil)
	return append(b, '}')
}

// jsonEnum writes the name, the names of flags, or the number.
func jsonEnum(b []byte, s *ctype.Type, data []byte) []byte {
	start := len(b)
	b = appendEnum(append(b, '"'), s, data)
	text := b[start+1:]
	switch {
	case text[0] == '(' && !containsUnknown(text):
		names := string(text[1 : len(text)-1])
		return appendString(b[:start], names)
	case text[0] == '(' || text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return appendDecimal(b[:start], data, s.Signed)
	}
	name := string(text)
	return appendString(b[:start], name)
}

// containsUnknown looks for the "unknown: 0x8" of appendEnum. No name contains a colon and a space.
func containsUnknown(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == ':' && text[i+1] == ' ' {
			return true
		}
	}
	return false
}

func jsonFloat(b []byte, s *ctype.Type, data []byte) []byte {
	switch len(data) {
	case 4:
		if f := math.Float32frombits(uint32(word(data))); f-f == 0 {
			return strconv.AppendFloat(b, float64(f), 'g', -1, 32)
		}
	case 8:
		if f := math.Float64frombits(word(data)); f-f == 0 {
			return strconv.AppendFloat(b, f, 'g', -1, 64)
		}
	}
	v := decodeFloat(s, data)
	switch {
	case v.class == notANumber:
		return append(b, `"NaN"`...)
	case v.class == infinite && v.neg:
		return append(b, `"-Infinity"`...)
	case v.class == infinite:
		return append(b, `"Infinity"`...)
	}
	prec := uint(v.form.man + 1)
	if v.form.explicit {
		prec--
	}
	return new(big.Float).SetPrec(prec).Set(v.big()).Append(b, 'g', -1)
}

// appendChars writes characters of any width as a JSON string. Invalid units are kept: bytes as \udcBB, halves
// of surrogate pairs unchanged, other numbers as \x{...}.
func appendChars(b []byte, c charset, data []byte) []byte {
	if c.width == 1 {
		return appendString(b, data)
	}
	b = append(b, '"')
	for len(data) > 0 {
		u := c.next(data)
		switch v := word(u.raw); {
		case u.kind == validUnit:
			b = appendRune(b, u.r)
		case v <= 0xffff:
			b = appendEscape(b, uint16(v))
		default:
			b = append(strconv.AppendUint(append(b, `\\x{`...), v, 16), '}')
		}
		data = data[len(u.raw):]
	}
	return append(b, '"')
}

func appendRune(b []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return appendASCII(b, byte(r))
	}
	if steers(r) {
		return appendEscape(b, uint16(r))
	}
	return utf8.AppendRune(b, r)
}

func appendEscape(b []byte, v uint16) []byte {
	return append(b, '\\', 'u', hexDigits[v>>12], hexDigits[v>>8&15], hexDigits[v>>4&15], hexDigits[v&15])
}

func appendASCII(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c >= ' ' && c < 0x7f:
		return append(b, c)
	case c == '\n':
		return append(b, '\\', 'n')
	case c == '\t':
		return append(b, '\\', 't')
	case c == '\r':
		return append(b, '\\', 'r')
	}
	return appendEscape(b, uint16(c))
}

// appendString writes a JSON string. A byte B that is not valid UTF-8 becomes \udcBB.
func appendString[S string | []byte](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = appendASCII(append(b, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if r != utf8.RuneError || n > 1 {
			if steers(r) {
				b = appendEscape(append(b, s[start:i]...), uint16(r))
				start = i + n
			}
			i += n
			continue
		}
		b = appendEscape(append(b, s[start:i]...), 0xdc00|uint16(c))
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
