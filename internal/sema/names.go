package sema

import "github.com/jalon-trace/jalon/internal/lang"

// Names lists what an expression names, each once, in the order of the text:
//
//	x         a bare identifier: a variable, enumerator or word
//	args->m   member m of args, written with -> or . (args alone: "args")
//	$w        a word or register
//	s::x      a name of another scope
//
// Names of jalon's functions (str, this_cpu, ...) and of types are left out. A
// place that has several sets of names chooses by them which one it needs.
func Names(x lang.Expr) []string {
	n := &namer{seen: map[string]bool{}}
	n.walk(x)
	return n.list
}

type namer struct {
	list []string
	seen map[string]bool
}

func (n *namer) add(name string) {
	if !n.seen[name] {
		n.seen[name] = true
		n.list = append(n.list, name)
	}
}

func (n *namer) walk(list ...lang.Expr) {
	for _, x := range list {
		n.one(x)
	}
}

func (n *namer) one(x lang.Expr) {
	switch x := x.(type) {
	case *lang.Ident:
		n.add(x.Name)
	case *lang.Scoped:
		n.add(x.Scope + "::" + x.Name)
	case *lang.Reg:
		n.add("$" + x.Name)
	case *lang.Member:
		if id, ok := x.X.(*lang.Ident); ok && id.Name == "args" {
			n.add("args->" + x.Name)
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
		if _, ok := x.Fn.(*lang.Ident); !ok {
			n.walk(x.Fn)
		}
		n.walk(x.Args...)
	}
}
