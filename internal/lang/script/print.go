package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Print writes a script as text of the language with all parentheses. Parsing it gives the same tree.
func Print(s *Script) string {
	p := &printer{}
	if s.Shebang != "" {
		p.line("%s", s.Shebang)
	}
	for _, c := range s.C {
		p.cpart(c)
	}
	if s.Config != nil {
		p.line("config = {")
		for _, set := range s.Config.Settings {
			p.line("\t%s = %s;", set.Key, p.value(set.Value))
		}
		p.line("}")
	}
	for _, im := range s.Imports {
		p.line("import %s;", quote(im.Path))
	}
	for _, it := range s.Items {
		p.item(it)
	}
	return p.b.String()
}

// PrintExpr writes an expression.
func PrintExpr(x Expr) string { return (&printer{}).value(x) }

type printer struct {
	b     strings.Builder
	depth int
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat("\t", p.depth))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

// cpart prints C text as it is written: its positions are in its file.
func (p *printer) cpart(c CPart) {
	s := c.Span()
	p.line("%s", c.File().Text[s.Lo:s.Hi])
}

func (p *printer) item(it Item) {
	switch it := it.(type) {
	case *Probe:
		points := make([]string, len(it.Points))
		for i, pt := range it.Points {
			points[i] = pt.Text
		}
		p.line("%s", strings.Join(points, ",\n"))
		if it.Predicate != nil {
			p.line("/ %s /", p.value(it.Predicate))
		}
		p.line("%s", p.block(it.Body))
	case *Macro:
		args := make([]string, len(it.Args))
		for i, a := range it.Args {
			args[i] = p.value(a)
		}
		p.line("macro %s(%s) %s", it.Name, strings.Join(args, ", "), p.block(it.Body))
	case *Function:
		params := make([]string, len(it.Params))
		for i, a := range it.Params {
			params[i] = a.Var.Name + " : " + p.typeOf(a.Type)
		}
		p.line("fn %s(%s) : %s %s", it.Name, strings.Join(params, ", "), p.typeOf(it.Result), p.block(it.Body))
	case *MapDecl:
		p.line("let %s = %s(%d);", it.Name, it.Kind, it.Max)
	}
}

// block prints a block; its lines are indented by one more than the current depth.
func (p *printer) block(b *Block) string {
	in := &printer{depth: p.depth + 1}
	for _, s := range b.Stmts {
		in.line("%s", in.stmt(s))
	}
	if b.Value != nil {
		in.line("%s", in.value(b.Value))
	}
	return "{\n" + in.b.String() + strings.Repeat("\t", p.depth) + "}"
}

func (p *printer) stmt(s Stmt) string {
	switch s := s.(type) {
	case *ExprStmt:
		return p.value(s.X) + ";"
	case *Let:
		text := "let " + s.Var.Name
		if s.Type != nil {
			text += " : " + p.typeOf(s.Type)
		}
		if s.Value != nil {
			text += " = " + p.value(s.Value)
		}
		return text + ";"
	case *Assign:
		return p.value(s.Target) + " " + s.Op + "= " + p.value(s.Value) + ";"
	case *Discard:
		return "_ = " + p.value(s.X) + ";"
	case *Import:
		return "import " + quote(s.Path) + ";"
	case *While:
		return "while (" + p.value(s.Cond) + ") " + p.block(s.Body)
	case *Unroll:
		return "unroll (" + p.value(s.Count) + ") " + p.block(s.Body)
	case *For:
		over := ""
		if s.Map != nil {
			over = s.Map.Name
		} else {
			over = p.value(s.From) + ".." + p.value(s.To)
		}
		return "for (" + s.Var.Name + " : " + over + ") " + p.block(s.Body)
	case *Jump:
		if s.Value != nil {
			return s.Word + " " + p.value(s.Value) + ";"
		}
		return s.Word + ";"
	}
	return ""
}

