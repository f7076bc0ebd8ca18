package format

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
)

func TestDefinition(t *testing.T) {
	in := &ctype.Type{Kind: ctype.Union, Size: 8}
	in.SetFields([]ctype.Field{{Name: "a", Type: ctype.IntT}, {Name: "b", Type: &ctype.Type{Kind: ctype.Pointer, Elem: ctype.IntT, Size: 8}}})
	s := &ctype.Type{Kind: ctype.Struct, Name: "s", Size: 32}
	s.SetFields([]ctype.Field{
		{Type: in},
		{Name: "u", Type: &ctype.Type{Kind: ctype.Array, Elem: in, Count: 3}},
		{Name: "self", Type: &ctype.Type{Kind: ctype.Pointer, Elem: s, Size: 8}},
		{Name: "bits", Type: ctype.IntT, BitSize: 3},
		{Name: "f", Type: &ctype.Type{Kind: ctype.Pointer, Elem: &ctype.Type{Kind: ctype.Func, Elem: ctype.IntT, Params: []*ctype.Type{ctype.IntT}}}},
	})
	const want = "struct s {\n\tunion {\n\t\tint a;\n\t\tint *b;\n\t};\n\tunion {\n\t\tint a;\n\t\tint *b;\n\t} u[3];\n\tstruct s *self;\n\tint bits : 3;\n\tint (*f)(int);\n}"
	if got := Definition(s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	e := &ctype.Type{Kind: ctype.Enum, Name: "e"}
	e.SetEnumerators([]ctype.Enumerator{{Name: "A", Value: -1}, {Name: "B", Value: 7}})
	if got := Definition(e); got != "enum e {\n\tA = -1,\n\tB = 7,\n}" {
		t.Error(got)
	}
}
