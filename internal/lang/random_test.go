package lang

import (
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestRandomTrees prints random trees and parses them again: every operator
// below every other, which fuzzing from text reaches slowly.
func TestRandomTrees(t *testing.T) {
	seed := uint64(testkit.Seed(t, 1))
	g := &treeGen{rand.New(rand.NewPCG(seed, 1))}
	for range 20000 {
		e := g.expr(5)
		text := String(e)
		again, err := parsed(text, someTypes)
		if err != nil {
			t.Fatalf("%s (seed %d):\n%v", text, seed, err)
		}
		if a, b := dump(e), dump(again); a != b {
			t.Fatalf("%s (seed %d) parses to another tree:\n%s\n%s", text, seed, a, b)
		}
	}
}

type treeGen struct{ *rand.Rand }

func (g *treeGen) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *treeGen) name() string {
	return g.pick("a", "b1", "_x", "größe", "class", "typeof", "sizeof_")
}

func (g *treeGen) expr(depth int) Expr {
	if depth == 0 || g.IntN(8) == 0 {
		return g.leaf()
	}
	x := func() Expr { return g.expr(depth - 1) }
	switch g.IntN(10) {
	case 0, 1, 2:
		return &Binary{Op: g.pick("*", "/", "%", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||", ","), X: x(), Y: x()}
	case 3:
		return &Unary{Op: g.pick("-", "+", "!", "~", "*", "&"), X: x()}
	case 4:
		return &Cond{C: x(), T: x(), F: x()}
	case 5:
		return &Cast{Type: g.typeName(2), X: x()}
	case 6:
		if g.IntN(2) == 0 {
			return &Sizeof{Type: g.typeName(2)}
		}
		return &Sizeof{X: x()}
	case 7:
		if g.IntN(2) == 0 {
			return &Index{X: x(), I: x()}
		}
		return &Member{X: x(), Name: g.name(), Arrow: g.IntN(2) == 0}
	case 8:
		if g.IntN(2) == 0 {
			return &Repeat{X: x(), N: x()}
		}
		c := &Call{Fn: x()}
		for range g.IntN(3) {
			c.Args = append(c.Args, x())
		}
		return c
	default:
		if g.IntN(2) == 0 {
			return &Assign{Op: g.pick("++", "--"), X: x()}
		}
		return &Assign{Op: g.pick("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="), X: x(), Y: x()}
	}
}

func (g *treeGen) leaf() Expr {
	switch g.IntN(7) {
	case 0:
		scope := g.pick("", "f", "ns::f", "dir/file.c", "a b", "int", "f(int)", "::x", "a::")
		return &Scoped{Scope: scope, Name: g.name(), File: scope == "dir/file.c"}
	case 1:
		return &Reg{Name: g.pick("rip", "_ret", "xmm0")}
	case 2:
		v := g.Uint64() >> g.IntN(64)
		return &IntLit{Value: v, Unsigned: g.IntN(2) == 0, Long: g.IntN(3), Decimal: v != 0 && g.IntN(2) == 0}
	case 3:
		if g.IntN(2) == 0 {
			return &FloatLit{Value: float64(float32(g.ExpFloat64())), Float: true}
		}
		return &FloatLit{Value: g.ExpFloat64() * 1e30, Long: g.IntN(2) == 0}
	case 4:
		return &CharLit{Value: int64(int8(g.IntN(256)))}
	case 5:
		b := make([]byte, g.IntN(5))
		for i := range b {
			b[i] = byte(g.IntN(256))
		}
		return &StringLit{Value: string(b)}
	default:
		return &Ident{Name: g.name()}
	}
}

func (g *treeGen) typeName(depth int) *TypeName {
	ty := &TypeName{Name: g.pick("int", "unsigned long", "_Bool", "T", "ns::T", "long double", "void")}
	if g.IntN(3) == 0 {
		ty.Tag, ty.Name = g.pick("struct", "union", "enum"), g.pick("s", "ns::s")
	}
	for range g.IntN(4) {
		d := Derivation{Pointer: true}
		// Arrays and functions go below pointers only, whatever comes next.
		if n := len(ty.Derive); n == 0 || ty.Derive[n-1].Pointer {
			switch g.IntN(4) {
			case 0:
				d = Derivation{Array: int64(g.IntN(10)) - 1}
			case 1:
				d = Derivation{Func: true, Variadic: g.IntN(3) == 0}
				for range g.IntN(3) * min(depth, 1) {
					if p := g.typeName(depth - 1); !p.isVoid() {
						d.Params = append(d.Params, p)
					}
				}
			}
		}
		ty.Derive = append(ty.Derive, d)
	}
	return ty
}
