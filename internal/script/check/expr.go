package check

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// expr types an expression; NoneT if its type is not known (yet), or after an error.
func (c *expressions) expr(x script.Expr) *types.Type {
	if t, ok := c.types[x]; ok {
		return t
	}
	t := c.typed(x)
	c.types[x] = t
	return t
}

func (c *expressions) typed(x script.Expr) *types.Type {
	switch x := x.(type) {
	case *script.Int, *script.Bool, *script.String:
		return c.lit(x).Type()
	case *script.Float:
		return types.FloatT
	case *script.Positional:
		if k := c.lit(x); k.Kind == types.String {
			return k.Type()
		}
		return types.Int64
	case *script.PositionalCount:
		c.lit(x)
		return types.Uint64
	case *script.Ident:
		return c.ident(x)
	case *script.Var:
		return c.variable(x)
	case *script.Map:
		return c.scalar(x).Value
	case *script.Element:
		return c.element(x).Value
	case *script.Call:
		return c.call(x)
	case *script.TypeOf:
		c.failHint(x, "give it to a macro, or to sizeof and the like", "a type is not a value")
		return types.NoneT
	case *script.Sizeof, *script.Offsetof, *script.Typeinfo:
		return c.typeWord(x)
	case *script.Comptime:
		return c.comptime(x)
	case *script.Cast:
		return c.cast(x)
	case *script.Block:
		return c.block(x)
	}
	return c.operation(x)
}

func (c *expressions) operation(x script.Expr) *types.Type {
	switch x := x.(type) {
	case *script.Unary:
		return c.unary(x)
	case *script.Binary:
		return c.binary(x)
	case *script.Step:
		return c.step(x)
	case *script.Addr:
		return c.address(x)
	case *script.Cond:
		return c.cond(x)
	case *script.If:
		return c.ifElse(x)
	case *script.Tuple:
		return c.tuple(x)
	case *script.Record:
		return c.record(x)
	case *script.Field:
		return c.field(x)
	case *script.TupleField:
		return c.tupleField(x)
	case *script.Index:
		return c.index(x)
	}
	panic("BUG: an expression without a type rule")
}

// known returns the types of operands, and whether all of them are known.
func (c *expressions) known(xs ...script.Expr) ([]*types.Type, bool) {
	ok := true
	ts := make([]*types.Type, len(xs))
	for i, x := range xs {
		ts[i] = c.expr(x)
		ok = ok && ts[i].Kind != types.None
	}
	return ts, ok
}

// ident is a word, a constant, a variable of the program.
func (c *expressions) ident(x *script.Ident) *types.Type {
	if w := words.Find(x.Name); w != nil && w.Bare {
		return c.word(x, w, x.Name, nil)
	}
	if k, ok := c.enumerator(x.Name); ok {
		c.consts[x] = k.folded()
		return c.consts[x].Type()
	}
	if pl := c.place(); pl != nil && c.opts.Source != nil {
		if t := c.opts.Source.Variable(pl, x.Name); t != nil {
			return c.variableEverywhere(x).In(words.SpaceOf(pl.Provider))
		}
	}
	hint := ""
	if x.Name == strings.ToUpper(x.Name) {
		hint = "headers are not read: #define " + x.Name + " with its value"
	}
	names := words.Names()
	for name := range c.macros {
		names = append(names, name)
	}
	if near := lang.Nearest(x.Name, names, 2); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	if w := words.Find(x.Name); w != nil {
		hint = "it is a function: " + w.Forms[0]
	}
	c.failHint(x, hint, "there is no name %q", x.Name)
	return types.NoneT
}

func (c *expressions) variable(x *script.Var) *types.Type {
	v := c.lookup(x.Name)
	if v == nil {
		c.fail(x, "the variable %s is not defined", x.Name)
		return types.NoneT
	}
	if !v.set && c.typing == 0 {
		c.warn(x, "the variable %s is used before it is assigned", x.Name)
	}
	if v.Type.Kind == types.None && len(c.errs) == 0 {
		c.fail(x, "the type of %s is not known: nothing with a type is assigned to it", x.Name)
	}
	return v.Type
}

// scalar is a map that is used without a key.
func (c *expressions) scalar(x *script.Map) *Map {
	m := c.mapOf(x.Name, x)
	if m.keyed {
		c.fail(x, "the map %s has keys; it is used without one here", x.Name)
		return m
	}
	if !m.Scalar {
		m.Scalar, m.Key, c.changed = true, types.Int64, true
	}
	c.types[x] = m.Value
	return m
}

// element is an element of a map with keys.
func (c *expressions) element(x *script.Element) *Map {
	m := c.mapOf(x.Map.Name, x.Map)
	key := c.expr(x.Key)
	if m.Scalar {
		c.fail(x, "the map %s has no keys; it is used with one here", x.Map.Name)
		return m
	}
	m.keyed = true
	c.types[x.Map] = m.Value
	c.key(m, x.Key, key, x)
	c.types[x] = m.Value
	return m
}

