package check

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

func mapFunc(name string) *words.Word { return words.FindMapFunc(name) }

func (c *calls) call(x *script.Call) *types.Type {
	if f := c.funcs[x.Name]; f != nil {
		return c.callFunction(x, f)
	}
	if mapFunc(x.Name) != nil && x == c.tail {
		return c.mapCall(x)
	}
	if mapFunc(x.Name) != nil {
		if c.mapCall(x).Kind == types.None {
			return types.NoneT
		}
		c.failHint(x, "for example: @a = "+x.Name+"(...);", "%s() must be assigned to a map", x.Name)
		return types.NoneT
	}
	w := words.Find(x.Name)
	if w == nil || w.Name == "argN" || w.Name == "args" || w.Name == "ctx" {
		hint := ""
		if near := lang.Nearest(x.Name, words.Names(), 2); len(near) > 0 {
			hint = "did you mean " + near[0] + "?"
		}
		c.failHint(x, hint, "there is no function %q", x.Name)
		for _, a := range x.Args {
			if _, ok := a.(*script.TypeOf); !ok {
				c.expr(a)
			}
		}
		return types.NoneT
	}
	return c.word(x, w, x.Name, x.Args)
}

// callFunction types a call of a function of the script.
func (c *calls) callFunction(x *script.Call, f *script.Function) *types.Type {
	ts, _ := c.known(x.Args...)
	if len(ts) != len(f.Params) {
		c.fail(x, "the function %s has %d parameters, not %d", f.Name, len(f.Params), len(ts))
		return types.NoneT
	}
	for i, p := range f.Params {
		if to := c.typeRef(p.Type); ts[i].Kind != types.None && to.Kind != types.None {
			c.convert("the parameter "+p.Var.Name, to, x.Args[i], ts[i], x.Args[i])
		}
	}
	return c.typeRef(f.Result)
}

// mapCall types the arguments of count() and the like and returns the type of the map's values.
func (c *calls) mapCall(x *script.Call) *types.Type {
	return c.word(x, mapFunc(x.Name), x.Name, x.Args)
}

// word types a word of the language, or a call of one.
func (c *calls) word(at script.Expr, w *words.Word, name string, args []script.Expr) *types.Type {
	if !c.permitted(at, w, name) || !c.counted(at, w, len(args)) {
		for _, a := range args {
			if _, ok := a.(*script.Ident); !ok {
				if _, ok := a.(*script.TypeOf); !ok {
					c.expr(a)
				}
			}
		}
		return types.NoneT
	}
	call := &words.Call{Word: w, Config: c.config, Place: c.place(), Fail: func(f string, a ...any) { c.fail(at, f, a...) }, Warn: func(f string, a ...any) { c.warn(at, f, a...) }}
	if !c.arguments(at, w, args, call) {
		return types.NoneT
	}
	if t, ok := c.special(at, w, args, call); ok {
		return t
	}
	if w.Result == nil {
		return types.VoidT
	}
	return w.Result(call)
}

// permitted reports words that cannot be used here.
func (c *calls) permitted(at script.Expr, w *words.Word, name string) bool {
	if w.Unsafe && !c.opts.Unsafe {
		c.fail(at, "%s() needs --unsafe", name)
		return false
	}
	if w.Providers == nil {
		return true
	}
	if c.place() == nil && c.fn != nil {
		c.fail(at, "%s can be used in probes only", name)
		return false
	}
	for _, pl := range c.places {
		if !slices.Contains(w.Providers, pl.Provider.Name) {
			hint := "it can in " + strings.Join(w.Providers, ", ")
			if name == "retval" && pl.Provider.Name == "tracepoint" {
				hint = "at the exit of a system call it is args.ret"
			}
			c.failHint(at, hint, "%s cannot be used in a %s", name, pl.Provider.Name)
			return false
		}
	}
	return true
}

// counted reports a wrong number of arguments.
func (c *calls) counted(at script.Expr, w *words.Word, n int) bool {
	if n >= w.Min && n <= w.Max {
		return true
	}
	want := "no arguments"
	switch {
	case w.Max == 0:
	case w.Min == w.Max && w.Min == 1:
		want = "one argument"
	case w.Min == w.Max:
		want = itoa(w.Min) + " arguments"
	case n < w.Min:
		want = "at least " + itoa(w.Min)
	default:
		want = "at most " + itoa(w.Max)
	}
	c.failHint(at, "it is written "+strings.Join(w.Forms, " or "), "%s() has %s, not %d", w.Name, want, n)
	return false
}

