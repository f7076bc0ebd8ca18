package tracefs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// declare sets the name and the type from the declaration, size and sign:
//
//	const char * filename         pointers, any number
//	unsigned long args[6]         arrays, also args[] and args[A][B]
//	__data_loc char[] name        dynamic arrays
//	__data_loc cpumask_t mask     the same with the brackets left out
//	int (*func)(void)             functions: a pointer to nothing known
func (f *Field) declare(types func(string) *ctype.Type) error {
	words, dims := splitDecl(f.Decl)
	if len(words) == 0 {
		return fmt.Errorf("field %q has no declaration", clip(f.Decl))
	}
	mark := ""
	if words[0] == dataLoc || words[0] == relLoc {
		mark, words = words[0], words[1:]
	}
	if strings.Contains(f.Decl, "(*") {
		return f.declareFunc()
	}
	if len(words) < 2 || !isIdent(words[len(words)-1]) {
		return fmt.Errorf("field %q has no type and name", clip(f.Decl))
	}
	f.Name = words[len(words)-1]
	words = words[:len(words)-1]
	switch {
	case mark != "":
		f.Type = dynamic(mark, typeOf(words, 0, f.Signed, types))
	case len(dims) > 0:
		f.Type = f.array(words, dims, types)
	default:
		f.Type = fit(typeOf(words, f.Size, f.Signed, types), f.Size, f.Signed)
	}
	return nil
}

// declareFunc handles a pointer to a function, without the function's type.
func (f *Field) declareFunc() error {
	_, rest, _ := strings.Cut(f.Decl, "(*")
	name, _, _ := strings.Cut(rest, ")")
	f.Name = strings.TrimSpace(name)
	if !isIdent(f.Name) {
		return fmt.Errorf("field %q has no name", clip(f.Decl))
	}
	f.Type = fit(ctype.PointerTo(ctype.VoidT), f.Size, f.Signed)
	return nil
}

// array makes T[a][b]. The outermost dimension is computed from the size, because the text may have the name of
// a constant.
func (f *Field) array(words, dims []string, types func(string) *ctype.Type) *ctype.Type {
	inner := int64(1)
	counts := make([]int64, len(dims))
	for i := len(dims) - 1; i > 0; i-- {
		n, err := strconv.ParseInt(dims[i], 0, 32)
		if err != nil || n <= 0 || n > maxOffset || inner*n > maxOffset {
			return &ctype.Type{Kind: ctype.Array, Elem: ctype.UCharT, Count: f.Size, Size: f.Size}
		}
		counts[i] = n
		inner *= n
	}
	// If the element's size is unknown, compute it from the number of elements.
	var guess int64
	if n, err := strconv.ParseInt(dims[0], 0, 32); err == nil && n > 0 && f.Size%n == 0 {
		guess = f.Size / n / inner
	}
	t := typeOf(words, guess, f.Signed, types)
	if guess > 0 {
		t = fit(t, guess, f.Signed)
	}
	for i := len(dims) - 1; i > 0; i-- {
		t = ctype.ArrayOf(t, counts[i])
	}
	switch size := sizeOf(t); {
	case f.Size == 0:
		return ctype.ArrayOf(t, -1)
	case size <= 0 || f.Size%size != 0:
		return ctype.ArrayOf(ctype.UCharT, f.Size)
	default:
		return &ctype.Type{Kind: ctype.Array, Elem: t, Count: f.Size / size, Size: f.Size}
	}
}

// fit adapts t to the field's size. In a wider field the declared integer has the low bytes. If t does not fit,
// the type is determined by size and sign.
func fit(t *ctype.Type, size int64, signed bool) *ctype.Type {
	have := sizeOf(t)
	switch {
	case have == size, t.IsInteger() && have > 0 && have < size:
		return t
	case t.Strip().Kind == ctype.Enum && (size == 1 || size == 2 || size == 4):
		// An enum smaller than gcc's default.
		e := t.Strip()
		small := &ctype.Type{Kind: ctype.Enum, Name: e.Name, Size: size, Signed: signed}
		small.Lazy(func(s *ctype.Type) { s.SetEnumerators(e.Enumerators()) })
		return small
	}
	return bySize("", size, signed)
}

// bySize returns a type by size and sign: an integer if there is one of that size, otherwise bytes.
func bySize(name string, size int64, signed bool) *ctype.Type {
	t := map[int64][2]*ctype.Type{
		1: {ctype.UCharT, ctype.SCharT},
		2: {ctype.UShortT, ctype.ShortT},
		4: {ctype.UIntT, ctype.IntT},
		8: {ctype.ULongT, ctype.LongT},
	}[size]
	under := t[0]
	if signed {
		under = t[1]
	}
	if under == nil {
		under = ctype.ArrayOf(ctype.UCharT, size)
	}
	if name == "" {
		return under
	}
	return &ctype.Type{Kind: ctype.Typedef, Name: name, Size: under.Size, Elem: under}
}

// sizeOf returns the size of a value of type t, also if a typedef has no size.
func sizeOf(t *ctype.Type) int64 {
	if t.Size > 0 {
		return t.Size
	}
	return t.Strip().Size
}

// splitDecl splits a declaration: identifiers and stars, and the content of brackets. The brackets may follow
// the type ("char[] name") or the name.
func splitDecl(s string) (words, dims []string) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case isIdentByte(c):
			j := i
			for j < len(s) && isIdentByte(s[j]) {
				j++
			}
			words = append(words, s[i:j])
			i = j
		case c == '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 {
				return words, dims
			}
			dims = append(dims, strings.TrimSpace(s[i+1:i+end]))
			i += end + 1
		case c == '*':
			words = append(words, "*")
			i++
		default:
			i++
		}
	}
	return words, dims
}

func isIdentByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isIdent(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isIdentByte(s[i]) {
			return false
		}
	}
	return true
}
