package sema

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/lang"
)

// Names are what an expression names, each once, in the order of the text. Names of
// jalon's functions (str, this_cpu, ...) and of types are left out. A place that has
// several sets of names chooses by them which one it needs.
type Names struct {
	All     []Name
	Missing []Name // those that mean nothing at the place
}

// Name is a name in an expression.
type Name struct {
	Form NameForm
	Text string // without what belongs to the form
}

// NameForm is how a name is written.
type NameForm uint8

// The forms.
const (
	Bare     NameForm = iota // x: a variable, enumerator or word
	InScope                  // s::x; Text has the scope
	WithSign                 // $x: a word or register
	OfArgs                   // args->x, written with -> or . (args alone is Bare)
)

func (n Name) String() string { return [...]string{WithSign: "$", OfArgs: "args->"}[n.Form] + n.Text }

// HasAny reports whether one of the names is among others.
func HasAny(names, others []Name) bool {
	return slices.ContainsFunc(names, func(n Name) bool { return slices.Contains(others, n) })
}

// CondNames are the names in the condition.
func (in *Input) CondNames() Names {
	n := newNamer(in)
	if in.Cond != nil {
		n.c.from, n.c.inCond = in.Cond.From, true
		n.expr(in.Cond.X)
	}
	return n.Names
}

// CollectNames are the names in the collect list.
func (in *Input) CollectNames() Names {
	n := newNamer(in)
	for _, it := range in.Collect {
		n.c.from = it.From
		if r, ok := it.X.(*lang.Reg); ok && n.c.itemWord(r.Name) != nil {
			n.add(Name{WithSign, r.Name}, func() { n.c.item(it) })
			continue
		}
		n.expr(it.X)
	}
	return n.Names
}

type namer struct {
	Names
	c    *collector
	seen map[Name]bool
}

func newNamer(in *Input) *namer {
	return &namer{c: &collector{newChecker(withDefaults(in))}, seen: map[Name]bool{}}
}

// add notes a name; check fails where it means nothing.
func (n *namer) add(name Name, check func()) {
	if n.seen[name] {
		return
	}
	n.seen[name] = true
	n.All = append(n.All, name)
	if n.c.try(check) != nil {
		n.Missing = append(n.Missing, name)
	}
}

// leaf notes a name that is an expression by itself.
func (n *namer) leaf(name Name, x lang.Expr) { n.add(name, func() { n.c.expr(x) }) }

// expr notes the names in an expression whose structure is not decided yet.
func (n *namer) expr(x lang.Expr) {
	_ = n.c.try(func() { x = n.c.decide(x) }) // other errors are reported later
	n.walk(x)
}

func (n *namer) walk(list ...lang.Expr) {
	for _, x := range list {
		n.one(x)
	}
}

func (n *namer) one(x lang.Expr) {
	switch x := x.(type) {
	case *lang.Ident:
		n.leaf(Name{Bare, x.Name}, x)
	case *lang.Scoped:
		n.leaf(Name{InScope, x.Scope + "::" + x.Name}, x)
	case *lang.Reg:
		n.leaf(Name{WithSign, x.Name}, x)
	case *lang.Member:
		if id, ok := x.X.(*lang.Ident); ok && id.Name == "args" {
			n.leaf(Name{OfArgs, x.Name}, x)
			return
		}
		n.walk(x.X)
	case *lang.Unary:
		n.walk(x.X)
	case *lang.Binary:
		n.walk(x.X, x.Y)
	case *lang.Cond:
		n.walk(x.C, x.T, x.F)
	case *lang.Cast:
		n.walk(x.X)
	case *lang.Sizeof:
		n.walk(x.X)
	case *lang.Index:
		n.walk(x.X, x.I)
	case *lang.Repeat:
		n.walk(x.X, x.N)
	case *lang.Assign:
		n.walk(x.X, x.Y)
	case *lang.Call:
		if id, ok := x.Fn.(*lang.Ident); !ok {
			n.walk(x.Fn)
		} else if b := builtinByName[id.Name]; b != nil && b.Form == Function {
			outer := n.c.cpu
			n.c.cpu = &cpuOf{} // per-CPU variables are meant there
			defer func() { n.c.cpu = outer }()
		}
		n.walk(x.Args...)
	}
}
