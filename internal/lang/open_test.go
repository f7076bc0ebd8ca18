package lang

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestDecide parses once and decides in several ways.
func TestDecide(t *testing.T) {
	tests := []struct{ src, types, want string }{
		{"(a)-b*c", "", "(a - (b * c))"},
		{"(a)-b*c", "a", "(((a)(-b)) * c)"},
		{"(a)(b)->c", "", "a(b)->c"},
		{"(a)(b)->c", "a", "((a)b->c)"},
		{"(a)(b, c)[1]", "a", "((a)(b , c)[1])"},
		{"(a)(b)-c", "", "(a(b) - c)"},
		{"(a)(b)-c", "a", "(((a)b) - c)"},
		{"(a)(b)-c", "a b", "((a)((b)(-c)))"},
		{"(a)(b)(c)-d", "a", "(((a)b(c)) - d)"},
		{"(a)(b)(c)-d", "a b", "(((a)((b)c)) - d)"},
		{"(a)(b)(c)*d@2", "a b c", "(((a)((b)((c)(*d)))) @ 2)"},
		{"(a)(b)c", "", "((a)((b)c))"}, // no other form is C
		{"-(a)&b == c", "", "((-a) & (b == c))"},
		{"-(a)&b == c", "a", "((-((a)(&b))) == c)"},
		{"(int)(a)+1, d", "a", "(((int)((a)(+1))) , d)"},
		{"(int)(a)+1, d", "", "((((int)a) + 1) , d)"},
		{"x ? (a)-1 : (b)*2", "a", "(x ? ((a)(-1)) : (b * 2))"},
		{"x ? (a)-1 : (b)*2", "b", "(x ? (a - 1) : ((b)(*2)))"},
		{"f((a)*p, (b)*q)[(a)-1]", "a", "f(((a)(*p)), (b * q))[((a)(-1))]"},
		{"sizeof(a)", "a", "(sizeof(a))"},
		{"sizeof(a[3])-1", "a", "((sizeof(a[3])) - 1)"},
		{"sizeof -(a)-1", "a", "(sizeof((-((a)(-1)))))"},
		{"sizeof -(a)-1", "", "((sizeof((-a))) - 1)"},
		{"{T *}(a)-1", "a", "(*((T **)((a)(-1))))"},
		{"(a<b>)-c", "", "((a<b>)(-c))"}, // no expression has this form
		{"(v::a)*b + (a)*b", "v::a", "(((v::a)(*b)) + (a * b))"},
		{"(a)-(b)-(c)-d", "b", "((a - ((b)(-c))) - d)"},
		{"(a)-(b)-(c)-d", "a c", "(((a)(-b)) - ((c)(-d)))"},
		{"(a)-(b)-(c)-d", "a b c", "((a)(-((b)(-((c)(-d))))))"},
	}
	for _, tt := range tests {
		x, err := ParseExpr(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		before := dump(x)
		got, d := Decide(x, named(tt.types))
		if d != nil || String(got) != tt.want {
			t.Errorf("%s with the types %q: %s, want %s (%v)", tt.src, tt.types, String(got), tt.want, d)
		}
		if dump(x) != before {
			t.Errorf("%s: Decide changes the tree", tt.src)
		}
	}
	if _, d := Decide(must(ParseExpr("(a)()")), named("a")); d == nil || d.Msg != `an operand is missing before ")"` {
		t.Errorf("%+v", d)
	}
}

func named(types string) func(string) bool {
	list := strings.Fields(types)
	return func(name string) bool {
		for _, n := range list {
			if n == name {
				return true
			}
		}
		return false
	}
}

func must(x Expr, err error) Expr {
	if err != nil {
		panic(err)
	}
	return x
}

// TestDecideAsWritten compares what Decide makes of a text with what the parser makes
// of the same text in which nothing is open: types have their tag, objects are members.
func TestDecideAsWritten(t *testing.T) {
	seed := uint64(testkit.Seed(t, 1))
	g := rand.New(rand.NewPCG(seed, 1))
	w := &castGen{g}
	opened := 0
	for range 5000 {
		src := w.row(3)
		sure := strings.NewReplacer("T", "struct T", "a", "a.m").Replace(src)
		want, err := ParseExpr(sure)
		if err != nil || want.isOpen() {
			t.Fatalf("%s: open, or %v", sure, err)
		}
		x, err := ParseExpr(src)
		if err != nil {
			t.Fatalf("%s does not parse (seed %d):\n%v", src, seed, err)
		}
		got, d := Decide(x, named("T"))
		if d != nil {
			t.Fatalf("%s: %s (seed %d)", src, d.Msg, seed)
		}
		plain := strings.NewReplacer("struct T", "T", "a.m", "a").Replace(String(want))
		if String(got) != plain {
			t.Fatalf("%s is\n%s, want\n%s (seed %d)", src, String(got), plain, seed)
		}
		checkSpans(t, src, got)
		if x.isOpen() {
			opened++
		}
	}
	if opened < 1500 {
		t.Errorf("only %d texts were open", opened)
	}
}

// checkSpans checks that no node begins or ends outside of the node around it.
func checkSpans(t *testing.T, src string, x Expr) {
	t.Helper()
	s := x.Span()
	withOperands(x, s, func(y Expr) Expr {
		if in := y.Span(); in.Lo < s.Lo || in.Hi > s.Hi || in.Lo >= in.Hi {
			t.Fatalf("%s: %s at %v is not within %s at %v", src, String(y), in, String(x), s)
		}
		checkSpans(t, src, y)
		return y
	})
}

// castGen writes expressions full of parentheses around the type T and the object a.
type castGen struct{ *rand.Rand }

func (g *castGen) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *castGen) row(depth int) string {
	s := g.operand(depth)
	for g.IntN(3) > 0 {
		if g.IntN(8) == 0 && depth > 0 {
			s += " ? " + g.row(depth-1) + " : " + g.operand(depth)
			continue
		}
		s += g.pick(" - ", " * ", " & ", " + ", " / ", " == ", " && ", " @ ") + g.operand(depth)
	}
	return s
}

