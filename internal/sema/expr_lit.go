package sema

import (
	"math"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// intLit gives an integer constant the first type of C17 6.4.4.1's list that can hold it.
func (c *checker) intLit(x *lang.IntLit) expr {
	var t *ctype.Type
	for _, cand := range literalTypes(x) {
		if x.Value <= maxOf(cand) {
			t = cand
			break
		}
	}
	if t == nil {
		// Decimal and larger than long long: gcc warns and takes __int128; we do not compute with that.
		c.fail(x.Span(), "the constant is too large for a signed type", "write it with the suffix u")
	}
	return &intConst{typed: typed{t, x.Span()}, v: int64(x.Value)}
}

func literalTypes(x *lang.IntLit) []*ctype.Type {
	type pair struct{ s, u *ctype.Type }
	ranks := []pair{{ctype.IntT, ctype.UIntT}, {ctype.LongT, ctype.ULongT}, {ctype.LLongT, ctype.ULLongT}}
	var list []*ctype.Type
	for _, r := range ranks[min(max(x.Long, 0), 2):] {
		if !x.Unsigned {
			list = append(list, r.s)
		}
		if x.Unsigned || !x.Decimal {
			list = append(list, r.u)
		}
	}
	return list
}

func maxOf(t *ctype.Type) uint64 {
	bits := uint(t.Size * 8)
	if t.Signed {
		bits--
	}
	return math.MaxUint64 >> (64 - bits)
}

func floatLit(x *lang.FloatLit) expr {
	if x.Float {
		return &floatConst{typed{ctype.FloatT, x.Span()}, float64(float32(x.Value))}
	}
	return &floatConst{typed{ctype.DoubleT, x.Span()}, x.Value}
}

// charLit is a character constant: an int with the value of the program's char.
func (lk *lookup) charLit(x *lang.CharLit) expr {
	v := x.Value
	if v < 0 && !isSigned(lk.plainChar()) {
		v &= 0xff
	}
	return &intConst{typed: typed{ctype.IntT, x.Span()}, v: v}
}

// plainChar is the program's char, which -funsigned-char and the conventions of some processors make unsigned. The
// char of a language with wider characters is not C's.
func (lk *lookup) plainChar() *ctype.Type {
	if t, err := lk.in.Scope.Type(ctype.Typedef, "char"); err == nil && isChar(t) && !isSigned(t) {
		return unsignedCharT
	}
	return ctype.CharT
}
