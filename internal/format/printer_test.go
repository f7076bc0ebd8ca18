package format

import (
	"bytes"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// TestPrinter has what the C program of TestGDB cannot hold: C++, memory that is
// not there, other settings.
func TestPrinter(t *testing.T) {
	pt := pointType()
	derived := &ctype.Type{Kind: ctype.Struct, Name: "derived", Size: 12}
	derived.SetFields([]ctype.Field{{Type: pt, Base: true}, {Name: "z", Type: ctype.IntT, BitOffset: 64}})
	null := &ctype.Type{Kind: ctype.Func, Elem: ctype.IntT, Params: []*ctype.Type{ctype.IntT, ctype.PointerTo(pt)}, Variadic: true}
	ref := &ctype.Type{Kind: ctype.Reference, Size: 8, Elem: pt}
	inRef := &ctype.Type{Kind: ctype.Struct, Name: "r", Size: 8}
	inRef.SetFields([]ctype.Field{{Name: "r", Type: ref}})
	plain := Printer{}
	named := Printer{Symbol: symbol, CPlusPlus: true, Memory: func(addr uint64, n int) []byte {
		if addr == 0x1000 {
			return []byte{1, 0, 0, 0, 2, 0, 0, 0}[:min(n, 8)]
		}
		return nil
	}}
	few := Printer{Elements: 4, Repeats: 2}
	long := append(bytes.Repeat([]byte{7, 0, 0, 0}, 3), le(1, 4)...)
	for _, c := range []struct {
		p    *Printer
		t    *ctype.Type
		data []byte
		f    Fmt
		want string
	}{
		{&plain, derived, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, 0, "{<point> = {x = 1, y = 2}, z = 3}"},
		{&plain, derived, []byte{1, 0, 0, 0, 2, 0}, 0, "{<point> = {x = 1, y = <unavailable>}, z = <unavailable>}"},
		{&plain, ctype.IntT, []byte{1, 2}, 'x', "<unavailable>"},
		{&plain, ctype.ArrayOf(ctype.IntT, 3), []byte{1, 0, 0, 0, 2, 0, 0, 0}, 0, "{1, 2}"},
		{&plain, ctype.ArrayOf(ctype.IntT, 3), nil, 0, "<unavailable>"},
		{&plain, ctype.ArrayOf(ctype.IntT, -1), nil, 0, "<unavailable>"},
		{&plain, ctype.VoidT, nil, 0, "void"},
		{&plain, nil, nil, 0, "<error type>"},
		{&plain, &ctype.Type{Kind: ctype.Struct, Name: "s", Incomplete: true}, nil, 0, "<incomplete type>"},
		{&plain, ctype.IntT, le(5, 4), '?', "5"},
		{&plain, ctype.BoolT, []byte{2}, 0, "2"},
		{&plain, ref, le(0x1000, 8), 0, "(struct point &) @0x1000"},
		{&named, ref, le(0x1000, 8), 0, "(point &) @0x1000: {x = 1, y = 2}"},
		{&named, inRef, le(0x1000, 8), 0, "{r = @0x1000}"},
		{&named, ref, le(0x1000, 8), 'x', "0x1000"},
		{&named, ctype.PointerTo(pt), le(0x401139, 8), 0, "(point *) 0x401139 <handle+9>"},
		{&named, ctype.PointerTo(ctype.CharT), le(0x18, 8), 0, "0x18 <error: Cannot access memory at address 0x18>"},
		{&plain, ctype.PointerTo(ctype.CharT), le(0x18, 8), 0, "0x18"},
		{&named, null, le(0x401139, 8), 0, "{int (int, point *, ...)} 0x401139 <handle+9>"},
		{&plain, null, nil, 0, "{int (int, struct point *, ...)} <unavailable>"},
		{&few, ctype.ArrayOf(ctype.IntT, 4), long, 0, "{7 <repeats 3 times>, 1}"},
		{&few, ctype.ArrayOf(ctype.ShortT, 6), []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}, 0, "{1, 2, 3, 4...}"},
		{&few, ctype.ArrayOf(ctype.CharT, 8), []byte("aaabcdef"), 0, `'a' <repeats 3 times>, "b"...`},
		{&Printer{ASCII: true}, ctype.ArrayOf(ctype.CharT, 3), []byte("\u20ac"), 0, `"\342\202\254"`},
		{&plain, ctype.ArrayOf(ctype.CharT, 3), []byte("a\u0085"), 0, `"a\302\205"`},
		{&plain, &ctype.Type{Kind: ctype.Float, Size: 3}, []byte{1, 2, 3}, 0, "nan(0x0)"},
		{&plain, &ctype.Type{Kind: ctype.Float, Name: "__bf16", Size: 2}, []byte{0xc0, 0x3f}, 0, "1.5"},
	} {
		if got := c.p.Value(c.t, c.data, c.f); got != c.want {
			t.Errorf("%s/%c of % x:\n got %s\nwant %s", TypeName(c.t, false), max(c.f, ' '), c.data, got, c.want)
		}
	}
}

func TestTypeName(t *testing.T) {
	atomic := &ctype.Type{Kind: ctype.Atomic, Elem: ctype.IntT, Size: 4}
	vector := &ctype.Type{Kind: ctype.Array, Elem: ctype.FloatT, Count: 4, Size: 16, Vector: true}
	for _, c := range []struct {
		t    *ctype.Type
		want string
	}{
		{atomic, "_Atomic int"},
		{ctype.PointerTo(atomic), "_Atomic int *"},
		{&ctype.Type{Kind: ctype.Restrict, Elem: ctype.PointerTo(ctype.CharT), Size: 8}, "char * restrict"},
		{ctype.ArrayOf(ctype.ArrayOf(ctype.IntT, 3), 2), "int [2][3]"},
		{ctype.ArrayOf(ctype.PointerTo(ctype.IntT), -1), "int *[]"},
		{ctype.PointerTo(vector), "float __attribute__ ((vector_size(4))) *"},
		{&ctype.Type{Kind: ctype.Union}, "union {...}"},
		{&ctype.Type{Kind: ctype.Int}, "<unnamed>"},
		{nil, "void"},
	} {
		if got := TypeName(c.t, false); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