func (g *castGen) operand(depth int) string {
	if depth == 0 {
		return g.pick("a", "(a)", "1", "sizeof(T)", "(T)a")
	}
	switch g.IntN(9) {
	case 0:
		return g.pick(" -", " *", " &", "!", "sizeof -", "(int)", " -{T}") + g.operand(depth-1)
	case 1, 2, 3:
		return "(T)" + g.operand(depth-1)
	case 4:
		return "(T*)" + g.operand(depth-1)
	case 5, 6:
		s := g.pick("(a)", "a", "(a)(a)", "(a)(a)(a)")
		for g.IntN(3) == 0 {
			s += g.pick("->m", "[a]", "(a)", "(a, 1)", "["+g.row(depth-1)+"]", "("+g.operand(depth-1)+")")
		}
		return s
	case 7:
		return "(" + g.row(depth-1) + ")"
	}
	return g.pick("sizeof(T)", "sizeof(a)", "sizeof(a[1])", "sizeof(T[2])", "sizeof a", "1")
}

// TestOpenIsQuick: what is open is read in time that does not grow with the number of
// ways to read it.
func TestOpenIsQuick(t *testing.T) {
	for _, form := range []string{"(a)", "(a)-", "((a)", "(a)(", "sizeof(a)*", "(a(", "f((a)(b), ", "(a)[(b)-", "(a<b>"} {
		src := strings.Repeat(form, maxSource/len(form)-400)
		if x, err := ParseExpr(src + "1"); err == nil {
			_, _ = Decide(x, named("a"))
		}
		src = strings.Repeat(form, 150) + "1"
		src += strings.Repeat(")", strings.Count(src, "(")-strings.Count(src, ")"))
		for _, types := range []string{"", "a", "b", "a b"} {
			if x, err := ParseExpr(src); err == nil {
				if _, d := Decide(x, named(types)); d != nil {
					_ = fmt.Sprint(d.Msg)
				}
			}
		}
	}
}
