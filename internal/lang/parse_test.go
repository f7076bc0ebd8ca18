package lang

import (
	"reflect"
	"strings"
	"testing"
)

// The printed form shows the structure; what prints alike by design (literals)
// has its own tests below.
func TestParseExpr(t *testing.T) {
	tests := []struct{ src, want string }{
		// Precedence and association.
		{"a + b * c", "(a + (b * c))"},
		{"a - b - c", "((a - b) - c)"},
		{"a << b + c", "(a << (b + c))"},
		{"a < b == c < d", "((a < b) == (c < d))"},
		{"a & b == c", "(a & (b == c))"},
		{"a | b ^ c & d", "(a | (b ^ (c & d)))"},
		{"a || b && c || d", "((a || (b && c)) || d)"},
		{"a ? b : c ? d : e", "(a ? b : (c ? d : e))"},
		{"a ? b ? c : d : e", "(a ? (b ? c : d) : e)"},
		{"a ? b, c : d, e", "((a ? (b , c) : d) , e)"},
		{"a, b, c", "((a , b) , c)"},
		{"a = b += c", "(a = (b += c))"},
		{"a ? b : c = d", "((a ? b : c) = d)"},
		{"a <<= b >>= 1", "(a <<= (b >>= 1))"},
		{"-a * b", "((-a) * b)"},
		{"- -a", "(-(-a))"},
		{"!~-+*&a", "(!(~(-(+(*(&a))))))"},
		{"*p->q", "(*p->q)"},
		{"-a[1]", "(-a[1])"},
		{"a.b.c[1][2]->d", "a.b.c[1][2]->d"},
		{"(a + b).c", "(a + b).c"},
		{"(*p)[1](x, y)", "(*p)[1](x, y)"},
		{"f()", "f()"},
		{"f(a, (b, c), d = e)", "f(a, (b , c), (d = e))"},
		{"str(p, 20)", "str(p, 20)"},
		{"a++ + ++b", "((a++) + (b++))"},
		{"a - -- b", "(a - (b--))"},
		{"a+++b", "((a++) + b)"},
		{"a-- > 0", "((a--) > 0)"},
		{"x /* a comment */ + /**/ 1", "(x + 1)"},
		{"a +\n\tb", "(a + b)"},
		{"a + \\\n b", "(a + b)"},
		// The precedence of GDB's @ is between shifts and sums.
		{"arr[0]@n", "(arr[0] @ n)"},
		{"arr[0]@n+1", "(arr[0] @ (n + 1))"},
		{"*p@n*2", "((*p) @ (n * 2))"},
		{"p@n<<1", "((p @ n) << 1)"},
		{"a@2@3", "((a @ 2) @ 3)"},
		{"*req->buf@req->len", "((*req->buf) @ req->len)"},
		// Names.
		{"'file.c'::x", "'file.c'::x"},
		{"'dir/file.c'::x[1]", "'dir/file.c'::x[1]"},
		{"'f' :: x", "f::x"},
		{"f::x", "f::x"},
		{"::x", "::x"},
		{"::ns::x + 1", "('::ns'::x + 1)"},
		{"ns::inner::f::x", "ns::inner::f::x"},
		{"&'a b.c'::x", "(&'a b.c'::x)"},
		{"'ns::f(int)'::x", "'ns::f(int)'::x"},
		{"f::T", "f::T"},
		{"$rip", "$rip"},
		{"$xmm0.v2_double[0]", "$xmm0.v2_double[0]"},
		{"$_ret", "$_ret"},
		{"grün + größe", "(grün + größe)"},
		{"a$b", "a$b"},
		{"x.class + p->int", "(x.class + p->int)"},
		{"class + new + delete + typeof", "(((class + new) + delete) + (typeof))"},
		// Casts and what looks like casts.
		{"(int)x", "((int)x)"},
		{"(x)", "x"},
		{"(T)(x)", "((T)x)"},
		{"(f)(x)", "f(x)"},
		{"(T)-x", "((T)(-x))"},
		{"(a)-x", "(a - x)"},
		{"(T)*x", "((T)(*x))"},
		{"(a)*x", "(a * x)"},
		{"(T)&x", "((T)(&x))"},
		{"(a)&x", "(a & x)"},
		{"(T)+x", "((T)(+x))"},
		{"(T)x[1].y", "((T)x[1].y)"},
		{"(T)a + b", "(((T)a) + b)"},
		{"(T)(int)x", "((T)((int)x))"},
		{"(ns::T)x", "((ns::T)x)"},
		{"(ns::a)-x", "(ns::a - x)"},
		{"(::T)x", "((::T)x)"},
		{"-(int)x", "(-((int)x))"},
		{"!(T)x", "(!((T)x))"},
		{"{int}p", "(*((int *)p))"},
		{"{struct s}p.x", "(*((struct s *)p.x))"},
		{"{T[2]}0x10 ", "(*((T (*)[2])0x10))"},
		// sizeof.
		{"sizeof x", "(sizeof(x))"},
		{"sizeof(x)", "(sizeof(x))"},
		{"sizeof(x)->y", "(sizeof(x->y))"},
		{"static_cast<T *>(x)->y", "static_cast<T *>(x)->y"},
		{"reinterpret_cast<int>(x + 1)", "reinterpret_cast<int>((x + 1))"},
		{"p->Base::m", "p->Base::m"},
		{"(*p).a::b::m + 1", "((*p).a::b::m + 1)"},
		{"V<int>::x", "'V<int>'::x"},
		{"n::V<T, 3>::x < y", "('n::V<T, 3>'::x < y)"},
		{"(V<V<int>> *)p", "((V<V<int>> *)p)"},
		{"sizeof(n::V<int *>)", "(sizeof(n::V<int *>))"},
		{"a < b > c", "((a < b) > c)"},
		{"V < int::x", ""},
		{"sizeof(int)*2", "((sizeof(int)) * 2)"},
		{"sizeof(x)*2", "((sizeof(x)) * 2)"},
		{"sizeof(int)-1", "((sizeof(int)) - 1)"},
		{"sizeof (T)x", ""}, // as in C: sizeof(T), and then x
		{"sizeof (x)+1", "((sizeof(x)) + 1)"},
		{"sizeof -x", "(sizeof((-x)))"},
		{"sizeof sizeof x", "(sizeof((sizeof(x))))"},
		{"sizeof(struct req[4])", "(sizeof(struct req[4]))"},
	}
	for _, tt := range tests {
		e, err := parsed(tt.src, someTypes)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: parsed as %s", tt.src, String(e))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s:\n%v", tt.src, err)
			continue
		}
		if got := String(e); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.src, got, tt.want)
		}
		checkRoundTrip(t, e, someTypes)
	}
}

