package check

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// everywhere is the type of a value that has the type first at the first place of the probe, and at others what of returns; nil: it is
// not there. Integers that differ have a type that holds all of them. Other differences are an error: a value has one form in maps and
// texts.
func (c *checker) everywhere(at script.Node, what string, first *types.Type, of func(*script.Place) *ctype.Type) *types.Type {
	t := first
	for i, pl := range c.places {
		if i == 0 {
			continue
		}
		other := of(pl)
		if other == nil {
			continue
		}
		o := types.FromC(other)
		if t = types.Promote(t, o); t == nil {
			c.failHint(at, "write a probe for each", "%s has the type %s at %s, and %s at %s", what, first, c.places[0].Point.Text, o, pl.Point.Text)
			return types.NoneT
		}
	}
	return t
}

// argument is everywhere for a member of args, which is a struct of its own at each place. Members of other structs are the same.
func (c *checker) argument(x *script.Field, of, member *ctype.Type) *types.Type {
	t := types.FromC(member)
	if len(c.places) < 2 || c.opts.Source == nil {
		return t
	}
	if args, _ := c.argsAt(c.places[0]); args != of {
		return t
	}
	return c.everywhere(x, "args."+x.Name, t, func(pl *script.Place) *ctype.Type {
		args, err := c.argsAt(pl)
		if err != nil || args == nil {
			return nil // the place is left out, with the reason
		}
		f, _, _ := args.CMember(x.Name)
		return f.Type
	})
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
