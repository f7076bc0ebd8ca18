package lang

import (
	"fmt"
	"testing"
)

func TestParseCollect(t *testing.T) {
	type item struct{ text, expr, format string }
	tests := []struct {
		src  string
		want []item
	}{
		{"2*i+9*j", []item{{"2*i+9*j", "((2 * i) + (9 * j))", ""}}},
		{"req->len, req->path/s, *req, $args, $regs, $bt", []item{
			{"req->len", "req->len", ""},
			{"req->path", "req->path", "s"},
			{"*req", "(*req)", ""},
			{"$args", "$args", ""},
			{"$regs", "$regs", ""},
			{"$bt", "$bt", ""},
		}},
		{"  a ,\tb/x  ", []item{{"a", "a", ""}, {"b", "b", "x"}}},
		{"x/x", []item{{"x", "x", "x"}}},
		{"Box<short, 4>::n, N::Box<A<int>, 2>::p/x", []item{{"Box<short, 4>::n", "'Box<short, 4>'::n", ""}, {"N::Box<A<int>, 2>::p", "'N::Box<A<int>, 2>'::p", "x"}}},
		{"a < b, c > d, p<q, r>s", []item{{"a < b", "(a < b)", ""}, {"c > d", "(c > d)", ""}, {"p<q", "(p < q)", ""}, {"r>s", "(r > s)", ""}}},
		{"arr/4xb", []item{{"arr", "arr", "4xb"}}},
		{"arr/16c", []item{{"arr", "arr", "16c"}}},
		{"arr@4/x", []item{{"arr@4", "(arr @ 4)", "x"}}},
		{"a + b/x", []item{{"a + b", "(a + b)", "x"}}},
		{"(a + b) /x", []item{{"(a + b)", "(a + b)", "x"}}},
		{"/x a", []item{{"a", "a", "x"}}},
		{"/x(a)", []item{{"(a)", "a", "x"}}},
		{"/x*a", []item{{"*a", "(*a)", "x"}}},
		{"/4xw arr, b", []item{{"arr", "arr", "4xw"}, {"b", "b", ""}}},
		{"/b a", []item{{"a", "a", "b"}}},
		{"/4 a", []item{{"a", "a", "4"}}},
		{"/i $pc", []item{{"$pc", "$pc", "i"}}},
		{"$pc/4i", []item{{"$pc", "$pc", "4i"}}},
		// Divisions.
		{"a / s", []item{{"a / s", "(a / s)", ""}}},
		{"a/(s)", []item{{"a/(s)", "(a / s)", ""}}},
		{"a/s + 1", []item{{"a/s + 1", "((a / s) + 1)", ""}}},
		{"(a/s)", []item{{"(a/s)", "(a / s)", ""}}},
		{"f(a/s)", []item{{"f(a/s)", "f((a / s))", ""}}},
		{"a/i", []item{{"a/i", "(a / i)", ""}}},
		{"a/b", []item{{"a/b", "(a / b)", ""}}},
		{"a/w, a/h/x", []item{{"a/w", "(a / w)", ""}, {"a/h", "(a / h)", "x"}}},
		{"a/2", []item{{"a/2", "(a / 2)", ""}}},
		{"a/10u", []item{{"a/10u", "(a / 10u)", ""}}},
		{"a/4ub", []item{{"a", "a", "4ub"}}},
		{"a/0x10", []item{{"a/0x10", "(a / 0x10)", ""}}},
		{"a/sum", []item{{"a/sum", "(a / sum)", ""}}},
		{"a/s/s", []item{{"a/s", "(a / s)", "s"}}},
		{"a/1.f", []item{{"a/1.f", "(a / 1.0f)", ""}}},
		// Commas that do not separate.
		{"f(a, b), c[(1, 2)]", []item{{"f(a, b)", "f(a, b)", ""}, {"c[(1, 2)]", "c[(1 , 2)]", ""}}},
		{`a == ',', ",/s", ')'`, []item{{`a == ','`, `(a == ',')`, ""}, {`",/s"`, `",/s"`, ""}, {`')'`, `')'`, ""}}},
		{"{int (*)(int, int)}p, b", []item{{"{int (*)(int, int)}p", "(*((int (**)(int, int))p))", ""}, {"b", "b", ""}}},
		{"'a,b.c'::x/x, y", []item{{"'a,b.c'::x", "'a,b.c'::x", "x"}, {"y", "y", ""}}},
		{"a /* , */ + b", []item{{"a /* , */ + b", "(a + b)", ""}}},
		{"a = b, c ? d : e/x", []item{{"a = b", "(a = b)", ""}, {"c ? d : e", "(c ? d : e)", "x"}}},
		{"a,\\\n b/x", []item{{"a", "a", ""}, {"b", "b", "x"}}},
	}
	for _, tt := range tests {
		got, err := parsedList(tt.src, someTypes)
		if err != nil {
			t.Errorf("%q:\n%v", tt.src, err)
			continue
		}
		if len(got) != len(tt.want) {
			t.Errorf("%q: %d items, want %d", tt.src, len(got), len(tt.want))
			continue
		}
		for i, c := range got {
			g := item{c.Text, String(c.X), formatText(c.Format)}
			if g != tt.want[i] {
				t.Errorf("%q item %d: got %q, want %q", tt.src, i, g, tt.want[i])
			}
			if s := c.X.Span(); s.Lo < c.Span.Lo || s.Hi > c.Span.Hi {
				t.Errorf("%q item %d: the expression %v is outside of the item %v", tt.src, i, s, c.Span)
			}
		}
	}
}

