package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// checker turns syntax trees into typed trees. It goes down the tree, and leaves the rest to
// its parts, which know nothing of syntax below an operand:
//
//	report       diagnostics
//	site         what can be read at the place
//	conversions  C's conversions
//	classes      C++'s base classes
//	operators    C's operators on values
//	lookup       names
//	members      members and elements
//	containers   elements of the languages' own containers
type checker struct {
	*site
	*conversions
	*classes
	*operators
	*lookup
	*members
	*containers
	*arrays
	inCond        bool
	keptVariables map[string]int // lang.Collect.Kept of the item
}

func newChecker(in *Input) *checker {
	c := &checker{site: &site{report: &report{}, in: in, pairs: &pairs{}}}
	c.conversions = &conversions{c.site}
	c.classes = &classes{c.site, c.conversions}
	c.operators = &operators{c.site, c.conversions, c.classes}
	c.lookup = &lookup{c.site, c.conversions, c.classes}
	c.members = &members{c.site, c.conversions, c.classes, c.operators, c.lookup}
	c.containers = &containers{c.site, c.conversions, c.classes, c.lookup}
	c.arrays = &arrays{c.site, c.conversions, c.lookup, map[*deref]*grid{}}
	return c
}

// condition checks a controlling expression.
func (c *checker) condition(x lang.Expr) expr {
	e := c.truth(c.expr(x))
	if v, ok := constInt(e); ok {
		word := "true"
		if v == 0 {
			word = "false"
		}
		c.warn(e.Span(), "the condition is always "+word, "")
	}
	return e
}

// expr checks x and gives an lvalue or a value, without lvalue conversion.
func (c *checker) expr(x lang.Expr) expr {
	switch x := x.(type) {
	case *lang.Ident:
		return c.ident(x)
	case *lang.Scoped:
		return c.scoped(x)
	case *lang.Reg:
		return c.reg(x)
	case *lang.IntLit:
		return c.intLit(x)
	case *lang.FloatLit:
		c.noFloat(x.Span())
		return floatLit(x)
	case *lang.CharLit:
		return c.charLit(x)
	case *lang.StringLit:
		return &strLit{typed{ctype.ArrayOf(ctype.CharT, int64(len(x.Value))+1), x.Span()}, x.Value}
	case *lang.Unary:
		return c.unary(x)
	case *lang.Binary:
		return c.binary(x)
	case *lang.Cond:
		return c.cond(x)
	case *lang.Cast:
		return c.cast(x)
	case *lang.Sizeof:
		return c.sizeof(x)
	case *lang.Index:
		return c.index(x)
	case *lang.Member:
		return c.member(x)
	case *lang.Repeat:
		return c.repeat(x)
	case *lang.Call:
		return c.call(x)
	case *lang.Assign:
		return c.assign(x)
	case nil:
		panic("BUG: sema: nil expression")
	}
	panic(fmt.Sprintf("BUG: sema: no rule for %T", x))
}

// value checks x and converts it to a value.
func (c *checker) value(x lang.Expr) expr { return c.rvalue(c.expr(x)) }
