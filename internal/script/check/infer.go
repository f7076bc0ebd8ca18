package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// infer types the script again and again until no type of a variable or map changes, and once more to report
// what is wrong. Types only grow, so this ends.
func (c *checker) infer(p *Program) {
	c.final = false
	settled := false
	for pass := 0; pass < maxPasses; pass++ {
		c.pass(p)
		if c.changed {
			continue
		}
		if settled = true; !c.defaults() {
			break
		}
		settled = false
	}
	c.final = true
	if !settled {
		c.fail(p.Script, "the types of the script depend on each other over more than %d assignments", maxPasses)
		return
	}
	c.pass(p)
	c.unused()
}

// defaults gives maps that are only read or incremented a type, and reports whether there are any. Maps that a function such
// as sum() updates are the last: their types follow from those of others.
func (c *checker) defaults() bool {
	return c.defaultsOf(false) || c.defaultsOf(true)
}

func (c *checker) defaultsOf(updated bool) bool {
	changed := false
	for _, m := range c.order {
		if m.Value.Kind == types.None && (m.Scalar || m.keyed) && !m.refused && m.updated == updated {
			m.Value, changed = types.Int8, true
		}
	}
	return changed
}

// unused warns of declared maps without use.
func (c *checker) unused() {
	for _, m := range c.order {
		if m.Decl != nil && !m.Scalar && !m.keyed {
			c.warn(m.Decl, "the map %s is not used", m.Name)
		}
		if m.Decl != nil && m.Value.Kind != types.None {
			perCPU := m.Decl.Kind == "percpuhash" || m.Decl.Kind == "percpulruhash"
			if perCPU != m.Value.Aggregated() {
				c.fail(m.Decl, "a %s cannot hold values of type %s", m.Decl.Kind, m.Value)
			}
		}
	}
}

// pass types everything once.
func (c *checker) pass(p *Program) {
	c.changed = false
	clear(c.types)
	clear(c.consts)
	for _, f := range p.Functions {
		c.function(f)
	}
	for _, pr := range p.Probes {
		c.places, c.fn, c.probe = pr.Places, nil, pr
		pr.Vars = nil
		c.scopes = nil
		c.push()
		if pr.Pred != nil {
			c.condition(pr.Pred)
		}
		c.block(pr.Body)
		c.pop()
	}
}

func (c *checker) function(f *script.Function) {
	c.places, c.fn, c.probe = nil, f, &Probe{}
	c.scopes = nil
	c.push()
	for _, param := range f.Params { // their types may name other parameters
		v := c.declare(param.Var.Name, param.Var)
		v.declared, v.set = true, true
	}
	for _, param := range f.Params {
		if t := c.typeRef(param.Type); !types.Same(t, c.vars[param.Var].Type) {
			c.vars[param.Var].Type, c.changed = t, true
		}
	}
	c.block(f.Body)
	if t := c.typeRef(f.Result); !t.Is(types.None, types.Void) && !returns(f.Body) {
		c.fail(f, "the function %s can end without a return, but returns %s", f.Name, t)
	}
	c.pop()
}

// returns reports whether a block always ends with a return.
func returns(b *script.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *script.Jump:
			return s.Word == "return"
		case *script.ExprStmt:
			if x, ok := s.X.(*script.If); ok && x.Else != nil && returns(x.Then) && returnsElse(x.Else) {
				return true
			}
			if x, ok := s.X.(*script.Block); ok && returns(x) {
				return true
			}
		}
	}
	return false
}

func returnsElse(x script.Expr) bool {
	switch x := x.(type) {
	case *script.Block:
		return returns(x)
	case *script.If:
		return x.Else != nil && returns(x.Then) && returnsElse(x.Else)
	}
	return false
}

// place is the first place of the probe; nil in a function.
func (c *checker) place() *script.Place {
	if len(c.places) == 0 {
		return nil
	}
	return c.places[0]
}

func (c *checker) push() { c.scopes = append(c.scopes, map[string]*Variable{}) }

// pop leaves a scope and warns of variables that have no value.
func (c *checker) pop() {
	top := c.scopes[len(c.scopes)-1]
	c.scopes = c.scopes[:len(c.scopes)-1]
	for _, v := range top {
		if !v.set {
			c.warn(v.at, "the variable %s is never assigned", v.Name)
		}
	}
}

func (c *checker) lookup(name string) *Variable {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if v := c.scopes[i][name]; v != nil {
			return v
		}
	}
	return nil
}

// declare makes a variable in the innermost scope. In later passes it is the same variable.
func (c *checker) declare(name string, at script.Node) *Variable {
	v := c.vars[at]
	if v == nil {
		v = &Variable{Name: name, Type: types.NoneT, at: at}
		c.vars[at] = v
	}
	v.set = false
	c.scopes[len(c.scopes)-1][name] = v
	c.probe.Vars = append(c.probe.Vars, v)
	return v
}

// grow makes a type hold values of another type too; it reports whether that is possible.
func (c *checker) grow(t **types.Type, add *types.Type) bool {
	p := types.Promote(*t, add)
	if p == nil {
		return false
	}
	if p.Space == types.Unknown {
		p = p.In((*t).Space)
	}
	if !types.Same(p, *t) || p.Flexible != (*t).Flexible || p.Space != (*t).Space {
		*t, c.changed = p, true
	}
	return true
}
