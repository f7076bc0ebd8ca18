package script

// Children returns the parts of a node in the order of the text, without nil.
func Children(n Node) []Node {
	var out []Node
	add := func(parts ...Node) {
		for _, part := range parts {
			if !absent(part) {
				out = append(out, part)
			}
		}
	}
	switch n := n.(type) {
	case *Script:
		for _, c := range n.C {
			add(c)
		}
		if n.Config != nil {
			add(n.Config)
		}
		add(nodes(n.Imports)...)
		add(nodes(n.Items)...)
	case *Config:
		add(nodes(n.Settings)...)
	case *Setting:
		add(n.Value)
	case *Probe:
		add(nodes(n.Points)...)
		add(n.Predicate, n.Body)
	case *Macro:
		add(nodes(n.Args)...)
		add(n.Body)
	case *Function:
		add(nodes(n.Params)...)
		add(n.Result, n.Body)
	case *Param:
		add(n.Var, n.Type)
	case Stmt:
		statementParts(n, add)
	case Expr:
		exprParts(n, add)
	}
	return out
}

func statementParts(n Stmt, add func(...Node)) {
	switch n := n.(type) {
	case *ExprStmt:
		add(n.X)
	case *Let:
		add(n.Var)
		if n.Type != nil {
			add(n.Type)
		}
		add(n.Value)
	case *Assign:
		add(n.Target, n.Value)
	case *Discard:
		add(n.X)
	case *While:
		add(n.Cond, n.Body)
	case *Unroll:
		add(n.Count, n.Body)
	case *For:
		add(n.Var)
		if n.Map != nil {
			add(n.Map)
		}
		add(n.From, n.To, n.Body)
	case *Jump:
		add(n.Value)
	}
}

func exprParts(n Expr, add func(...Node)) {
	switch n := n.(type) {
	case *Element:
		add(n.Map, n.Key)
	case *Call:
		add(nodes(n.Args)...)
	case *TypeOf:
		if n.Type != nil {
			add(n.Type)
		}
		add(n.X)
	case *Sizeof:
		add(n.Of)
	case *Offsetof:
		add(n.Of)
	case *Typeinfo:
		add(n.Of)
	case *Comptime:
		add(n.X)
	case *Unary:
		add(n.X)
	case *Step:
		add(n.X)
	case *Addr:
		add(n.X)
	case *Binary:
		add(n.X, n.Y)
	case *Cond:
		add(n.C, n.T, n.F)
	case *If:
		add(n.Cond, n.Then, n.Else)
	case *Block:
		add(nodes(n.Stmts)...)
		add(n.Value)
	case *Tuple:
		add(nodes(n.Elems)...)
	case *Record:
		add(nodes(n.Values)...)
	case *Field:
		add(n.X)
	case *TupleField:
		add(n.X)
	case *Index:
		add(n.X, n.I)
	case *Cast:
		add(n.Type, n.X)
	}
}

// absent reports nil, also as an interface of a nil pointer of the types that are optional parts.
func absent(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *Block:
		return n == nil
	case *TypeOf:
		return n == nil
	}
	return false
}

// Walk calls f for n and, if f returns true, for all its parts.
func Walk(n Node, f func(Node) bool) {
	if absent(n) || !f(n) {
		return
	}
	for _, c := range Children(n) {
		Walk(c, f)
	}
}
