package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// The values of integers, booleans and pointers as C. All have 64 bits: they are of type long or unsigned long, by
// the sign of their type in the script.

// number is a constant.
func number(n uint64, t *types.Type) string {
	if t.Signed && !t.Flexible {
		if int64(n) < 0 {
			return "(long)" + strconv.FormatUint(n, 10) + "UL"
		}
		return strconv.FormatUint(n, 10) + "L"
	}
	return strconv.FormatUint(n, 10) + "UL"
}

// wide makes C of any integer or pointer type a value.
func wide(c string, t *types.Type) string {
	if t.Signed {
		return "(long)(" + c + ")"
	}
	return "(unsigned long)(" + c + ")"
}

// cNames are C's integer types by size: unsigned, signed.
var cNames = map[int64][2]string{1: {"unsigned char", "signed char"}, 2: {"unsigned short", "short"}, 4: {"unsigned int", "int"}, 8: {"unsigned long", "long"}}

func cName(t *types.Type) string {
	if t.Signed {
		return cNames[t.Size][1]
	}
	return cNames[t.Size][0]
}

// fitted cuts a value to a type.
func fitted(c string, t *types.Type) string {
	switch {
	case t.Kind == types.Bool:
		return "(unsigned long)(" + c + " != 0)"
	case !t.Is(types.Int, types.Pointer) || cNames[t.Size][0] == "":
		return ""
	case t.Size == 8:
		return wide(c, t)
	}
	return wide("("+cName(t)+")("+c+")", t)
}

// scalar reports types whose values are integers of at most 64 bits.
func scalar(t *types.Type) bool { return t.Is(types.Int, types.Bool, types.Pointer) }

// converted is the value of x as another type; "" if it is not known.
func (w *translator) converted(x script.Expr, to *types.Type) string {
	if !scalar(to) {
		return ""
	}
	c, ok := w.value(x)
	if !ok {
		return ""
	}
	if c = fitted(c, to); len(c) > maxText {
		return ""
	}
	return c
}

// value is an expression as C; ok is false if it depends on something that the site does not have.
func (w *translator) value(x script.Expr) (c string, ok bool) {
	if c, ok = expression(w, x); ok && w.parts != nil && w.parts.taken[c] != "" {
		return w.parts.taken[c], true
	}
	return c, ok
}

func expression(w *translator, x script.Expr) (c string, ok bool) {
	t := w.typeOf(x)
	if k := w.p.Consts[x]; k != nil {
		switch {
		case k.Kind == types.Bool && k.Bool:
			return "1UL", true
		case k.Kind == types.Bool:
			return "0UL", true
		case k.Kind == types.Int:
			return number(k.Int, t), true
		}
		return "", false
	}
	if !scalar(t) {
		return "", false
	}
	switch x := x.(type) {
	case *script.Var:
		c = w.vars.get(x.Name).c
		return c, c != ""
	case *script.Map:
		return w.elementValue(x, x, nil)
	case *script.Element:
		return w.elementValue(x, x.Map, x.Key)
	case *script.Ident:
		return w.word(x, x.Name, nil)
	case *script.Call:
		if wordOf(x) == "strncmp" {
			return w.strncmp(x, t)
		}
		return w.word(x, x.Name, x.Args)
	case *script.Cast:
		if !scalar(w.typeOf(x.X)) {
			return "", false
		}
		if c, ok = w.value(x.X); ok {
			c = fitted(c, t)
		}
		return c, ok && c != ""
	case *script.Comptime:
		return w.value(x.X)
	case *script.Step:
		if w.parts != nil {
			c = w.parts.steps[x]
		}
		return c, c != ""
	case *script.Unary:
		if x.Op == "*" {
			return w.loaded(x)
		}
		return w.unary(x)
	case *script.Binary:
		return w.binary(x)
	case *script.Cond:
		return w.choice(x, t)
	case *script.Field, *script.Index:
		return w.loaded(x)
	}
	return "", false
}

// truth is a condition as C.
func (w *translator) truth(x script.Expr) (string, bool) {
	if k := w.p.Consts[x]; k != nil && k.Kind == types.String {
		return "", false
	}
	c, ok := w.value(x)
	return "(" + c + " != 0)", ok
}

