package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Dump writes a tree as text, one node a line, indented by its depth. note, if not nil, returns text to add to
// the line of a node.
func Dump(n Node, note func(Node) string) string {
	var b strings.Builder
	dump(&b, n, 0, note)
	return b.String()
}

func dump(b *strings.Builder, n Node, depth int, note func(Node) string) {
	b.WriteString(strings.Repeat(" ", depth))
	b.WriteString(label(n))
	if note != nil {
		if s := note(n); s != "" {
			b.WriteString(" :: " + s)
		}
	}
	b.WriteByte('\n')
	for _, c := range Children(n) {
		dump(b, c, depth+1, note)
	}
}

// label is the text of a node without its parts.
func label(n Node) string {
	switch n := n.(type) {
	case *Script:
		return "script"
	case *Directive:
		return "#" + n.Word + " " + n.Text
	case *Definition:
		return n.Tag + " " + n.Name
	case *Config:
		return "config"
	case *Setting:
		return n.Key + " ="
	case *Import:
		return "import " + strconv.Quote(n.Path)
	case *Probe:
		return "probe"
	case *Point:
		return n.Text
	case *Macro:
		return "macro " + n.Name
	case *Function:
		return "fn " + n.Name
	case *Param:
		return "param"
	case *MapDecl:
		return fmt.Sprintf("let %s = %s(%d)", n.Name, n.Kind, n.Max)
	case *Type:
		return "type " + n.String()
	case Stmt:
		return stmtLabel(n)
	case Expr:
		return exprLabel(n)
	}
	return fmt.Sprintf("%T", n)
}

func stmtLabel(n Stmt) string {
	switch n := n.(type) {
	case *Let:
		return "let"
	case *Assign:
		return n.Op + "="
	case *Discard:
		return "_ ="
	case *While:
		return "while"
	case *Unroll:
		return "unroll"
	case *For:
		return "for"
	case *Jump:
		return n.Word
	}
	return "expression"
}

func exprLabel(n Expr) string {
	switch n := n.(type) {
	case *Ident:
		return "name " + n.Name
	case *Int:
		return "int " + strconv.FormatUint(n.Value, 10)
	case *Float:
		return "float " + strconv.FormatFloat(n.Value, 'g', -1, 64)
	case *Bool:
		return "bool " + strconv.FormatBool(n.Value)
	case *String:
		return "string " + quote(n.Value)
	case *Var:
		return "variable " + n.Name
	case *Map:
		return "map " + n.Name
	case *Element:
		return "element"
	case *Positional:
		return "$" + strconv.Itoa(n.N)
	case *PositionalCount:
		return "$#"
	case *Call:
		return "call " + n.Name
	case *TypeOf:
		return "typeof"
	case *Sizeof:
		return "sizeof"
	case *Offsetof:
		return "offsetof " + strings.Join(n.Fields, ".")
	case *Typeinfo:
		return "typeinfo"
	case *Comptime:
		return "comptime"
	case *Field:
		return "field " + n.Name
	case *TupleField:
		return "field " + strconv.Itoa(n.N)
	}
	return operatorLabel(n)
}

func operatorLabel(n Expr) string {
	switch n := n.(type) {
	case *Unary:
		return "unary " + n.Op
	case *Step:
		if n.Prefix {
			return n.Op + " before"
		}
		return n.Op + " after"
	case *Addr:
		return "address"
	case *Binary:
		return n.Op
	case *Cond:
		return "?:"
	case *If:
		return "if"
	case *Block:
		return "block"
	case *Tuple:
		return "tuple"
	case *Record:
		return "record " + strings.Join(n.Names, " ")
	case *Index:
		return "[]"
	case *Cast:
		return "cast"
	}
	return fmt.Sprintf("%T", n)
}

// String is the type as the language writes it.
func (t *Type) String() string {
	var b strings.Builder
	if t.Tag != "" {
		b.WriteString(t.Tag + " ")
	}
	b.WriteString(t.Name)
	for _, s := range t.Suffixes {
		switch {
		case s.Pointer:
			b.WriteByte('*')
		case s.Size == 0:
			b.WriteString("[]")
		default:
			fmt.Fprintf(&b, "[%d]", s.Size)
		}
	}
	return b.String()
}

// quote writes a string literal of the language.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
