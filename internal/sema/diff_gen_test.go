package sema

import (
	"fmt"
	"math/rand"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// The world of the differential test: the same objects as C text and as types.

const worldTypes = `
enum E { E0, E1, E5 = 5 };
enum N { NM = -3, N0 = 0, N7 = 7 };
struct in { short s; unsigned char c; int i; };
struct S {
	int i; unsigned u; char c; unsigned short us; long l; unsigned long ul;
	int b3 : 3; unsigned b7 : 7; unsigned b32 : 32; int b32s : 32; long b20 : 20; unsigned long b31 : 31;
	_Bool bb : 1; unsigned char bc : 5; long w40 : 40; unsigned long w63 : 63;
	struct in in; int arr[3]; float f; double d;
	union { int ui; unsigned char uc[4]; } un;
	struct S *next;
};
`

type worldVar struct {
	name string
	decl string
	t    *ctype.Type
}

type world struct {
	scope *fakeScope
	vars  []worldVar
}

// newWorld declares everything, still without locations.
func newWorld() *world {
	w := &world{scope: newScope()}
	e := w.scope.addType(enumOf("E", false, ctype.Enumerator{Name: "E0"}, ctype.Enumerator{Name: "E1", Value: 1}, ctype.Enumerator{Name: "E5", Value: 5}))
	n := w.scope.addType(enumOf("N", true, ctype.Enumerator{Name: "NM", Value: -3}, ctype.Enumerator{Name: "N0"}, ctype.Enumerator{Name: "N7", Value: 7}))
	in := w.scope.addType(structOf("in", member{"s", ctype.ShortT, 0}, member{"c", ctype.UCharT, 0}, member{"i", ctype.IntT, 0}))
	un := unionOf("", member{"ui", ctype.IntT, 0}, member{"uc", ctype.ArrayOf(ctype.UCharT, 4), 0})
	next := &ctype.Type{Kind: ctype.Pointer, Size: 8}
	st := structOf("S",
		member{"i", ctype.IntT, 0}, member{"u", ctype.UIntT, 0}, member{"c", ctype.CharT, 0}, member{"us", ctype.UShortT, 0},
		member{"l", ctype.LongT, 0}, member{"ul", ctype.ULongT, 0},
		member{"b3", ctype.IntT, 3}, member{"b7", ctype.UIntT, 7}, member{"b32", ctype.UIntT, 32}, member{"b32s", ctype.IntT, 32},
		member{"b20", ctype.LongT, 20}, member{"b31", ctype.ULongT, 31}, member{"bb", ctype.BoolT, 1}, member{"bc", ctype.UCharT, 5},
		member{"w40", ctype.LongT, 40}, member{"w63", ctype.ULongT, 63},
		member{"in", in, 0}, member{"arr", ctype.ArrayOf(ctype.IntT, 3), 0}, member{"f", ctype.FloatT, 0}, member{"d", ctype.DoubleT, 0},
		member{"un", un, 0}, member{"next", next, 0})
	next.Elem = st
	w.scope.addType(st)
	add := func(decl, name string, t *ctype.Type) { w.vars = append(w.vars, worldVar{name, decl, t}) }
	for _, v := range intVars {
		add(v.c+" "+v.name, v.name, v.t)
	}
	add("enum E e", "e", e)
	add("enum N n", "n", n)
	add("float f", "f", ctype.FloatT)
	add("double d", "d", ctype.DoubleT)
	add("float fx", "fx", ctype.FloatT)
	add("double dx", "dx", ctype.DoubleT)
	add("int ai[8]", "ai", ctype.ArrayOf(ctype.IntT, 8))
	add("unsigned char ac[8]", "ac", ctype.ArrayOf(ctype.UCharT, 8))
	add("short as[4]", "as", ctype.ArrayOf(ctype.ShortT, 4))
	add("int m[3][4]", "m", ctype.ArrayOf(ctype.ArrayOf(ctype.IntT, 4), 3))
	add("struct S st", "st", st)
	add("struct S sa[2]", "sa", ctype.ArrayOf(st, 2))
	add("int *pi", "pi", ctype.PointerTo(ctype.IntT))
	add("const unsigned char *pc", "pc", ctype.PointerTo(&ctype.Type{Kind: ctype.Const, Size: 1, Elem: ctype.UCharT}))
	add("struct S *ps", "ps", ctype.PointerTo(st))
	add("int **pp", "pp", ctype.PointerTo(ctype.PointerTo(ctype.IntT)))
	add("void *pv", "pv", ctype.PointerTo(ctype.VoidT))
	return w
}

var intVars = []struct {
	c, name string
	t       *ctype.Type
}{
	{"_Bool", "b", ctype.BoolT},
	{"char", "c", ctype.CharT},
	{"signed char", "sc", ctype.SCharT},
	{"unsigned char", "uc", ctype.UCharT},
	{"short", "s", ctype.ShortT},
	{"unsigned short", "us", ctype.UShortT},
	{"int", "i", ctype.IntT},
	{"int", "j", ctype.IntT},
	{"unsigned", "u", ctype.UIntT},
	{"unsigned", "v", ctype.UIntT},
	{"long", "l", ctype.LongT},
	{"unsigned long", "ul", ctype.ULongT},
	{"long long", "ll", ctype.LLongT},
	{"unsigned long long", "ull", ctype.ULLongT},
}

// gen makes random C expressions that are defined for gcc -fwrapv.
type gen struct {
	r *rand.Rand
	// safe leaves out what compilers without mercy fold: divisors that may be a constant 0.
	safe bool
	wide bool // bit-fields wider than int, on which gcc and clang differ
}

func (g *gen) pick(list ...string) string { return list[g.r.Intn(len(list))] }

var intTypes = []string{
	"_Bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "unsigned long",
	"long long", "unsigned long long", "enum E",
}

func (g *gen) literal() string {
	n := []uint64{0, 1, 2, 3, 7, 8, 31, 100, 127, 128, 255, 256, 32767, 65535, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 32, 1<<63 - 1}[g.r.Intn(19)]
	if g.r.Intn(3) == 0 {
		n = uint64(g.r.Intn(1000))
	}
	format := g.pick("%d", "%d", "0x%x", "0%o")
	return fmt.Sprintf(format, n) + g.pick("", "", "", "u", "l", "ul", "ll", "ull")
}

func (g *gen) intLeaf() string {
	switch g.r.Intn(12) {
	case 0, 1, 2, 3:
		return intVars[g.r.Intn(len(intVars))].name
	case 4:
		return g.literal()
	case 5:
		return g.pick("'a'", "'\\n'", "'\\377'", "E1", "E5", "NM", "N7", "e", "n", "sizeof(int)", "sizeof ai", "sizeof st", "sizeof(struct in)", "sizeof(ai[0]+1l)")
	case 6:
		return g.object() + g.pick(".i", ".un.uc[3]", ".u", ".c", ".us", ".l", ".ul", ".in.s", ".in.c", ".in.i", ".arr[1]", ".un.ui", ".un.uc[2]")
	case 7:
		return "+" + g.object() + g.pick(".b3", ".b7", ".b32", ".b32s", ".b20", ".b31", ".bb", ".bc")
	case 8:
		return g.pick("ai", "pi", "ac", "as", "pc") + fmt.Sprintf("[%d]", g.r.Intn(3))
	case 9:
		return g.pick("ai", "ac") + "[" + g.pick("i", "u", "c", "l", "ull", "b") + " & 7]"
	case 10:
		return g.pick("*pi", "*pc", "**pp", "*ai", "m[1][2]", "m[i & 1][j & 3]", "*m[1]", "**m", "2[ai]", "(*ps).i", "*(int *)pv", "*&i", "(&st)->i", "*(pi + 1)", "*(ai + 3)", "*(short *)&st.l")
	}
	return g.pick("i", "u", "l", "ul")
}

func (g *gen) object() string {
	return g.pick("st", "sa[0]", "sa[1]", "sa[u & 1]", "(*ps)", "ps[0]", "(*ps->next)", "(*st.next)")
}

func (g *gen) int(depth int) string {
	if depth <= 0 {
		return g.intLeaf()
	}
	a, b := func() string { return g.int(depth - 1 - g.r.Intn(2)) }, func() string { return g.int(depth - 1 - g.r.Intn(2)) }
	switch g.r.Intn(20) {
	case 0, 1, 2, 3:
		return "(" + a() + " " + g.pick("+", "-", "*", "&", "|", "^") + " " + b() + ")"
	case 4, 5:
		return "(" + a() + " " + g.pick("/", "%") + " " + g.divisor(b()) + ")"
	case 6, 7:
		return "(" + a() + " " + g.pick("<<", ">>") + " (" + b() + " & " + g.pick("31", "15", "7") + "))"
	case 8, 9:
		return g.pick("-", "~", "!", "+") + "(" + a() + ")"
	case 10, 11:
		return "(" + intTypes[g.r.Intn(len(intTypes))] + ")(" + a() + ")"
	case 12, 13:
		return "(" + a() + " " + g.compareOp() + " " + b() + ")"
	case 14:
		return "(" + g.cond(depth-1) + " ? " + a() + " : " + b() + ")"
	case 15:
		return "!(" + g.cond(depth-1) + ")"
	case 16:
		return "(" + g.float(depth-1) + " " + g.compareOp() + " " + g.pick(g.float(depth-1), a()) + ")"
	case 17:
		return "(" + g.pick(g.ptr(depth-1)+" "+g.compareOp()+" "+g.ptr(depth-1), g.ptr(depth-1)+" - "+g.ptr(depth-1)) + ")"
	case 18:
		return "(" + intTypes[g.r.Intn(len(intTypes))] + ")" + g.pick("f", "d", "(d * 0.5)", "(f + i % 100)")
	}
	return "(" + g.pick(a()+", "+b(), "*("+g.ptr(depth-1)+")", "(long)"+g.ptr(depth-1), "(unsigned char)(long)pv", "(_Bool)"+g.float(depth-1), "(_Bool)pi") + ")"
}

func (g *gen) compareOp() string { return g.pick("<", "<=", ">", ">=", "==", "!=") }

func (g *gen) divisor(s string) string {
	if g.safe || g.r.Intn(4) > 0 {
		return "(" + s + " | 1)"
	}
	// A divisor that may be 0, but not one that compilers reason about.
	return g.pick("i", "u", "l", "ul", "(s & 3)", "(uc & 1)", "st.l", "ps->i", "(l & 0)", "sc")
}

func (g *gen) cond(depth int) string {
	if depth <= 0 {
		return g.pick(g.intLeaf(), g.intLeaf(), "f", "dx", "pi", "!d", "pv")
	}
	switch g.r.Intn(5) {
	case 0:
		return "(" + g.cond(depth-1) + " && " + g.cond(depth-1) + ")"
	case 1:
		return "(" + g.cond(depth-1) + " || " + g.cond(depth-1) + ")"
	case 2:
		return "!" + g.cond(depth-1)
	}
	return "(" + g.int(depth-1) + " " + g.compareOp() + " " + g.int(depth-1) + ")"
}

func (g *gen) float(depth int) string {
	if depth <= 0 {
		return g.pick("f", "d", "fx", "dx", "1.5", "2.25f", "3e-5", "1e300", "0x1p-3", "st.f", "ps->d", "(float)i", "(double)ul", "(double)l", "(float)u", "(float)ull")
	}
	a, b := g.float(depth-1), g.float(depth-1)
	switch g.r.Intn(6) {
	case 0, 1:
		return "(" + a + " " + g.pick("+", "-", "*", "/") + " " + b + ")"
	case 2:
		return "(" + a + " " + g.pick("+", "-", "*") + " " + g.int(depth-1) + ")"
	case 3:
		return g.pick("-", "(float)", "(double)", "+") + "(" + a + ")"
	case 4:
		return "(" + g.cond(depth-1) + " ? " + a + " : " + g.pick(b, g.int(depth-1)) + ")"
	}
	return "(" + g.pick("float", "double") + ")(" + g.int(depth-1) + ")"
}

// ptr is an int * into ai.
func (g *gen) ptr(depth int) string {
	if depth <= 0 {
		return g.pick("pi", "ai", "&ai[3]", "*pp", "&*pi", "(int *)pv", "&ai[1]")
	}
	switch g.r.Intn(5) {
	case 0:
		return "(" + g.pick("ai", "pi") + " + (" + g.int(depth-1) + " & 3))"
	case 1:
		return "(&ai[4] - (" + g.int(depth-1) + " & 3))"
	case 2:
		return "(" + g.cond(depth-1) + " ? " + g.ptr(depth-1) + " : " + g.ptr(depth-1) + ")"
	case 3:
		return "(int *)(void *)" + g.ptr(depth-1)
	}
	return "&ai[" + g.int(depth-1) + " & 7]"
}

// expr is an expression of any scalar type.
func (g *gen) expr() string {
	depth := 1 + g.r.Intn(4)
	if g.wide && g.r.Intn(4) == 0 {
		return g.pick("(st.", "(ps->") + g.pick("w40", "w63") + " " + g.pick("+ i", "* 3u", "<< 30", "- l", "< i", "+ 1", "* 2") + ")"
	}
	var s string
	switch g.r.Intn(8) {
	case 0, 1:
		s = g.float(depth)
	case 2:
		s = g.ptr(depth)
	default:
		s = g.int(depth)
	}
	if strings.HasPrefix(s, "st.b") {
		s = "+" + s
	}
	return s
}
