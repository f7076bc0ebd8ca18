package check

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
)

// expander replaces calls of macros by their bodies, and names of #define by their values.
type expander struct {
	*checker
	stack []*script.Macro
	count int // of expansions: it makes names of variables unique
	nodes int
	over  bool
	// from is the call whose expansion is being copied; expanded is Program.Expanded.
	from     script.Expr
	expanded map[*script.Call]script.Expr
}

// maxNodes bounds the operations that all calls of macros expand to.
const maxNodes = 300_000

func (c *checker) macro(m *script.Macro) {
	names := map[string]bool{}
	for _, a := range m.Args {
		name := argName(a)
		if names[name] {
			c.fail(a, "the macro has two arguments %s", name)
		}
		names[name] = true
	}
	for _, other := range c.macros[m.Name] {
		if signature(other) == signature(m) {
			c.fail(m, "the macro %s is defined twice with the same arguments", m.Name)
		}
	}
	c.macros[m.Name] = append(c.macros[m.Name], m)
}

// argName is the name of an argument of a macro.
func argName(a script.Expr) string {
	switch a := a.(type) {
	case *script.Var:
		return a.Name
	case *script.Map:
		return a.Name
	case *script.Ident:
		return a.Name
	}
	panic(fmt.Sprintf("BUG: argument %T of a macro", a))
}

// signature has a character for each argument.
func signature(m *script.Macro) string {
	var b strings.Builder
	for _, a := range m.Args {
		b.WriteByte(argName(a)[0] & 0x7f)
	}
	s := b.String()
	return strings.Map(func(r rune) rune {
		if r == '$' || r == '@' {
			return r
		}
		return 'x'
	}, s)
}

// expr expands an expression, block a block.
func (x *expander) expr(e script.Expr) script.Expr {
	if e == nil {
		return nil
	}
	c := &script.Copier{}
	c.Expr = func(e script.Expr) script.Expr { return x.replace(c, e) }
	return c.Copy(e)
}

func (x *expander) block(b *script.Block) *script.Block {
	c := &script.Copier{}
	c.Expr = func(e script.Expr) script.Expr { return x.replace(c, e) }
	return c.Block(b)
}

// used counts the nodes of a copy.
func (x *expander) used(c *script.Copier, at script.Node) {
	if x.nodes += c.Nodes; x.nodes > maxNodes && !x.over {
		x.over = true
		x.fail(at, "the macros expand to more than %d operations", maxNodes)
	}
}

// replace returns what takes the place of a call of a macro or a defined name, or nil.
func (x *expander) replace(c *script.Copier, e script.Expr) script.Expr {
	if x.over {
		return nil
	}
	switch e := e.(type) {
	case *script.Ident:
		if len(x.macros[e.Name]) > 0 {
			return x.call(e, e.Name, nil)
		}
		if d := x.env.defines[e.Name]; d != nil {
			return x.defined(e, d)
		}
	case *script.Call:
		if len(x.macros[e.Name]) > 0 {
			args := make([]script.Expr, len(e.Args))
			for i, a := range e.Args {
				args[i] = c.Copy(a)
			}
			return x.call(e, e.Name, args)
		}
	}
	return nil
}

// defined returns the value of a name of #define.
func (x *expander) defined(e *script.Ident, d *define) script.Expr {
	switch {
	case d.text == e.Name:
		return nil
	case d.open:
		x.fail(e, "the definition of %s contains %s itself", e.Name, e.Name)
		return nil
	case d.expr == nil:
		x.fail(e, "%s is defined as %q, which is not an expression", e.Name, d.text)
		return nil
	}
	d.open = true
	defer func() { d.open = false }()
	return x.expr(d.expr)
}

// call expands a call of a macro. No match is left to the functions of the language with this name.
func (x *expander) call(at script.Expr, name string, args []script.Expr) script.Expr {
	m := match(x.macros[name], args)
	if m == nil {
		if builtin(name) {
			return nil
		}
		x.mismatch(at, name, args)
		return nil
	}
	for _, s := range x.stack {
		if s == m {
			x.fail(at, "the macro %s calls itself", name)
			return nil
		}
	}
	x.stack = append(x.stack, m)
	defer func() { x.stack = x.stack[:len(x.stack)-1] }()
	if call, ok := at.(*script.Call); ok { // each expansion is one of its own
		own := *call
		if at = &own; x.from != nil {
			x.expanded[&own] = x.from
		}
	}
	outer := x.from
	x.from = at
	defer func() { x.from = outer }()
	return x.body(at, m, args)
}