// key makes the keys of a map hold a value.
func (c *expressions) key(m *Map, x script.Expr, t *types.Type, at script.Node) {
	if t.Kind == types.None {
		return
	}
	if bad := c.badKey(t); bad != "" {
		c.fail(x, "%s cannot be a key of a map", bad)
		return
	}
	if !c.storable(m.Key, t) || !c.grow(&m.Key, t) {
		c.fail(at, "the keys of %s have the type %s, not %s", m.Name, m.Key, t)
	}
	c.literalFits("the key of "+m.Name, m.Key, x, at)
}

// badKey describes a part of a type that cannot be a key.
func (c *expressions) badKey(t *types.Type) string {
	switch {
	case t.Kind == types.Pointer && t.Ctx:
		return "the context"
	case t.Aggregated() && !t.Castable(), t.Is(types.Void, types.ClockMode):
		return "a value of type " + t.String()
	}
	for _, f := range t.Fields {
		if f.Type.Castable() {
			continue
		}
		if bad := c.badKey(f.Type); bad != "" {
			return bad
		}
	}
	return ""
}

// typeRef is the type that a TypeOf names: a type, or that of an expression, which is not evaluated.
func (c *expressions) typeRef(t *script.TypeOf) *types.Type {
	if k, ok := c.types[t]; ok {
		return k
	}
	c.typing++
	defer func() { c.typing-- }()
	var k *types.Type
	switch x := t.X.(type) {
	case nil:
		k = c.typeOf(t.Type)
	case *script.Ident:
		if b := builtinTypes[x.Name]; b != nil {
			k = b
		} else if n, ok := sized[x.Name]; ok {
			k = &types.Type{Kind: n}
		} else if words.Find(x.Name) == nil && c.namedType(x.Name) != nil {
			k = c.namedType(x.Name)
		} else {
			k = c.expr(x)
		}
	case *script.TypeOf: // the argument of a macro
		k = c.typeRef(x)
	case *script.Map:
		// The type of a map without key is that of its keys.
		m := c.mapOf(x.Name, x)
		if k = m.Key; k.Kind == types.None {
			c.fail(x, "the map %s is never assigned", x.Name)
		}
	default:
		k = c.expr(x)
	}
	c.types[t] = k
	return k
}

// namedType is the type of a typedef, or of a tag without its keyword.
func (c *expressions) namedType(name string) *types.Type {
	for _, tag := range []string{"struct", "union", "enum", ""} {
		if t := c.named(tag, name); t != nil && (tag == "" || c.env.tags[tag+" "+name] != nil) {
			return fromC(t)
		}
	}
	if t := typedefs[name]; t != nil {
		return types.FromC(t)
	}
	return nil
}

// typeWord is sizeof, offsetof or typeinfo.
func (c *expressions) typeWord(x script.Expr) *types.Type {
	switch x := x.(type) {
	case *script.Sizeof:
		t := c.typeRef(x.Of)
		if t.Kind == types.None {
			return types.NoneT
		}
		c.consts[x] = intConst(uint64(t.Size))
		return c.consts[x].Type()
	case *script.Offsetof:
		off, ok := c.offset(x, c.typeRef(x.Of), x.Fields)
		if !ok {
			return types.NoneT
		}
		c.consts[x] = intConst(uint64(off))
		return c.consts[x].Type()
	case *script.Typeinfo:
		t := c.typeRef(x.Of)
		if t.Kind == types.None {
			return types.NoneT
		}
		return types.RecordOf([]types.Field{
			{Name: "btf_id", Type: types.Uint64},
			{Name: "base_type", Type: strConst(t.Kind.String()).Type()},
			{Name: "full_type", Type: strConst(t.String()).Type()},
		})
	}
	panic("BUG: not a word with a type")
}

// offset is the offset of a member in a struct.
func (c *expressions) offset(at script.Node, t *types.Type, path []string) (int64, bool) {
	if t.Kind == types.None {
		return 0, false
	}
	total := int64(0)
	for _, name := range path {
		if t.Kind == types.Record {
			f, ok := t.Field(name)
			if !ok {
				c.fail(at, "%s has no field %q", t, name)
				return 0, false
			}
			total, t = total+f.Offset, f.Type
			continue
		}
		if t.Kind != types.Struct {
			c.fail(at, "%s is not a struct", t)
			return 0, false
		}
		t = c.complete(t)
		f, off, ok := t.C.CMember(name)
		if !ok {
			c.fail(at, "%s has no member %q", t, name)
			return 0, false
		}
		total, t = total+off/8, fromC(f.Type)
	}
	return total, true
}
