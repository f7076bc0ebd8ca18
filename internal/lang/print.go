package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// String prints an expression with parentheses around every operation, which shows its structure. Parsing the
// result gives the same tree.
func String(e Expr) string {
	var b strings.Builder
	printExpr(&b, e)
	return b.String()
}

func printExpr(b *strings.Builder, e Expr) {
	switch e := e.(type) {
	case *Ident:
		if _, refused := refusedWords[e.Name]; refused {
			b.WriteString("(" + e.Name + ")") // a plain name only when nothing follows it
			return
		}
		if identLen(e.Name) != len(e.Name) { // 'example.com/sub.x'
			b.WriteString("'" + e.Name + "'")
			return
		}
		b.WriteString(e.Name)
	case *Scoped:
		b.WriteString(quoteScope(e.Scope) + "::" + e.Name)
	case *Reg:
		b.WriteString("$" + e.Name)
	case *IntLit:
		printInt(b, e)
	case *FloatLit:
		printFloat(b, e)
	case *CharLit:
		b.WriteString("'" + escapeByte(byte(e.Value), '\'') + "'")
	case *StringLit:
		printString(b, e.Value)
	case *Unary:
		printAll(b, "(", e.Op, e.X, ")")
	case *Binary:
		printAll(b, "(", e.X, " ", e.Op, " ", e.Y, ")")
	case *Repeat:
		printAll(b, "(", e.X, " @ ", e.N, ")")
	case *Cond:
		printAll(b, "(", e.C, " ? ", e.T, " : ", e.F, ")")
	case *Cast:
		if e.Op != "" {
			printAll(b, e.Op, "<", e.Type.String(), ">(", e.X, ")")
			return
		}
		printAll(b, "((", e.Type.String(), ")", e.X, ")")
	case *Sizeof:
		if e.Type != nil {
			printAll(b, "(sizeof(", e.Type.String(), "))")
		} else {
			printAll(b, "(sizeof(", e.X, "))")
		}
	case *Index:
		printOperand(b, e.X)
		printAll(b, "[", e.I, "]")
	case *Member:
		printOperand(b, e.X)
		if e.Arrow {
			b.WriteString("->" + e.Name)
		} else {
			b.WriteString("." + e.Name)
		}
	case *Call:
		printOperand(b, e.Fn)
		b.WriteByte('(')
		for i, a := range e.Args {
			if i > 0 {
				b.WriteString(", ")
			}
			printExpr(b, a)
		}
		b.WriteByte(')')
	case *Assign:
		if e.Y == nil {
			printAll(b, "(", e.X, e.Op, ")")
		} else {
			printAll(b, "(", e.X, " ", e.Op, " ", e.Y, ")")
		}
	case *Maybe:
		printAll(b, "(", e.X, ")")
	case *Open:
		for _, o := range e.row {
			switch {
			case o.mid != nil:
				printAll(b, " ? ", o.mid, " : ")
			case o.op.text != "":
				printAll(b, " ", o.op.text, " ")
			}
			printExpr(b, o.x)
		}
	default:
		panic(fmt.Sprintf("BUG: no text form for %T", e))
	}
}

// printAll prints strings unchanged, and expressions by print.
func printAll(b *strings.Builder, parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case Expr:
			printExpr(b, p)
		}
	}
}

// printOperand prints the operand of a postfix operator. A number needs parentheses, or the dot would be part
// of it.
func printOperand(b *strings.Builder, e Expr) {
	switch e.(type) {
	case *IntLit, *FloatLit:
		printAll(b, "(", e, ")")
	default:
		printExpr(b, e)
	}
}

func printInt(b *strings.Builder, e *IntLit) {
	switch {
	case e.Decimal || e.Value == 0:
		b.WriteString(strconv.FormatUint(e.Value, 10))
	default:
		b.WriteString("0x" + strconv.FormatUint(e.Value, 16))
	}
	if e.Unsigned {
		b.WriteByte('u')
	}
	b.WriteString(strings.Repeat("l", e.Long))
}

func printFloat(b *strings.Builder, e *FloatLit) {
	bits := 64
	if e.Float {
		bits = 32
	}
	s := strconv.FormatFloat(e.Value, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	b.WriteString(s)
	switch {
	case e.Float:
		b.WriteByte('f')
	case e.Long:
		b.WriteByte('l')
	}
}

func printString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		b.WriteString(escapeByte(s[i], '"'))
	}
	b.WriteByte('"')
}

// escapeByte writes one byte inside quotes. Numbers have three octal digits, so they need no terminator.
func escapeByte(c, quote byte) string {
	switch {
	case c == quote || c == '\\':
		return "\\" + string(rune(c))
	case c == '\n':
		return `\n`
	case c == '\t':
		return `\t`
	case c < ' ' || c > '~':
		return fmt.Sprintf("\\%03o", c)
	}
	return string(rune(c))
}

// quoteScope puts quotes around a scope that does not consist of names and "::".
func quoteScope(scope string) string {
	if scope == "" {
		return ""
	}
	for _, part := range strings.Split(scope, "::") {
		if part == "" || identLen(part) != len(part) || baseWords[part] || qualifiers[part] || tagWords[part] || part == "sizeof" {
			return "'" + scope + "'"
		}
	}
	return scope
}

// String prints the type as C writes it: "unsigned long", "struct req *", "int (*)(char *)".
func (ty *TypeName) String() string {
	decl := ""
	for i := len(ty.Derive) - 1; i >= 0; i-- {
		d := ty.Derive[i]
		if d.Pointer {
			decl = "*" + decl
			continue
		}
		if strings.HasPrefix(decl, "*") {
			decl = "(" + decl + ")"
		}
		switch {
		case d.Func:
			decl += "(" + d.params() + ")"
		case d.Array < 0:
			decl += "[]"
		default:
			decl += "[" + strconv.FormatInt(d.Array, 10) + "]"
		}
	}
	name := ty.Name
	if ty.Tag != "" {
		name = ty.Tag + " " + name
	}
	if decl == "" || decl[0] == '[' {
		return name + decl
	}
	return name + " " + decl
}

func (d Derivation) params() string {
	var all []string
	for _, p := range d.Params {
		all = append(all, p.String())
	}
	if d.Variadic {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}
