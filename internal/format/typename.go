package format

import (
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// TypeName writes a type as C does: "const struct point *", "int (*)[3]",
// "void (*)(int)". A Func without parameters reads "(void)"; one that is also
// variadic, which C's definitions without a prototype are, reads "()".
func TypeName(t *ctype.Type, cplusplus bool) string {
	return typeName(t, "", cplusplus, nil)
}

// typeName wraps the declarator inner, built from the inside out, into t.
func typeName(t *ctype.Type, inner string, cpp bool, up *nest) string {
	if t == nil {
		return join("void", inner)
	}
	in, ok := up.enter(t)
	if !ok {
		return join("...", inner)
	}
	up = &in
	if t.Of != nil {
		return typeName(t.To, memberDeclarator(t, inner), cpp, up)
	}
	switch t.Kind {
	case ctype.Const, ctype.Volatile, ctype.Restrict, ctype.Atomic:
		return qualifiedName(t, inner, cpp, up)
	case ctype.Pointer:
		return typeName(t.Elem, "*"+inner, cpp, up)
	case ctype.Reference:
		return typeName(t.Elem, "&"+inner, cpp, up)
	case ctype.Array:
		if t.Vector {
			inner = strings.TrimSpace("__attribute__ ((vector_size(" + count(t.Count) + "))) " + inner)
			return typeName(t.Elem, inner, cpp, up)
		}
		return typeName(t.Elem, group(inner)+"["+count(t.Count)+"]", cpp, up)
	case ctype.Func:
		return typeName(t.Elem, group(inner)+paramList(t, cpp, up), cpp, up)
	}
	return join(baseName(t, cpp), inner)
}

// group adds parentheses to a declarator that begins with a star.
func group(inner string) string {
	if strings.HasPrefix(inner, "*") || strings.HasPrefix(inner, "&") {
		return "(" + inner + ")"
	}
	return inner
}

func join(base, inner string) string {
	if inner == "" {
		return base
	}
	return base + " " + inner
}

func count(n int64) string {
	if n < 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func paramList(t *ctype.Type, cpp bool, up *nest) string {
	if len(t.Params) == 0 {
		if t.Variadic {
			return "()"
		}
		return "(void)"
	}
	var list []string
	for _, p := range t.Params {
		list = append(list, typeName(p, "", cpp, up))
	}
	if t.Variadic {
		list = append(list, "...")
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// qualifiedName adds the qualifiers of one level: before a base type, after a pointer's star.
func qualifiedName(t *ctype.Type, inner string, cpp bool, up *nest) string {
	has := map[ctype.Kind]bool{}
	for n := 0; n < maxDepth && t != nil; n++ {
		switch t.Kind {
		case ctype.Const, ctype.Volatile, ctype.Restrict, ctype.Atomic:
			has[t.Kind] = true
			t = t.Elem
			continue
		}
		break
	}
	// The qualifiers of an array are those of its elements; gcc writes both.
	for e := t; e != nil && e.Kind == ctype.Array && !e.Vector && e.Elem != nil; {
		if e = e.Elem; has[e.Kind] {
			delete(has, e.Kind)
		}
	}
	var words []string
	for _, q := range []struct {
		kind ctype.Kind
		word string
	}{{ctype.Const, "const"}, {ctype.Volatile, "volatile"}, {ctype.Restrict, "restrict"}, {ctype.Atomic, "_Atomic"}} {
		if has[q.kind] {
			words = append(words, q.word)
		}
	}
	quals := strings.Join(words, " ")
	if quals == "" {
		return typeName(t, inner, cpp, up)
	}
	if t != nil && (t.Kind == ctype.Pointer || t.Kind == ctype.Reference) {
		return typeName(t, " "+join(quals, inner), cpp, up)
	}
	return quals + " " + typeName(t, inner, cpp, up)
}

func baseName(t *ctype.Type, cpp bool) string {
	name := t.Name
	switch t.Kind {
	case ctype.Struct:
		return tagged("struct", name, cpp || t.Tagless)
	case ctype.Union:
		return tagged("union", name, cpp || t.Tagless)
	case ctype.Enum:
		return tagged("enum", name, cpp || t.Tagless)
	case ctype.Void:
		return "void"
	}
	if short, ok := shortNames[name]; ok {
		return short
	}
	if name == "" {
		return "<unnamed>"
	}
	return name
}

// shortNames has the names of gcc's base types as GDB shows them.
var shortNames = map[string]string{
	"short int":              "short",
	"short unsigned int":     "unsigned short",
	"long int":               "long",
	"long unsigned int":      "unsigned long",
	"long long int":          "long long",
	"long long unsigned int": "unsigned long long",
}

func tagged(tag, name string, cpp bool) string {
	switch {
	case name == "":
		return tag + " {...}"
	case cpp:
		return name
	}
	return tag + " " + name
}
