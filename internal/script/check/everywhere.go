package check

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// several is a Source that knows what a variable, or a member of args, is at each address of a place that means several: a pattern, a
// function of which there are several, a line.
type several interface {
	Each(pl *script.Place, name string, arg bool, f func(where string, t *ctype.Type))
	// EachResult is that for what the functions return.
	EachResult(pl *script.Place, f func(where string, t *ctype.Type))
}

// typed is a type, and where a value has it.
type typed struct {
	where string
	*ctype.Type
}

// typesAt are the types of a value at all places of the probe; of returns that at one of them, nil: it is not there.
func (c *checker) typesAt(of func(*script.Place) *ctype.Type, each func(*script.Place) []typed) (list []typed) {
	for _, pl := range c.places {
		if t := of(pl); t != nil {
			list = append(list, typed{pl.Point.Text, t})
		}
		list = append(list, each(pl)...)
	}
	return list
}

// each are the types that ask gets from the source, if it has those of several addresses.
func (c *checker) each(ask func(s several, f func(where string, t *ctype.Type))) (list []typed) {
	if s, ok := c.opts.Source.(several); ok {
		ask(s, func(where string, t *ctype.Type) { list = append(list, typed{where, t}) })
	}
	return list
}

// eachNamed are the types of a variable, or of a member of args, at the addresses of a place.
func (c *checker) eachNamed(name string, arg bool) func(*script.Place) []typed {
	return func(pl *script.Place) []typed {
		return c.each(func(s several, f func(string, *ctype.Type)) { s.Each(pl, name, arg, f) })
	}
}

// everywhere is the type of a value that has the types of the list, the first at the first place of the probe. Integers that differ have a
// type that holds all of them. Other differences are an error: a value has one form in maps and texts.
func (c *checker) everywhere(at script.Node, what string, list []typed) *types.Type {
	first := types.FromC(list[0].Type)
	t, integers := first, first.Kind != types.Float
	for _, other := range list[1:] {
		o := types.FromC(other.Type)
		integers = integers || o.Kind != types.Float
		if t = types.Promote(t, o); t == nil || !sameLayout(list[0].Type, other.Type) {
			c.failHint(at, "write a probe for each", "%s has the type %s at %s, and %s at %s", what, first, list[0].where, o, other.where)
			return types.NoneT
		}
	}
	for _, other := range list { // int64 holds all but the largest of uint64
		if o := types.FromC(other.Type); t.Kind == types.Int && t.Signed && o.Kind == types.Int && !o.Signed && o.Size == 8 {
			c.warn(at, "%s has the type %s at %s, but not everywhere: values from 2^63 on are shown as negative", what, o, other.where)
			break
		}
	}
	if x, ok := at.(script.Expr); ok && t.Kind == types.Float && integers {
		c.mixed[x] = true
	}
	return t
}

// sameLayout reports whether structs of one name, or pointers to them, have their members at the same offsets. Two files of a program may
// have different ones.
func sameLayout(a, b *ctype.Type) bool {
	a, b = a.Strip(), b.Strip()
	if a.Kind == ctype.Pointer && b.Kind == ctype.Pointer && a.Elem != nil && b.Elem != nil {
		a, b = a.Elem.Strip(), b.Elem.Strip()
	}
	if a == b || a.Kind != ctype.Struct && a.Kind != ctype.Union || a.Incomplete || b.Incomplete {
		return true
	}
	x, y := a.Fields(), b.Fields()
	if a.Size != b.Size || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Name != y[i].Name || x[i].BitOffset != y[i].BitOffset || x[i].Type.Size != y[i].Type.Size {
			return false
		}
	}
	return true
}

// argument is everywhere for a member of args, which is a struct of its own at each place. Members of other structs are the same.
func (c *checker) argument(x *script.Field, of, member *ctype.Type) *types.Type {
	t := types.FromC(member)
	if len(c.places) == 0 || c.opts.Source == nil {
		return t
	}
	if args, _ := c.argsAt(c.places[0]); args != of {
		return t
	}
	return c.everywhere(x, "args."+x.Name, c.argumentTypes(x.Name))
}

// argumentTypes are the types of a member of args at all places of the probe.
func (c *checker) argumentTypes(name string) []typed {
	return c.typesAt(func(pl *script.Place) *ctype.Type {
		args, err := c.argsAt(pl)
		if err != nil || args == nil {
			return nil // the place is left out, with the reason
		}
		f, _, _ := args.CMember(name)
		return f.Type
	}, c.eachNamed(name, true))
}

// wholeArgs reports arguments that are not the same at all places of the probe, where all of them are read as one struct.
func (c *checker) wholeArgs(at script.Node, args *ctype.Type) {
	for _, f := range args.Fields() {
		list := c.argumentTypes(f.Name)
		for _, other := range list {
			if a, b := types.FromC(f.Type), types.FromC(other.Type); !types.Same(a, b) || !sameLayout(f.Type, other.Type) {
				c.failHint(at, "write a probe for each", "args.%s has the type %s at %s, and %s at %s", f.Name, a, list[0].where, b, other.where)
				return
			}
		}
	}
}

// variableEverywhere is everywhere for a variable of the program that is there at the first place.
func (c *checker) variableEverywhere(x *script.Ident) *types.Type {
	list := c.typesAt(func(pl *script.Place) *ctype.Type { return c.opts.Source.Variable(pl, x.Name) }, c.eachNamed(x.Name, false))
	return c.everywhere(x, x.Name, list)
}

// argsType is the struct of the arguments at a place.
type argsType struct {
	t   *ctype.Type
	err error
}

// argsAt returns the arguments at a place. They are asked for once: each pass over the script needs them.
func (c *checker) argsAt(pl *script.Place) (*ctype.Type, error) {
	a, ok := c.atPlace[pl]
	if !ok {
		a.t, a.err = c.opts.Source.Args(pl)
		if c.atPlace == nil {
			c.atPlace = map[*script.Place]argsType{}
		}
		c.atPlace[pl] = a
	}
	return a.t, a.err
}