// match returns the macro whose arguments fit best: as many variables and maps as possible.
func match(macros []*script.Macro, args []script.Expr) *script.Macro {
	var best *script.Macro
	rank := -1
	for _, m := range macros {
		if len(m.Args) != len(args) {
			continue
		}
		r, ok := 0, true
		for i, a := range m.Args {
			switch a.(type) {
			case *script.Var:
				_, is := args[i].(*script.Var)
				ok = ok && is
				r++
			case *script.Map:
				_, is := args[i].(*script.Map)
				ok = ok && is
				r++
			}
		}
		if ok && r > rank {
			best, rank = m, r
		}
	}
	return best
}

// mismatch reports that no macro fits.
func (x *expander) mismatch(at script.Expr, name string, args []script.Expr) {
	var forms []string
	for _, m := range x.macros[name] {
		params := make([]string, len(m.Args))
		for i, a := range m.Args {
			params[i] = argName(a)
		}
		forms = append(forms, name+"("+strings.Join(params, ", ")+")")
	}
	x.failHint(at, "the definitions are "+strings.Join(forms, " and "), "the arguments of %s do not fit any definition of the macro", name)
}

// body copies the body of a macro: its own variables get names that nothing else has, arguments are replaced.
func (x *expander) body(at script.Expr, m *script.Macro, args []script.Expr) script.Expr {
	x.count++
	suffix := fmt.Sprintf(".%d", x.count)
	rename := map[string]string{}
	exprs := map[string]script.Expr{}
	typed := map[string]*script.TypeOf{}
	for i, a := range m.Args {
		switch a := a.(type) {
		case *script.Var:
			rename[a.Name] = args[i].(*script.Var).Name
		case *script.Map:
			rename[a.Name] = args[i].(*script.Map).Name
		case *script.Ident:
			if t, ok := args[i].(*script.TypeOf); ok {
				typed[a.Name] = t
			}
			exprs[a.Name] = args[i]
		}
	}
	c := &script.Copier{}
	c.Var = func(name string, _ script.Node) string {
		if to, ok := rename[name]; ok {
			return to
		}
		return name + suffix
	}
	c.Map = func(name string, at script.Node) string {
		to, ok := rename[name]
		if !ok {
			x.failHint(at, "pass it as an argument", "the macro %s uses the map %s, which is not one of its arguments", m.Name, name)
		}
		return to
	}
	c.Type = func(t *script.Type) *script.TypeOf { return substitute(t, typed) }
	c.Expr = func(e script.Expr) script.Expr {
		if id, ok := e.(*script.Ident); ok && exprs[id.Name] != nil {
			plain := &script.Copier{} // the argument's names are the caller's
			defer x.used(plain, e)
			return plain.Copy(exprs[id.Name])
		}
		return x.replace(c, e)
	}
	defer x.used(c, m)
	body := c.Block(m.Body)
	x.expansion(at, body)
	return body
}

// expansion notes for the calls of a macro's body where the macro was called. Those of macros in it have that already.
func (x *expander) expansion(at script.Expr, body *script.Block) {
	script.Walk(body, func(n script.Node) bool {
		if call, ok := n.(*script.Call); ok && x.expanded[call] == nil {
			x.expanded[call] = at
		}
		return true
	})
}

// substitute replaces the name of a type that is an argument of a macro.
func substitute(t *script.Type, typed map[string]*script.TypeOf) *script.TypeOf {
	arg := typed[t.Name]
	if arg == nil {
		return nil
	}
	if arg.Type == nil {
		return arg
	}
	whole := *arg.Type
	whole.Suffixes = append(append([]script.Suffix{}, arg.Type.Suffixes...), t.Suffixes...)
	to := *arg
	to.Type = &whole
	return &to
}