func (w *translator) unary(x *script.Unary) (string, bool) {
	t := w.typeOf(x.X)
	if !scalar(t) {
		return "", false
	}
	c, ok := w.value(x.X)
	switch {
	case !ok:
		return "", false
	case x.Op == "!":
		return "(unsigned long)(" + c + " == 0)", true
	case x.Op == "-":
		return "(long)(0UL - (unsigned long)(" + c + "))", true
	case x.Op == "~":
		return wide("~("+c+")", w.typeOf(x)), true
	}
	return c, true
}

func (w *translator) binary(x *script.Binary) (string, bool) {
	s, t, r := w.typeOf(x.X), w.typeOf(x.Y), w.typeOf(x)
	if x.Op == "&&" || x.Op == "||" {
		a, ok1 := w.truth(x.X)
		b, ok2 := w.truth(x.Y)
		return "(unsigned long)(" + a + " " + x.Op + " " + b + ")", ok1 && ok2
	}
	if !scalar(s) || !scalar(t) {
		return w.textComparison(x)
	}
	a, ok1 := w.value(x.X)
	b, ok2 := w.value(x.Y)
	if !ok1 || !ok2 {
		return "", false
	}
	return w.arith(x.Op, a, b, s, t, r)
}

// arith is a op b, of types s and t; r is the type of the result. It computes what package interp does.
func (w *translator) arith(op, a, b string, s, t, r *types.Type) (string, bool) {
	if len(a)+len(b) > maxText {
		return "", false
	}
	if s.Kind == types.Pointer && t.Kind == types.Int && (op == "+" || op == "-") {
		b = fmt.Sprintf("((unsigned long)(%s) * %dUL)", b, max(s.Pointee().Size, 1))
	}
	signed := s.Signed && t.Signed || s.Signed && t.Flexible || s.Flexible && t.Signed || (s.Signed || t.Signed) && (s.Size < 8 || t.Size < 8)
	of := func(signed bool, c string) string {
		if signed {
			return "(long)(" + c + ")"
		}
		return "(unsigned long)(" + c + ")"
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		return "(unsigned long)(" + of(signed, a) + " " + op + " " + of(signed, b) + ")", true
	case "+", "-", "*", "&", "|", "^":
		return of(r.Signed, of(false, a)+" "+op+" "+of(false, b)), true
	case "<<":
		return of(r.Signed, of(false, a)+" << ("+of(false, b)+" & 63UL)"), true
	case ">>":
		return of(r.Signed, of(s.Signed, a)+" >> ("+of(false, b)+" & 63UL)"), true
	case "/", "%":
		signed = signed && r.Signed
		return of(r.Signed, of(signed, a)+" "+op+" "+of(signed, b)), divisor(b) // by 0: jalon warns, with a value
	}
	return "", false
}

// divisor reports whether C is a constant that is not 0.
func divisor(c string) bool {
	n, err := strconv.ParseUint(strings.TrimRight(strings.TrimPrefix(c, "(long)"), "UL"), 10, 64)
	return err == nil && n != 0
}

func (w *translator) choice(x *script.Cond, t *types.Type) (string, bool) {
	if x.T == nil {
		return "", false
	}
	c, ok := w.truth(x.C)
	a, b := w.converted(x.T, t), w.converted(x.F, t)
	if !ok || a == "" || b == "" {
		return "", false
	}
	return "(" + c + " ? " + a + " : " + b + ")", true
}

// word is a word of the language.
func (w *translator) word(x script.Expr, name string, args []script.Expr) (string, bool) {
	row := words.Find(name)
	if row == nil {
		if id, ok := x.(*script.Ident); ok && args == nil { // a variable of the program
			p, ok := w.variable(id.Name)
			return wide(p.name, w.typeOf(x)), ok
		}
		return "", false
	}
	if f := wordsAtSite[row.Name]; f != nil {
		return f(w, x, name, args)
	}
	return "", false
}

// certain reports whether the value of x is known at every hit: no read of it can fail.
func (w *translator) certain(x script.Expr) bool {
	ok := true
	script.Walk(x, func(n script.Node) bool {
		y, isExpr := n.(script.Expr)
		if !isExpr || w.p.Consts[y] != nil {
			return isExpr
		}
		switch y := y.(type) {
		case *script.Unary:
			ok = ok && y.Op != "*"
		case *script.Index:
			ok = false
		case *script.Field:
			if w.isArgs(y.X) {
				return false
			}
			ok = false
		case *script.Call:
			ok = ok && safeWords[wordOf(y)]
		}
		return ok
	})
	return ok
}
