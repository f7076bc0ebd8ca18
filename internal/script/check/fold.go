package check

import (
	"math"
	"math/big"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// Const is the value of an expression that is known before the script runs. Integers are in [-2^63, 2^64).
type Const struct {
	Kind types.Kind // Int, Bool or String
	Int  uint64     // two's complement if Neg
	Neg  bool
	Bool bool
	Str  string
	enum *types.Type
}

// Type is the smallest type of the constant.
func (k *Const) Type() *types.Type {
	switch {
	case k.enum != nil:
		return k.enum
	case k.Kind == types.Bool:
		return types.BoolT
	case k.Kind == types.String:
		return types.StringOf(int64(len(k.Str)) + 1)
	case k.Neg:
		return types.OfInt(int64(k.Int))
	}
	return types.OfUint(k.Int)
}

func intConst(v uint64) *Const { return &Const{Kind: types.Int, Int: v} }
func boolConst(v bool) *Const  { return &Const{Kind: types.Bool, Bool: v} }
func strConst(s string) *Const { return &Const{Kind: types.String, Str: s} }
func (k *Const) big() *big.Int {
	switch {
	case k.Kind == types.Bool:
		return big.NewInt(b2i(k.Bool))
	case k.Neg:
		return big.NewInt(int64(k.Int))
	}
	return new(big.Int).SetUint64(k.Int)
}

// truth is the constant as a condition.
func (k *Const) truth() bool {
	switch k.Kind {
	case types.Bool:
		return k.Bool
	case types.String:
		return k.Str != ""
	}
	return k.Int != 0
}

// lit returns the value of an expression, or nil. Each expression is evaluated once a pass.
func (c *constants) lit(x script.Expr) *Const {
	if k, ok := c.consts[x]; ok {
		return k
	}
	k := c.fold(x)
	c.consts[x] = k
	return k
}

func (c *constants) fold(x script.Expr) *Const {
	switch x := x.(type) {
	case *script.Int:
		return intConst(x.Value)
	case *script.Bool:
		return boolConst(x.Value)
	case *script.String:
		return strConst(x.Value)
	case *script.PositionalCount:
		return intConst(uint64(len(c.opts.Params)))
	case *script.Positional:
		return c.positional(x)
	case *script.Ident:
		if k, ok := c.env.enums[x.Name]; ok {
			return k.folded()
		}
	case *script.Comptime:
		return c.lit(x.X)
	case *script.Unary:
		return c.foldUnary(x)
	case *script.Binary:
		return c.foldBinary(x)
	case *script.Cond:
		return c.foldCond(x)
	case *script.Block:
		if len(x.Stmts) == 0 && x.Value != nil {
			return c.lit(x.Value)
		}
	case *script.Call:
		return c.foldCall(x)
	case *script.Index:
		return c.foldIndex(x)
	}
	return nil
}

// positional is the value of $1: a number if it is written as one.
func (c *constants) positional(x *script.Positional) *Const {
	s := c.param(x.N)
	if s == "" {
		return intConst(0)
	}
	digits, neg := strings.CutPrefix(s, "-")
	v, err := script.ParseInt(digits)
	switch {
	case err != nil:
		return strConst(s)
	case neg && v <= 1<<63 && v > 0:
		return &Const{Kind: types.Int, Int: -v, Neg: true}
	}
	return intConst(v)
}

// fromBig returns an integer constant, or reports that it has more than 64 bits.
func (c *constants) fromBig(at script.Expr, v *big.Int) *Const {
	switch {
	case v.Sign() >= 0 && v.IsUint64():
		return intConst(v.Uint64())
	case v.IsInt64():
		return &Const{Kind: types.Int, Int: uint64(v.Int64()), Neg: true}
	}
	c.fail(at, "the value %s does not fit in 64 bits", v)
	return nil
}

func (c *constants) foldUnary(x *script.Unary) *Const {
	k := c.lit(x.X)
	if k == nil {
		return nil
	}
	switch {
	case x.Op == "!":
		return boolConst(!k.truth())
	case k.Kind != types.Int:
		return nil
	case x.Op == "-":
		return c.fromBig(x, new(big.Int).Neg(k.big()))
	case x.Op == "+":
		return k
	case x.Op == "~" && k.Neg:
		return intConst(^k.Int)
	case x.Op == "~":
		return &Const{Kind: types.Int, Int: ^k.Int, Neg: int64(^k.Int) < 0 && k.Int < 1<<63}
	}
	return nil
}

func (c *constants) foldCond(x *script.Cond) *Const {
	k := c.lit(x.C)
	switch {
	case k == nil:
		return nil
	case k.truth() && x.T == nil:
		return k
	case k.truth():
		return c.lit(x.T)
	}
	return c.lit(x.F)
}

func (c *constants) foldBinary(x *script.Binary) *Const {
	if p, ok := x.X.(*script.Typeinfo); ok {
		if q, ok := x.Y.(*script.Typeinfo); ok && (x.Op == "==" || x.Op == "!=") {
			s, t := c.typeRef(p.Of), c.typeRef(q.Of)
			if s.Kind == types.None || t.Kind == types.None {
				return nil
			}
			return boolConst((s.String() == t.String()) == (x.Op == "=="))
		}
	}
	a, b := c.lit(x.X), c.lit(x.Y)
	if a == nil || b == nil {
		return nil
	}
	switch x.Op {
	case "&&":
		return boolConst(a.truth() && b.truth())
	case "||":
		return boolConst(a.truth() || b.truth())
	}
	if a.Kind == types.String || b.Kind == types.String {
		return c.foldStrings(x, a, b)
	}
	va, vb := a.big(), b.big()
	if script.Compares(x.Op) {
		return boolConst(script.Holds(x.Op, va.Cmp(vb)))
	}
	if !a.Neg && a.Int > math.MaxInt64 && b.Neg || !b.Neg && b.Int > math.MaxInt64 && a.Neg {
		if strings.Contains("& | ^ + - * / %", x.Op) {
			c.fail(x, "the constants %s and %s have no common type of 64 bits", va, vb)
			return nil
		}
	}
	v := new(big.Int)
	switch x.Op {
	case "+":
		v.Add(va, vb)
	case "-":
		v.Sub(va, vb)
	case "*":
		v.Mul(va, vb)
	case "/", "%":
		if vb.Sign() == 0 {
			c.fail(x, "division by zero")
			return nil
		}
		if x.Op == "/" {
			v.Quo(va, vb)
		} else {
			v.Rem(va, vb)
		}
	case "&":
		v.And(va, vb)
	case "|":
		v.Or(va, vb)
	case "^":
		v.Xor(va, vb)
	default:
		return c.foldShift(x, a, vb)
	}
	k := c.fromBig(x, v)
	if k != nil && a.Kind == types.Bool && b.Kind == types.Bool && strings.Contains("&|^", x.Op) {
		return boolConst(k.truth())
	}
	return k
}

// foldShift shifts in 64 bits.
func (c *constants) foldShift(x *script.Binary, a *Const, by *big.Int) *Const {
	if !by.IsUint64() || by.Uint64() > 63 {
		c.fail(x, "a shift by %s, of a value of 64 bits", by)
		return nil
	}
	n := uint(by.Uint64())
	switch {
	case x.Op == "<<":
		return &Const{Kind: types.Int, Int: a.Int << n, Neg: a.Neg && int64(a.Int<<n) < 0}
	case a.Neg:
		return &Const{Kind: types.Int, Int: uint64(int64(a.Int) >> n), Neg: true}
	}
	return intConst(a.big().Uint64() >> n)
}

func (c *constants) foldStrings(x *script.Binary, a, b *Const) *Const {
	switch {
	case a.Kind == b.Kind && script.Compares(x.Op):
		return boolConst(script.Holds(x.Op, strings.Compare(a.Str, b.Str)))
	case a.Kind == b.Kind:
		return nil
	case x.Op == "+" && a.Kind == types.String && b.Kind == types.Int && !b.Neg:
		// str($1 + 3): the end of the string.
		return strConst(a.Str[min(b.Int, uint64(len(a.Str))):])
	case x.Op == "+" && b.Kind == types.String && a.Kind == types.Int && !a.Neg:
		return strConst(b.Str[min(a.Int, uint64(len(b.Str))):])
	}
	return nil
}

// foldCall evaluates str("...").
func (c *constants) foldCall(x *script.Call) *Const {
	if x.Name != "str" || len(x.Args) == 0 || len(x.Args) > 2 {
		return nil
	}
	var s string
	if p, ok := x.Args[0].(*script.Positional); ok {
		s = c.param(p.N)
	} else if k := c.lit(x.Args[0]); k != nil && k.Kind == types.String {
		s = k.Str
	} else {
		return nil
	}
	if len(x.Args) == 2 {
		n := c.lit(x.Args[1])
		if n == nil || n.Kind != types.Int || n.Neg {
			return nil
		}
		s = s[:min(uint64(len(s)), n.Int)]
	}
	return strConst(s)
}

func (c *constants) foldIndex(x *script.Index) *Const {
	k, i := c.lit(x.X), c.lit(x.I)
	if k == nil || i == nil || k.Kind != types.String || i.Kind != types.Int || i.Int > uint64(len(k.Str)) {
		return nil
	}
	return intConst(uint64((k.Str + "\x00")[i.Int]))
}
