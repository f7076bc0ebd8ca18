package dwarf

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Base types whose values are not the number that their bytes are. They have no kind, so that no value is made of them, and a
// name that says why.

const (
	bigEndian = 1 // DW_END_big
	reversed  = " in big-endian order"
)

// otherwise is what is said behind the name of a base type whose values are not taken; "" for all others.
//
//   - DW_AT_endianity (DWARF 5, 5.1.2): gcc's scalar_storage_order. A byte is the same in both orders, but not its bit fields.
//   - DW_AT_bit_size: integers with fewer bits than their bytes have. Nothing is promised of the rest. Of C23's _BitInt, clang
//     before 21 says no number of bits.
func (d die) otherwise(t *ctype.Type) string {
	if n, _ := d.num(atEndianity); n == bigEndian {
		return reversed
	}
	switch n, said := d.num(atBitSize); {
	case said && int64(n) != t.Size*8 && t.Kind != ctype.Bool:
		return fmt.Sprintf(" of %d bits", n)
	case !said && (t.Name == "_BitInt" || t.Name == "unsigned _BitInt"):
		return " of an unknown number of bits"
	}
	return ""
}

// reverseEnums takes the values from the enumerations of a structure of which other members are in big-endian order: gcc
// describes the order of base types only.
func reverseEnums(list []ctype.Field) {
	any := false
	for i := range list {
		any = any || strings.HasSuffix(element(list[i].Type).Name, reversed)
	}
	for i := range list {
		if t := element(list[i].Type); any && t.Kind == ctype.Enum && !list[i].Base {
			list[i].Type = &ctype.Type{Name: t.Name + reversed, Size: list[i].Type.Strip().Size}
		}
	}
}

// element is the type of the elements of an array, of all its dimensions, and any other type itself.
func element(t *ctype.Type) *ctype.Type {
	s := t.Strip()
	for depth := 0; s.Kind == ctype.Array && s.Elem != nil && depth < 16; depth++ {
		s = s.Elem.Strip()
	}
	return s
}