func formatText(f Format) string {
	s := ""
	if f.Count != 0 {
		s = fmt.Sprint(f.Count)
	}
	for _, c := range []byte{f.Letter, f.Size} {
		if c != 0 {
			s += string(rune(c))
		}
	}
	return s
}

func TestParseSpec(t *testing.T) {
	tests := []struct{ src, place, cond string }{
		{"main.c:9 if (i + j >= 0)", "main.c:9", "(i + j >= 0)"},
		{"handle if (req->len > 4096 && req->path[0] == 47)", "handle", "(req->len > 4096 && req->path[0] == 47)"},
		{"main.c:9 if(i>3)", "main.c:9", "(i>3)"},
		{"  main   if  x  ", "main", "x"},
		{"main\tif\tx", "main", "x"},
		{"main", "main", ""},
		{"*0x401136 if x", "*0x401136", "x"},
		{"*(&main + 4) if x", "*(&main + 4)", "x"},
		{"uprobe:/usr/bin/sqlite3:sqlite3_step", "uprobe:/usr/bin/sqlite3:sqlite3_step", ""},
		{"uprobe:/usr/*/lib*.so:f* if $rdi /* the first */ > 3", "uprobe:/usr/*/lib*.so:f*", "$rdi /* the first */ > 3"},
		{"'a if b.c':3 if x", "'a if b.c':3", "x"},
		{`"a if b.c":3 if x`, `"a if b.c":3`, "x"},
		{"uprobe:'/tmp/x if y':f if z", "uprobe:'/tmp/x if y':f", "z"},
		{"it's.c:3 if x == 'a'", "it's.c:3", "x == 'a'"},
		{"uprobe:/tmp/a(b:f if x", "uprobe:/tmp/a(b:f", "x"},
		{"ns::f(int, char) if x", "ns::f(int, char)", "x"},
		{"ns::f(int)if x", "ns::f(int)", "x"},
		{"operator() (if) if x", "operator() (if)", "x"},
		{"iffy", "iffy", ""},
		{"elif", "elif", ""},
		{"a.if:3 if x", "a.if:3", "x"},
		{"f if if", "f", "if"},
		{"handle*", "handle*", ""},
		{"-source f.c -line 28 if g", "f.c:28", "g"},
		{"-line 28", "28", ""},
		{"-function main -source 'a b.c'", "'a b.c':main", ""},
		{"-fun main", "main", ""},
		{"main if x \\\n && y", "main", "x \\\n && y"},
	}
	for _, tt := range tests {
		s, err := ParseSpec(tt.src)
		if err != nil {
			t.Errorf("%q:\n%v", tt.src, err)
			continue
		}
		if s.Place != tt.place || s.CondText != tt.cond {
			t.Errorf("%q: got %q if %q", tt.src, s.Place, s.CondText)
		}
		if got := tt.src[s.CondSpan.Lo:s.CondSpan.Hi]; got != tt.cond {
			t.Errorf("%q: the condition's span holds %q", tt.src, got)
		}
		if got := tt.src[s.PlaceSpan.Lo:s.PlaceSpan.Hi]; got != tt.place && got[0] != '-' {
			t.Errorf("%q: the place's span holds %q", tt.src, got)
		}
	}
}
