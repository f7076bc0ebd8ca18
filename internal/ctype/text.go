package ctype

// Text describes how characters of a type are stored and written.
type Text struct {
	Width  int    // bytes of a unit; 0: not characters
	Prefix string // of literals: "L", "u", "U" or ""
}

// wideNames are the character types that are typedefs of integers in C.
var wideNames = map[string]Text{
	"wchar_t":  {4, "L"},
	"char16_t": {2, "u"},
	"char32_t": {4, "U"},
}

// maxChain bounds chains of types: malformed debug information has cycles.
const maxChain = 128

// IsWideName reports whether a type has the name of a wide character.
func IsWideName(name string) bool { return wideNames[name].Width > 0 }

// TextOf reports whether and how GDB shows arrays of t as strings. It does for characters, one-byte integers,
// and wchar_t, char16_t, char32_t by name.
func TextOf(t *Type) Text {
	for n := 0; t != nil && n < maxChain; n++ {
		switch t.Kind {
		case Typedef, Char, Int:
			if c, ok := wideNames[t.Name]; ok && t.Strip().Size == int64(c.Width) {
				return c
			}
		}
		switch t.Kind {
		case Typedef, Const, Volatile, Restrict, Atomic:
			t = t.Elem
			continue
		case Char, Int:
			switch {
			case t.Size == 1:
				return Text{Width: 1}
			case t.Kind == Char && t.Size == 2:
				return Text{Width: 2, Prefix: "u"}
			case t.Kind == Char && t.Size == 4:
				return Text{Width: 4, Prefix: "U"}
			}
		}
		break
	}
	return Text{}
}

// StringWidth is the size of the characters if a pointer to t points to a zero-terminated string, otherwise 0.
// These are all char types and wide characters. Rust's char (a base type of that name with 4 bytes) is not used
// in such strings.
func StringWidth(t *Type) int64 {
	s := t.Strip()
	switch {
	case s.Kind == Char && s.Size == 1, s.Kind == Int && s.Size == 1 && s.Name == "char8_t": // as gcc and clang describe it
		return 1
	case s.Kind == Char && s.Name == "char":
		return 0
	}
	if c := TextOf(t); c.Width > 1 {
		return int64(c.Width)
	}
	return 0
}
