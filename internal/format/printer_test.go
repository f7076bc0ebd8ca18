package format

import (
	"bytes"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
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

// TestGaps: values of which a part has no value. Its bytes are not zero here, so that any use of them shows.
func TestGaps(t *testing.T) {
	bits := &ctype.Type{Kind: ctype.Struct, Name: "bits", Size: 24}
	bits.SetFields([]ctype.Field{
		{Name: "p", Type: pointType()},
		{Name: "f", Type: ctype.UIntT, BitOffset: 64, BitSize: 3},
		{Name: "g", Type: ctype.UIntT, BitOffset: 67, BitSize: 7},
		{Name: "s", Type: ctype.ArrayOf(ctype.CharT, 4), BitOffset: 96},
		{Name: "a", Type: ctype.ArrayOf(ctype.ShortT, 4), BitOffset: 128},
	})
	data := bytes.Repeat([]byte{0x41}, 24)
	number := &ctype.Type{Kind: ctype.Complex, Name: "complex double", Size: 16, Elem: ctype.DoubleT}
	wide := &ctype.Type{Kind: ctype.Float, Name: "long double", Size: 16}
	for _, c := range []struct {
		t          *ctype.Type
		data       []byte
		gaps       []event.Gap
		text, json string
	}{
		{
			bits, data,
			[]event.Gap{{From: 32, To: 64}, {From: 70, To: 72}, {From: 104, To: 112}, {From: 144, To: 160}},
			"{p = {x = 1094795585, y = <optimised out>}, f = 1, g = <optimised out>, s = {65 'A', <optimised out>, 65 'A', 65 'A'}, a = {16705, <optimised out>, 16705, 16705}}",
			`{"p":{"x":1094795585,"y":null},"f":1,"g":null,"s":[65,null,65,65],"a":[16705,null,16705,16705]}`,
		},
		{
			bits, data,
			[]event.Gap{{From: 0, To: 66}, {From: 96, To: 192}},
			"{p = <optimised out>, f = <optimised out>, g = 40, s = <optimised out>, a = <optimised out>}",
			`{"p":null,"f":null,"g":40,"s":null,"a":null}`,
		},
		{number, append(le(0x3ff8000000000000, 8), data[:8]...), []event.Gap{{From: 64, To: 128}}, "1.5 + <optimised out>i", `{"re":1.5,"im":null}`},
		{wide, append(le(1<<63, 8), 0xff, 0x3f, 1, 1, 1, 1, 1, 1), []event.Gap{{From: 80, To: 128}}, "1", "1"},
	} {
		it := item{data: c.data, gaps: gaps{list: c.gaps}}
		if got := string((&Printer{}).top(nil, c.t, it, 0)); got != c.text {
			t.Errorf("got  %s\nwant %s", got, c.text)
		}
		if got := string(appendJSON(nil, c.t, it, false, nil)); got != c.json {
			t.Errorf("got  %s\nwant %s", got, c.json)
		}
	}
}
