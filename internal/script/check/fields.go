package check

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

func (c *operators) field(x *script.Field) *types.Type {
	c.member = x.X
	t := c.expr(x.X)
	ctx, space := t.Ctx, t.Space
	for t.Kind == types.Pointer {
		t = t.Pointee()
	}
	switch t.Kind {
	case types.None:
		return t
	case types.Record:
		if f, ok := t.Field(x.Name); ok {
			c.typeinfoField(x)
			return f.Type
		}
		c.fail(x, "%s has no field %q", t, x.Name)
		return types.NoneT
	case types.Struct:
	default:
		c.fail(x, "a value of type %s has no fields", t)
		return types.NoneT
	}
	if t = c.complete(t); t.C.Incomplete {
		c.fail(x, "%s is declared but not defined", t)
		return types.NoneT
	}
	f, _, ok := t.C.CMember(x.Name)
	if !ok {
		c.fail(x, "%s has no member %q", t, x.Name)
		return types.NoneT
	}
	ft := types.FromC(f.Type)
	if ft.Kind == types.None {
		c.fail(x, "the language has no type for the member %s", x.Name)
		return ft
	}
	if ctx {
		ft = c.argument(x, t.C, f.Type)
	}
	return ft.In(space).WithCtx(ctx && ft.Is(types.Array, types.Struct))
}

// typeinfoField gives typeinfo(x).base_type and the like their value.
func (c *operators) typeinfoField(x *script.Field) {
	ti, ok := x.X.(*script.Typeinfo)
	if !ok {
		return
	}
	switch t := c.typeRef(ti.Of); x.Name {
	case "base_type":
		c.consts[x] = strConst(t.Kind.String())
	case "full_type":
		c.consts[x] = strConst(t.String())
	}
}

func (c *operators) tupleField(x *script.TupleField) *types.Type {
	t := c.expr(x.X)
	switch {
	case t.Kind == types.None:
		return t
	case t.Kind != types.Tuple:
		c.fail(x, "a value of type %s has no elements .0, .1, ...", t)
		return types.NoneT
	case x.N >= len(t.Fields):
		c.fail(x, "there is no element %d, the tuple has %d", x.N, len(t.Fields))
		return types.NoneT
	}
	return t.Fields[x.N].Type
}

func (c *operators) index(x *script.Index) *types.Type {
	ts, ok := c.known(x.X, x.I)
	if !ok {
		return types.NoneT
	}
	t, k := ts[0], c.lit(x.I)
	if !ts[1].Is(types.Int) || ts[1].Signed && !ts[1].Flexible && k == nil && t.Kind != types.Pointer && c.signedIndex(x.I) || k != nil && k.Neg {
		c.fail(x.I, "an index is an unsigned integer, not %s", ts[1])
		return types.NoneT
	}
	switch t.Kind {
	case types.Array, types.String:
		n, elem := t.Count, t.Elem
		if t.Kind == types.String {
			n, elem = t.Size, types.Int8
		}
		if k != nil && n > 0 && k.Int >= uint64(n) {
			c.fail(x.I, "the index %d is not in an array of %d elements", k.Int, n)
		}
		return elem.In(t.Space).WithCtx(false)
	case types.Pointer:
		if e := t.Pointee(); e.Size > 0 {
			return e.In(t.Space)
		}
		c.fail(x, "what a %s points to has no size", t)
	case types.Tuple:
		switch {
		case k == nil:
			c.fail(x.I, "the index of a tuple must be a literal")
		case k.Int >= uint64(len(t.Fields)):
			c.fail(x.I, "there is no element %d, the tuple has %d", k.Int, len(t.Fields))
		default:
			return t.Fields[k.Int].Type
		}
	default:
		c.fail(x, "a value of type %s has no elements", t)
	}
	return types.NoneT
}

// signedIndex reports whether a signed index is refused: bpftrace refuses those that are not literals.
func (c *operators) signedIndex(x script.Expr) bool { return true }

// complete returns the definition of a struct that is only declared where it was found.
func (c *operators) complete(t *types.Type) *types.Type {
	if !t.C.Incomplete || t.C.Name == "" {
		return t
	}
	tag, _, _ := strings.Cut(types.CName(t.C), " ")
	if def := c.named(tag, t.C.Name); def != nil && !def.Strip().Incomplete {
		return types.FromC(def)
	}
	return t
}
