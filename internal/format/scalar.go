package format

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// word reads up to 8 bytes, little-endian.
func word(data []byte) uint64 {
	v := uint64(0)
	for i := min(len(data), 8) - 1; i >= 0; i-- {
		v = v<<8 | uint64(data[i])
	}
	return v
}

// signedWord is word with the sign of the last byte extended.
func signedWord(data []byte) int64 {
	if n := len(data); n > 0 && n < 8 {
		shift := 64 - 8*n
		return int64(word(data)<<shift) >> shift
	}
	return int64(word(data))
}

// bigInt reads any number of bytes, little-endian.
func bigInt(data []byte, signed bool) *big.Int {
	be := make([]byte, len(data))
	for i, c := range data {
		be[len(data)-1-i] = c
	}
	v := new(big.Int).SetBytes(be)
	if signed && len(be) > 0 && be[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	return v
}

func appendDecimal(b, data []byte, signed bool) []byte {
	switch {
	case len(data) > 8:
		return bigInt(data, signed).Append(b, 10)
	case signed:
		return strconv.AppendInt(b, signedWord(data), 10)
	}
	return strconv.AppendUint(b, word(data), 10)
}

func appendHex(b []byte, v uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), v, 16)
}

func appendBase(b, data []byte, base int) []byte {
	if len(data) > 8 {
		return bigInt(data, false).Append(b, base)
	}
	return strconv.AppendUint(b, word(data), base)
}

// scalar prints with a format letter. s is stripped and the data has its size. An unknown letter is ignored.
func (p *Printer) scalar(b []byte, s *ctype.Type, it item, f Fmt) []byte {
	data := it.data[:min(int64(len(it.data)), s.Size)]
	switch f {
	case 'x':
		return appendBase(append(b, "0x"...), data, 16)
	case 'z':
		b = append(b, "0x"...)
		for i := len(data) - 1; i >= 0; i-- {
			b = append(b, hexDigits[data[i]>>4], hexDigits[data[i]&15])
		}
		return b
	case 'o':
		if isZero(data) {
			return append(b, '0')
		}
		return appendBase(append(b, '0'), data, 8)
	case 't':
		return appendBase(b, data, 2)
	case 'd':
		return appendDecimal(b, data, true)
	case 'u':
		return appendDecimal(b, data, false)
	case 'c':
		return p.asChar(b, s, data)
	case 'a':
		return p.address(b, uint64(toInteger(s, data)))
	case 'f':
		return appendAsFloat(b, s, data)
	}
	return p.natural(b, s, s, it, 0)
}

const hexDigits = "0123456789abcdef"

func isZero(data []byte) bool {
	for _, c := range data {
		if c != 0 {
			return false
		}
	}
	return true
}

// asChar prints the lowest byte of the value as a character.
func (p *Printer) asChar(b []byte, s *ctype.Type, data []byte) []byte {
	low := []byte{byte(toInteger(s, data))}
	b = appendDecimal(b, low, s.Signed || s.Kind == ctype.Float)
	b = append(b, ' ')
	return p.character(b, charset{width: 1}, low)
}

// toInteger converts the value to an integer. Floating values are truncated and saturated.
func toInteger(s *ctype.Type, data []byte) int64 {
	switch {
	case s.Kind != ctype.Float && s.Signed:
		return signedWord(data)
	case s.Kind != ctype.Float:
		return int64(word(data))
	}
	fl := decodeFloat(s, data)
	switch {
	case fl.class == infinite && fl.neg:
		return math.MinInt64
	case fl.class != finite:
		return math.MaxInt64
	}
	v, acc := fl.big().Int64() // saturates
	_ = acc
	return v
}

// appendAsFloat reinterprets integers and pointers of a floating type's size.
func appendAsFloat(b []byte, s *ctype.Type, data []byte) []byte {
	if s.Kind != ctype.Float {
		switch len(data) {
		case 4, 8, 16:
			s = &ctype.Type{Kind: ctype.Float, Size: int64(len(data))}
		default:
			return appendDecimal(b, data, s.Signed)
		}
	}
	return appendFloat(b, s, data)
}

// appendEnum prints the name of an enumerator, or (A | B) if all enumerators are single bits, or the number.
func appendEnum(b []byte, s *ctype.Type, data []byte) []byte {
	v := signedWord(data)
	if !s.Signed {
		v = int64(word(data))
	}
	enums := s.Enumerators()
	flags := true
	for i := range enums {
		if enums[i].Value == v {
			return append(b, enums[i].Name...)
		}
		if enums[i].Value < 0 || bits.OnesCount64(uint64(enums[i].Value)) > 1 {
			flags = false
		}
	}
	if !flags {
		return appendDecimal(b, data, s.Signed)
	}
	sep := "("
	rest := uint64(v)
	for i := range enums {
		if bit := uint64(enums[i].Value); rest&bit != 0 {
			b = append(b, sep...)
			b = append(b, enums[i].Name...)
			rest &^= bit
			sep = " | "
		}
	}
	switch {
	case rest != 0:
		b = append(append(b, sep...), "unknown: "...)
		return append(appendHex(b, rest), ')')
	case sep == "(":
		return append(b, '0')
	}
	return append(b, ')')
}

// address prints a number with the symbol it belongs to.
func (p *Printer) address(b []byte, addr uint64) []byte {
	b = appendHex(b, addr)
	if p.Symbol != nil {
		if name := p.Symbol(addr); name != "" {
			b = append(b, " <"...)
			b = append(b, name...)
			b = append(b, '>')
		}
	}
	return b
}

// pointer prints an address, and the string if it points to characters in readable memory.
func (p *Printer) pointer(b []byte, s *ctype.Type, it item) []byte {
	addr := word(it.data)
	b = p.address(b, addr)
	if b, ok := p.pointerText(b, s, it); ok {
		return b
	}
	if e := textual(s.Elem, 0); e.width > 0 {
		b = p.pointed(b, e, addr)
	}
	return b
}

// function prints {int (int)} 0x401126 <handler>; the data is its address.
func (p *Printer) function(b []byte, s *ctype.Type, it item) []byte {
	b = append(b, '{')
	b = append(b, TypeName(s, p.CPlusPlus)...)
	b = append(b, "} "...)
	if len(it.data) < 8 {
		if !it.placed {
			return append(b, "<unavailable>"...)
		}
		return p.address(b, it.addr)
	}
	return p.address(b, word(it.data))
}