// arguments types arguments and checks their kinds.
func (c *calls) arguments(at script.Expr, w *words.Word, args []script.Expr, call *words.Call) bool {
	ok := true
	for i, a := range args {
		spec := words.Arg{Kind: words.AnyArg}
		if i < len(w.Args) {
			spec = w.Args[i]
		}
		t, lit, name := types.NoneT, words.Lit{}, ""
		switch spec.Kind {
		case words.MapArg, words.MapOrAny, words.KeyArg, words.VarArg:
			t = c.mapArgument(at, w, spec.Kind, args, i)
			ok = ok && t != types.NoneT
		case words.TypeArg:
			t = c.typeArgument(a)
			ok = ok && t.Kind != types.None
		case words.NameArg:
			id, isName := a.(*script.Ident)
			switch {
			case isName && (len(spec.Names) == 0 || slices.Contains(spec.Names, id.Name)):
				name = id.Name
			case w.Args[0].Kind == words.NameArg && len(w.Args) == 2 && (!isName || c.isConstant(id)): // a mode that is omitted
				t = c.expr(a)
				lit = c.literal(a)
			default:
				c.fail(a, "%s() expects one of %s here", w.Name, strings.Join(spec.Names, ", "))
				ok = false
			}
		default:
			t = c.expr(a)
			lit = c.literal(a)
			ok = c.argument(at, w, spec.Kind, a, t, lit) && ok
		}
		call.Types, call.Lits, call.Names = append(call.Types, t), append(call.Lits, lit), append(call.Names, name)
	}
	if len(w.Args) > 0 && w.Args[0].Kind == words.Format && ok {
		c.format(at, args[0], args[1:], call.Types[1:])
	}
	return ok
}

// isConstant reports whether a name is an enumerator.
func (c *calls) isConstant(id *script.Ident) bool {
	_, ok := c.enumerator(id.Name)
	return ok
}

// literal is the value of an argument as the tables see it.
func (c *calls) literal(x script.Expr) words.Lit {
	k := c.lit(x)
	if k == nil {
		return words.Lit{Type: types.NoneT}
	}
	l := words.Lit{Known: true, Type: k.Type(), Int: k.Int, Neg: k.Neg, Str: k.Str}
	if k.Kind == types.Bool && k.Bool {
		l.Int = 1
	}
	return l
}

// argument checks an argument that is an expression.
func (c *calls) argument(at script.Expr, w *words.Word, kind words.ArgKind, a script.Expr, t *types.Type, lit words.Lit) bool {
	if t.Kind == types.None {
		return false
	}
	fine, want := true, ""
	switch kind {
	case words.IntArg:
		fine, want = t.Is(types.Int, types.Bool) || t.Castable(), "an integer"
		if mapFunc(w.Name) != nil {
			fine, want = t.Is(types.Int, types.Float) || t.Castable(), "a number"
		}
	case words.IntLit:
		fine, want = lit.Known && t.Kind == types.Int, "an integer literal"
	case words.StrArg:
		fine, want = t.Kind == types.String, "a string"
	case words.StrLit, words.Format:
		fine, want = lit.Known && t.Kind == types.String, "a string literal"
	case words.PtrArg:
		fine, want = t.Kind == types.Pointer || t.Kind == types.Int && w.Name != "socket_cookie" && w.Name != "skboutput", "a pointer"
	case words.IntPtrArg:
		fine, want = t.Is(types.Int, types.Pointer), "an integer or a pointer"
	default:
		if t.Kind == types.Void {
			fine, want = false, "a value"
		}
	}
	if !fine {
		hint := ""
		if p, ok := a.(*script.Positional); ok && want == "a string literal" {
			hint = "str($" + itoa(p.N) + ") is the parameter as a string"
		}
		c.failHint(a, hint, "%s() expects %s, not %s", w.Name, want, t)
	}
	return fine
}

// typeArgument is the type that an argument names.
func (c *calls) typeArgument(a script.Expr) *types.Type {
	switch a := a.(type) {
	case *script.TypeOf:
		return c.typeRef(a)
	case *script.Ident:
		if t := builtinTypes[a.Name]; t != nil {
			return t
		}
		if t := c.namedType(a.Name); t != nil {
			return t
		}
	}
	c.fail(a, "expected a type")
	return types.NoneT
}

