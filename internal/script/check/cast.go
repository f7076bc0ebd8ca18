package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

func (c *expressions) comptime(x *script.Comptime) *types.Type {
	t := c.expr(x.X)
	if _, ok := x.X.(*script.Typeinfo); ok {
		return t
	}
	if t.Kind != types.None && c.lit(x.X) == nil {
		if tf, ok := x.X.(*script.TupleField); ok {
			if tu, ok := tf.X.(*script.Tuple); ok && tf.N < len(tu.Elems) && c.lit(tu.Elems[tf.N]) != nil {
				return t
			}
		}
		c.fail(x, "the value of this expression is not known before the script runs")
	}
	return t
}

// cast types (T)x.
func (c *expressions) cast(x *script.Cast) *types.Type {
	from, to := c.expr(x.X), c.typeRef(x.Type)
	if from.Kind == types.None || to.Kind == types.None {
		return types.NoneT
	}
	if to.Kind == types.Array && to.Count == 0 && to.Elem.Size > 0 {
		if from.Size%to.Elem.Size != 0 {
			c.fail(x, "the size of %s is not a multiple of that of %s", from, to.Elem)
			return types.NoneT
		}
		to = types.ArrayOf(to.Elem, from.Size/to.Elem.Size)
	}
	if !c.castable(from, to) {
		c.fail(x, "a value of type %s cannot be cast to %s", from, to)
		return types.NoneT
	}
	if to.C != nil && to.Kind == types.Int {
		c.enumCast(x, to)
	}
	if to.Is(types.Pointer) || to.Is(types.Int) {
		space := from.Space
		if pl := c.place(); space == types.Unknown && pl != nil {
			space = words.SpaceOf(pl.Provider)
		}
		to = to.In(space)
	}
	return to.WithCtx(from.Ctx && to.Kind != types.Int)
}

func (c *expressions) enumCast(x *script.Cast, to *types.Type) {
	k := c.lit(x.X)
	if k == nil || k.Kind != types.Int {
		return
	}
	for _, e := range to.C.Enumerators() {
		if uint64(e.Value) == k.Int {
			return
		}
	}
	c.fail(x, "%s has no constant of the value %s", to, k.big())
}

// castable reports whether a value of one type can be cast to another.
func (c *expressions) castable(from, to *types.Type) bool {
	if types.Same(from, to) {
		return to.Kind != types.Struct
	}
	number := from.Is(types.Int, types.Bool, types.Float) || from.Castable()
	switch to.Kind {
	case types.String:
		return from.Kind == types.String && to.Size >= from.Size
	case types.Username:
		return from.Kind == types.Int
	case types.Bool:
		return number || from.Is(types.Pointer, types.String)
	case types.Float:
		return number
	case types.Int:
		return number || from.Kind == types.Pointer || from.Kind == types.Array && from.Size == to.Size
	case types.Pointer:
		return from.Is(types.Int, types.Pointer, types.Array, types.String) || from.Castable() || from.Ctx
	case types.Array:
		if !to.Elem.Is(types.Int, types.Bool) {
			return false
		}
		if from.Kind == types.Int && to.Size <= 8 && to.Size > from.Size {
			return true
		}
		return from.Is(types.Int, types.Bool, types.String) && to.Size == from.Size
	}
	return false
}