func TestTypeNames(t *testing.T) {
	tests := []struct{ src, want string }{
		{"int", "int"},
		{"unsigned", "unsigned int"},
		{"long unsigned", "unsigned long"},
		{"unsigned long int", "unsigned long"},
		{"long int unsigned long", "unsigned long long"},
		{"long long unsigned", "unsigned long long"},
		{"signed", "int"},
		{"signed char", "signed char"},
		{"char unsigned", "unsigned char"},
		{"short int", "short"},
		{"unsigned short", "unsigned short"},
		{"long double", "long double"},
		{"double _Complex", "_Complex double"},
		{"_Bool", "_Bool"},
		{"bool", "_Bool"},
		{"unsigned __int128", "unsigned __int128"},
		{"const int", "int"},
		{"int const volatile", "int"},
		{"long const unsigned volatile int", "unsigned long"},
		{"const T", "T"},
		{"T const *restrict", "T *"},
		{"const volatile struct s *const*", "struct s **"},
		{"struct ns::s *", "struct ns::s *"},
		{"class C *", "struct C *"},
		{"union u", "union u"},
		{"enum e", "enum e"},
		{"void *", "void *"},
		{"char **", "char **"},
		{"int[3]", "int[3]"},
		{"int[2][3]", "int[2][3]"},
		{"int *[3]", "int *[3]"},
		{"int (*)[3]", "int (*)[3]"},
		{"int[]", "int[]"},
		{"int[0x10]", "int[16]"},
		{"int ()", "int ()"},
		{"int (void)", "int ()"},
		{"int (*)(void)", "int (*)()"},
		{"int (*)(int, char *)", "int (*)(int, char *)"},
		{"int (*)(const char *format, ...)", "int (*)(char *, ...)"},
		{"void (**[4])(T)", "void (**[4])(T)"},
		{"int (*(*)(int))[3]", "int (*(*)(int))[3]"},
		{"void (*(*)(int, void (*)(int)))(int)", "void (*(*)(int, void (*)(int)))(int)"},
		{"int ((*))[3]", "int (*)[3]"},
	}
	for _, tt := range tests {
		e, err := parsed("sizeof("+tt.src+")", someTypes)
		if err != nil {
			t.Errorf("%s:\n%v", tt.src, err)
			continue
		}
		ty := e.(*Sizeof).Type
		if ty == nil {
			t.Errorf("%s: is no type", tt.src)
			continue
		}
		if got := ty.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.src, got, tt.want)
		}
		if at := ty.Pos; at.Lo != 7 || at.Hi != 7+len(tt.src) {
			t.Errorf("%s: span %v", tt.src, at)
		}
		checkRoundTrip(t, e, someTypes)
	}
}

