package dwarf

import "strings"

// Template arguments: compilers, GDB and people spell them in several ways.

// sameName reports whether a name in the debug information is the requested one. Template arguments are
// compared without blanks and suffixes of numbers; default arguments of the standard library's templates may be
// omitted.
func sameName(have, asked string) bool {
	if have == asked {
		return true
	}
	both := func(c byte) bool { return strings.IndexByte(asked, c) >= 0 && strings.IndexByte(have, c) >= 0 }
	if !both('<') && !both('(') || strings.HasPrefix(asked, "operator") {
		return false
	}
	h, a := plainSpelling(have), plainSpelling(asked)
	if h == a {
		return true
	}
	rest, ok := strings.CutPrefix(h, strings.TrimSuffix(a, ">"))
	if !ok || !strings.HasPrefix(rest, ",") {
		return false
	}
	for _, arg := range templateArgs(strings.TrimSuffix(rest[1:], ">")) {
		if !isStandardDefault(arg) {
			return false
		}
	}
	return true
}

// standardDefaults begin the default arguments of the standard library's templates.
var standardDefaults = []string{
	"allocator<", "char_traits<", "less<", "hash<", "equal_to<", "default_delete<", "deque<",
}

func isStandardDefault(arg string) bool {
	rest, ok := strings.CutPrefix(arg, "std::")
	if !ok {
		return false
	}
	for _, d := range standardDefaults {
		if strings.HasPrefix(rest, d) {
			return true
		}
	}
	return false
}

// templateArgs cuts a list of arguments at its commas.
func templateArgs(s string) (out []string) {
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// baseSpellings are the words that base types can be spelled with; each sorted
// set of them has one name.
var baseSpellings = map[string]bool{
	"unsigned": true, "signed": true, "int": true, "long": true, "short": true, "char": true, "double": true,
}

// plainSpelling removes differences between spellings of one name: blanks, suffixes of numbers, the order
// of the words of a base type, const before or after a type.
func plainSpelling(s string) string {
	var out []string
	var words []string // of a base type
	moved := ""        // const that comes behind the type that follows
	put := func(w string) {
		if n := len(out); n > 0 && isWordByte(w[0]) && isWordByte(out[n-1][len(out[n-1])-1]) {
			out = append(out, " ")
		}
		out = append(out, w)
	}
	flush := func() {
		if len(words) > 0 {
			put(baseName(words))
			words = nil
		}
	}
	depth, movedAt := 0, 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ':
			i++
		case isWordByte(c):
			j := i
			for j < len(s) && isWordByte(s[j]) {
				j++
			}
			w := s[i:j]
			i = j
			starts := len(words) == 0 && len(out) > 0 && strings.Contains("<,(", out[len(out)-1])
			switch {
			case baseSpellings[w]:
				words = append(words, w)
				continue
			case w == "const" && starts:
				moved, movedAt = w, depth
				continue
			case c >= '0' && c <= '9':
				w = strings.TrimRight(w, "uUlL")
			}
			flush()
			put(w)
		default:
			flush()
			if moved != "" && depth == movedAt && strings.IndexByte("*&[(,>)", c) >= 0 {
				put(moved)
				moved = ""
			}
			switch c {
			case '<', '(':
				depth++
			case '>', ')':
				depth--
			}
			out = append(out, s[i:i+1])
			i++
		}
	}
	flush()
	return strings.Join(out, "")
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// baseName is one spelling for each base type.
func baseName(words []string) string {
	n := map[string]int{}
	for _, w := range words {
		n[w]++
	}
	var out string
	switch {
	case n["char"] > 0 && n["signed"] > 0:
		return "signed_char"
	case n["unsigned"] > 0:
		out = "unsigned_"
	}
	switch {
	case n["char"] > 0:
		return out + "char"
	case n["double"] > 0:
		return strings.Repeat("long_", n["long"]) + "double"
	case n["short"] > 0:
		return out + "short"
	case n["long"] > 0:
		return out + strings.Repeat("long_", n["long"]) + "int"
	}
	return out + "int"
}
