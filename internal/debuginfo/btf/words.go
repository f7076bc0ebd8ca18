package btf

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// baseName turns C's spellings of its own types, in any order of words, into the
// one that compilers write into debug information: "unsigned long" is "long
// unsigned int". Other names stay as they are.
func baseName(name string) string {
	n := map[string]int{}
	for _, w := range strings.Fields(name) {
		switch w {
		case "unsigned", "signed", "long", "short", "int", "char", "double", "_Bool", "bool", "void", "float", "__int128":
			n[w]++
		default:
			return name
		}
	}
	unsigned := ""
	if n["unsigned"] > 0 {
		unsigned = "unsigned "
	}
	switch {
	case n["__int128"] > 0:
		return strings.TrimSpace("__int128 " + unsigned)
	case n["char"] > 0 && n["signed"] > 0:
		return "signed char"
	case n["char"] > 0:
		return unsigned + "char"
	case n["short"] > 0:
		return "short " + unsigned + "int"
	case n["double"] > 0 && n["long"] > 0:
		return "long double"
	case n["long"] > 1:
		return "long long " + unsigned + "int"
	case n["long"] > 0:
		return "long " + unsigned + "int"
	case n["int"]+n["signed"]+n["unsigned"] > 0:
		return unsigned + "int"
	}
	return name
}

// spellings are the names that a type may have in BTF: what C says, what GCC
// writes for it, and what clang writes ("unsigned long").
func spellings(name string) []string {
	gcc := baseName(name)
	clang := strings.TrimSuffix(gcc, " int")
	if rest, ok := strings.CutSuffix(clang, " unsigned"); ok {
		clang = "unsigned " + rest
	}
	if clang == "unsigned" {
		clang = gcc
	}
	return slices.Compact([]string{gcc, clang})
}

// builtin are C's own types, for BTF that does not mention them. The kernel's
// BTF reports whether char is signed; it always mentions char.
var builtin = map[string]*ctype.Type{
	"void": ctype.VoidT, "_Bool": ctype.BoolT, "bool": ctype.BoolT,
	"char": ctype.CharT, "signed char": ctype.SCharT, "unsigned char": ctype.UCharT,
	"short int": ctype.ShortT, "short unsigned int": ctype.UShortT,
	"int": ctype.IntT, "unsigned int": ctype.UIntT,
	"long int": ctype.LongT, "long unsigned int": ctype.ULongT,
	"long long int": ctype.LLongT, "long long unsigned int": ctype.ULLongT,
	"float": ctype.FloatT, "double": ctype.DoubleT,
	"long double": {Kind: ctype.Float, Name: "long double", Size: 16},
}