// The steps of a derivation are innermost first.
func TestDerivations(t *testing.T) {
	e, err := parsed("(int (*[2])(char *))x", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := dump(e.(*Cast).Type.Derive)
	want := `[(Derivation false 0 true [(TypeName "" "char" [(Derivation true 0 false [] false)])] false)` +
		` (Derivation true 0 false [] false) (Derivation false 2 false [] false)]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLiterals(t *testing.T) {
	tests := []struct{ src, want string }{
		{"0", "(IntLit 0 false 0 false)"},
		{"10", "(IntLit 10 false 0 true)"},
		{"0x1F", "(IntLit 31 false 0 false)"},
		{"0Xabcdef", "(IntLit 11259375 false 0 false)"},
		{"0x1e+5", "(Binary \"+\" (IntLit 30 false 0 false) (IntLit 5 false 0 true))"},
		{"0777", "(IntLit 511 false 0 false)"},
		{"0b101", "(IntLit 5 false 0 false)"},
		{"0xb1", "(IntLit 177 false 0 false)"},
		{"10u", "(IntLit 10 true 0 true)"},
		{"10UL", "(IntLit 10 true 1 true)"},
		{"10lu", "(IntLit 10 true 1 true)"},
		{"10LLu", "(IntLit 10 true 2 true)"},
		{"10ull", "(IntLit 10 true 2 true)"},
		{"0xffull", "(IntLit 255 true 2 false)"},
		{"18446744073709551615", "(IntLit 18446744073709551615 false 0 true)"},
		{"0xffffffffffffffff", "(IntLit 18446744073709551615 false 0 false)"},
		{"01777777777777777777777", "(IntLit 18446744073709551615 false 0 false)"},
		{"1.5", "(FloatLit 1.5 false false)"},
		{".5", "(FloatLit 0.5 false false)"},
		{"5.", "(FloatLit 5 false false)"},
		{"1e3", "(FloatLit 1000 false false)"},
		{"1E-3", "(FloatLit 0.001 false false)"},
		{"1.5e+2f", "(FloatLit 150 true false)"},
		{"0.1f", "(FloatLit 0.10000000149011612 true false)"},
		{"1.5L", "(FloatLit 1.5 false true)"},
		{"0x1p3", "(FloatLit 8 false false)"},
		{"0x1.8p-1f", "(FloatLit 0.75 true false)"},
		{"0x.8P1", "(FloatLit 1 false false)"},
		{"09.5", "(FloatLit 9.5 false false)"},
		{"'a'", "(CharLit 97)"},
		{`'\''`, "(CharLit 39)"},
		{`'"'`, "(CharLit 34)"},
		{`'\\'`, "(CharLit 92)"},
		{`'\0'`, "(CharLit 0)"},
		{`'\101'`, "(CharLit 65)"},
		{`'\377'`, "(CharLit -1)"},
		{`'\x41'`, "(CharLit 65)"},
		{`'\xff'`, "(CharLit -1)"},
		{`'\n'`, "(CharLit 10)"},
		{`'\e'`, "(CharLit 27)"},
		{`'\u0041'`, "(CharLit 65)"},
		{`"abc"`, `(StringLit "abc")`},
		{`""`, `(StringLit "")`},
		{`"a" "b" /**/ "c"`, `(StringLit "abc")`},
		{`"\x41" "B"`, `(StringLit "AB")`},
		{`"it's \"quoted\""`, `(StringLit "it's \"quoted\"")`},
		{`"\a\b\f\n\r\t\v\?\1018"`, `(StringLit "\a\b\f\n\r\t\v?A8")`},
		{`"\0end"`, `(StringLit "\x00end")`},
		{`"é\u00e9\U0001F600"`, `(StringLit "éé😀")`},
	}
	for _, tt := range tests {
		e, err := parsed(tt.src, nil)
		if err != nil {
			t.Errorf("%s:\n%v", tt.src, err)
			continue
		}
		if got := dump(e); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.src, got, tt.want)
		}
		checkRoundTrip(t, e, nil)
	}
}

func TestSpans(t *testing.T) {
	src := "(a + b) * c->dd"
	e, err := parsed(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := func(s Span) string { return src[s.Lo:s.Hi] }
	mul := e.(*Binary)
	if got := part(mul.Span()); got != src {
		t.Errorf("the product spans %q", got)
	}
	if got := part(mul.OpPos); got != "*" {
		t.Errorf("the operator is at %q", got)
	}
	if got := part(mul.X.Span()); got != "a + b" {
		t.Errorf("the sum spans %q", got)
	}
	member := mul.Y.(*Member)
	if got := part(member.NamePos); got != "dd" {
		t.Errorf("the member is at %q", got)
	}
}

func checkRoundTrip(t *testing.T, e Expr, isType func(string) bool) {
	t.Helper()
	text := String(e)
	if len(text) > maxSource || wrongType(reflect.ValueOf(e), isType) != "" {
		return
	}
	again, err := parsed(text, isType)
	if err != nil {
		t.Errorf("the printed form %s does not parse:\n%v", text, err)
		return
	}
	if a, b := dump(e), dump(again); a != b {
		t.Errorf("%s parses to another tree:\n%s\n%s", text, a, b)
	}
}

// Depth is an error before it is a crash, and what passes can be printed and read again.
func TestDepth(t *testing.T) {
	forms := map[string]func(n int) string{
		"parentheses": func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
		"unary":       func(n int) string { return strings.Repeat("- ", n) + "1" },
		"casts":       func(n int) string { return strings.Repeat("(T)", n) + "1" },
		"sizeofs":     func(n int) string { return strings.Repeat("sizeof ", n) + "1" },
		"sums":        func(n int) string { return strings.Repeat("1+", n) + "1" },
		"conditions":  func(n int) string { return strings.Repeat("1?2:", n) + "1" },
		"middles":     func(n int) string { return strings.Repeat("1?", n) + "1" + strings.Repeat(":2", n) },
		"assignments": func(n int) string { return strings.Repeat("a=", n) + "1" },
		"indexes":     func(n int) string { return strings.Repeat("a[", n) + "1" + strings.Repeat("]", n) },
		"calls":       func(n int) string { return strings.Repeat("f(", n) + "1" + strings.Repeat(")", n) },
		"members":     func(n int) string { return "a" + strings.Repeat(".b", n) },
		"types":       func(n int) string { return "(int" + strings.Repeat("(*)(int", n) + strings.Repeat(")", n) + ")1" },
		"declarators": func(n int) string { return "(int" + strings.Repeat("(*", n) + strings.Repeat(")", n) + ")1" },
		"stars":       func(n int) string { return "(int" + strings.Repeat("*", n) + ")1" },
		"brackets":    func(n int) string { return "(int" + strings.Repeat("[2]", n) + ")1" },
	}
	for name, form := range forms {
		e, err := parsed(form(30), someTypes)
		if err != nil {
			t.Errorf("%s, 30 levels: %v", name, err)
			continue
		}
		checkRoundTrip(t, e, someTypes)
		for _, n := range []int{499, 500, 501, 1999, 2001, 10000, 1 << 20} {
			e, err := parsed(form(n), someTypes)
			if err == nil {
				checkRoundTrip(t, e, someTypes)
			}
			if n >= 10000 && err == nil {
				t.Errorf("%s: %d levels were accepted", name, n)
			}
		}
	}
}