func (p *printer) typeOf(t *TypeOf) string {
	text := ""
	if t.Type != nil {
		text = t.Type.String()
	} else {
		text = p.value(t.X)
	}
	if t.Written {
		return "typeof(" + text + ")"
	}
	return text
}

func (p *printer) list(xs []Expr) string {
	out := make([]string, len(xs))
	for i, x := range xs {
		out[i] = p.value(x)
	}
	return strings.Join(out, ", ")
}

// value prints an expression; operations are in parentheses.
func (p *printer) value(x Expr) string {
	switch x := x.(type) {
	case *Ident:
		return x.Name
	case *Int:
		return x.Text
	case *Float:
		return strconv.FormatFloat(x.Value, 'f', -1, 64) + map[bool]string{true: ".0"}[x.Value == float64(int64(x.Value))]
	case *Bool:
		return strconv.FormatBool(x.Value)
	case *String:
		if x.Bare {
			return x.Value
		}
		return quote(x.Value)
	case *Var:
		return x.Name
	case *Map:
		return x.Name
	case *Element:
		if t, ok := x.Key.(*Tuple); ok && len(t.Elems) > 1 {
			return x.Map.Name + "[" + p.list(t.Elems) + "]"
		}
		return x.Map.Name + "[" + p.value(x.Key) + "]"
	case *Positional:
		return "$" + strconv.Itoa(x.N)
	case *PositionalCount:
		return "$#"
	case *Call:
		return x.Name + "(" + p.list(x.Args) + ")"
	case *TypeOf:
		return p.typeOf(x)
	case *Sizeof:
		return "sizeof(" + p.typeOf(x.Of) + ")"
	case *Typeinfo:
		return "typeinfo(" + p.typeOf(x.Of) + ")"
	case *Offsetof:
		return "offsetof(" + p.typeOf(x.Of) + ", " + strings.Join(x.Fields, ".") + ")"
	}
	return p.operation(x)
}

func (p *printer) operation(x Expr) string {
	switch x := x.(type) {
	case *Comptime:
		return "(comptime " + p.value(x.X) + ")"
	case *Unary:
		return "(" + x.Op + p.value(x.X) + ")"
	case *Step:
		if x.Prefix {
			return x.Op + p.value(x.X)
		}
		return p.value(x.X) + x.Op
	case *Addr:
		return "(&" + p.value(x.X) + ")"
	case *Binary:
		return "(" + p.value(x.X) + " " + x.Op + " " + p.value(x.Y) + ")"
	case *Cond:
		if x.T == nil {
			return "(" + p.value(x.C) + " ?: " + p.value(x.F) + ")"
		}
		return "(" + p.value(x.C) + " ? " + p.value(x.T) + " : " + p.value(x.F) + ")"
	case *If:
		text := "if (" + p.value(x.Cond) + ") " + p.block(x.Then)
		if x.Else != nil {
			text += " else " + p.value(x.Else)
		}
		return text
	case *Block:
		return p.block(x)
	case *Tuple:
		if len(x.Elems) == 1 {
			return "(" + p.value(x.Elems[0]) + ",)"
		}
		return "(" + p.list(x.Elems) + ")"
	case *Record:
		fields := make([]string, len(x.Values))
		for i, v := range x.Values {
			fields[i] = x.Names[i] + " = " + p.value(v)
		}
		return "(" + strings.Join(fields, ", ") + ")"
	case *Field:
		return p.operand(x.X) + "." + x.Name
	case *TupleField:
		return p.operand(x.X) + "." + strconv.Itoa(x.N)
	case *Index:
		return p.operand(x.X) + "[" + p.value(x.I) + "]"
	case *Cast:
		return "((" + p.typeOf(x.Type) + ")" + p.value(x.X) + ")"
	}
	return ""
}

// operand prints an expression before a postfix operator.
func (p *printer) operand(x Expr) string {
	switch x.(type) {
	case *Map, *If, *Block, *Int, *Float:
		return "(" + p.value(x) + ")"
	}
	return p.value(x)
}
