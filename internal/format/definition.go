package format

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Declaration writes a type with the name of what has it: "int (*f)(int)".
func Declaration(t *ctype.Type, name string) string { return typeName(t, name, false, nil) }

// Definition writes struct, union or enum with its members, as C defines it.
func Definition(t *ctype.Type) string {
	var b strings.Builder
	b.WriteString(baseName(t, false))
	definition(&b, t, 0)
	return b.String()
}

// definition writes the members in braces.
func definition(b *strings.Builder, t *ctype.Type, depth int) {
	b.WriteString(" {\n")
	tabs := strings.Repeat("\t", depth+1)
	for _, e := range t.Enumerators() {
		fmt.Fprintf(b, "%s%s = %d,\n", tabs, e.Name, e.Value)
	}
	for _, f := range t.Fields() {
		b.WriteString(tabs)
		b.WriteString(declareMember(&f, depth+1))
		if f.BitSize > 0 {
			fmt.Fprintf(b, " : %d", f.BitSize)
		}
		b.WriteString(";\n")
	}
	b.WriteString(strings.Repeat("\t", depth) + "}")
}

// declareMember is the declaration of a member. A type without a name is written with its members.
func declareMember(f *ctype.Field, depth int) string {
	inner, base := f.Type, f.Type
	for n := 0; n < maxDepth && base != nil && base.Elem != nil && (base.Kind == ctype.Array || base.Kind == ctype.Pointer); n++ {
		base = base.Elem
	}
	if base == nil || base.Name != "" || depth > maxDepth || base.Kind != ctype.Struct && base.Kind != ctype.Union && base.Kind != ctype.Enum {
		return Declaration(inner, f.Name)
	}
	var b strings.Builder
	b.WriteString(map[ctype.Kind]string{ctype.Struct: "struct", ctype.Union: "union", ctype.Enum: "enum"}[base.Kind])
	definition(&b, base, depth)
	// The declarator, without the type that it ends with.
	d := f.Name
	for t := inner; t != base; t = t.Elem {
		if t.Kind == ctype.Pointer {
			d = "*" + d
		} else {
			d = group(d) + "[" + count(t.Count) + "]"
		}
	}
	return join(b.String(), d)
}