// mapArgument checks the map of delete(@m, key) and the like, its key, and the variable for the result. For a map
// without key the type is nil.
func (c *calls) mapArgument(at script.Expr, w *words.Word, kind words.ArgKind, args []script.Expr, i int) *types.Type {
	a := args[i]
	m, isMap := a.(*script.Map)
	switch kind {
	case words.KeyArg:
		return c.keyArgument(w, args[0], a)
	case words.VarArg:
		v, ok := a.(*script.Var)
		if !ok {
			c.fail(a, "%s() sets a variable", w.Name)
			return types.NoneT
		}
		return c.result(v, args[0])
	}
	switch {
	case isMap:
		return c.wholeMap(w, m, len(args))
	case kind == words.MapArg:
		c.fail(a, "%s() expects a map", w.Name)
		return types.NoneT
	}
	return c.anyOrMap(at, w, args)
}

// anyOrMap is the first argument of print, len and delete if it is not a map.
func (c *calls) anyOrMap(at script.Expr, w *words.Word, args []script.Expr) *types.Type {
	a := args[0]
	t := c.expr(a)
	switch w.Name {
	case "delete":
		if e, ok := a.(*script.Element); ok && len(args) == 1 {
			c.warn(e, "delete(@map[key]) is written delete(@map, key) now")
		} else {
			c.fail(a, "delete() expects a map, or a map and a key")
			return types.NoneT
		}
	case "print":
		switch {
		case t.ManyValued():
			c.fail(a, "a single value of type %s cannot be printed; print the whole map", t)
			return types.NoneT
		case t.Is(types.Void, types.ClockMode) || t.Kind == types.Pointer && t.Ctx:
			c.fail(a, "a value of type %s cannot be printed", t)
			return types.NoneT
		case len(args) > 1 && t.Kind != types.None:
			c.fail(at, "only maps are printed with further arguments")
		}
	}
	return t
}

// wholeMap checks a map as an argument.
func (c *calls) wholeMap(w *words.Word, x *script.Map, n int) *types.Type {
	m := c.mapOf(x.Name, x)
	c.types[x] = m.Value
	keyed := w.Name == "has_key" || w.Name == "find" || w.Name == "len" || w.Name == "delete" && n == 2
	switch {
	case c.final && m.Key.Kind == types.None && m.Value.Kind == types.None:
		c.fail(x, "the map %s is never assigned", x.Name)
		return types.NoneT
	case keyed && m.Scalar:
		c.fail(x, "%s() expects a map with keys; %s has none", w.Name, x.Name)
		return types.NoneT
	case w.Name == "delete" && n == 1 && m.keyed:
		c.fail(x, "delete() of an element of %s needs its key; clear() removes all", x.Name)
		return types.NoneT
	case w.Name == "print" && c.loops > 0:
		c.warn(x, "print() of a map in a loop shows the map as it is later")
	}
	return nil
}

func (c *calls) keyArgument(w *words.Word, first, key script.Expr) *types.Type {
	t := c.expr(key)
	x, ok := first.(*script.Map)
	if !ok {
		return t
	}
	m := c.mapOf(x.Name, x)
	if m.Scalar || t.Kind == types.None {
		return t
	}
	c.key(m, key, t, key)
	return t
}

// result makes the variable of find() hold a value of the map.
func (c *calls) result(v *script.Var, first script.Expr) *types.Type {
	x, ok := first.(*script.Map)
	if !ok {
		return types.NoneT
	}
	m := c.mapOf(x.Name, x)
	vr := c.lookup(v.Name)
	if vr == nil {
		vr = c.declare(v.Name, v)
	}
	vr.set = true
	if m.Value.Kind == types.None {
		return types.NoneT
	}
	if !c.storable(vr.Type, m.Value) || !c.grow(&vr.Type, m.Value) {
		c.fail(v, "%s has the type %s and cannot hold a value of type %s", v.Name, vr.Type, m.Value)
	}
	c.types[v] = vr.Type
	return vr.Type
}

// format checks the arguments of a format.
func (c *calls) format(at, f script.Expr, args []script.Expr, ts []*types.Type) {
	k := c.lit(f)
	spec, err := printf.Parse(k.Str)
	if err != nil {
		c.fail(f, "%s", err)
		return
	}
	if i, err := spec.Check(ts); err != nil {
		if i >= 0 && i < len(args) {
			at = args[i]
		}
		c.fail(at, "%s", err)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
