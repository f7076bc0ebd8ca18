package printk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// maxDepth limits the nesting of expressions. In the kernel the maximum is 20.
const maxDepth = 256

// parser reads C's expressions by precedence.
type parser struct {
	toks   []token
	i      int
	depth  int
	fields []tracefs.Field
	// locals are the variables of the enclosing statement expressions.
	locals []string
}

// Parse parses a print format whose arguments use the given fields (tracefs.Event's PrintFmt and Fields). The
// error has the position.
func Parse(printFmt string, fields []tracefs.Field) (*Format, error) {
	toks, err := lex(printFmt)
	if err != nil {
		return nil, fmt.Errorf("print fmt: %w", err)
	}
	p := &parser{toks: toks, fields: fields}
	f, err := p.format()
	if err != nil {
		return nil, fmt.Errorf("print fmt: at offset %d: %w", p.peek().pos, err)
	}
	return f, nil
}

// format is: STRING { , EXPRESSION }.
func (p *parser) format() (*Format, error) {
	text := p.peek()
	if text.kind != tokString {
		return nil, errors.New("no format string")
	}
	p.i++
	f := &Format{tmpl: parseTemplate(text.text)}
	for p.accept(",") {
		n, err := p.assign()
		if err != nil {
			return nil, err
		}
		f.args = append(f.args, n)
	}
	if p.peek().kind != tokEnd {
		return nil, fmt.Errorf("unexpected %q", p.peek().text)
	}
	return f, nil
}

func (p *parser) peek() *token { return &p.toks[p.i] }

func (p *parser) is(punct string) bool {
	t := p.peek()
	return t.kind == tokPunct && t.text == punct
}

func (p *parser) accept(punct string) bool {
	if p.is(punct) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(punct string) error {
	if !p.accept(punct) {
		return fmt.Errorf("%q expected", punct)
	}
	return nil
}

// comma is an expression with C's comma operator: the last one is the value.
func (p *parser) comma() (node, error) {
	n, err := p.assign()
	for err == nil && p.accept(",") {
		var next node
		if next, err = p.assign(); err == nil {
			n = &statements{list: []node{n, next}}
		}
	}
	return n, err
}

// assign is: CONDITIONAL [ = ASSIGN ].
func (p *parser) assign() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	n, err := p.conditional()
	if err != nil || !p.accept("=") {
		return n, err
	}
	to, ok := n.(assignable)
	if !ok {
		return nil, errors.New("cannot assign to this expression")
	}
	from, err := p.assign()
	return &assignment{to: to, from: from}, err
}

// conditional is: BINARY [ ? COMMA : CONDITIONAL ], also gcc's a ?: b.
func (p *parser) conditional() (node, error) {
	cond, err := p.binary(0)
	if err != nil || !p.accept("?") {
		return cond, err
	}
	var yes node
	if !p.is(":") {
		if yes, err = p.assign(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	no, err := p.assign()
	if err != nil {
		return nil, err
	}
	if yes == nil {
		return fold(&ternary{cond, nil, no}, cond, no), nil
	}
	return fold(&ternary{cond, yes, no}, cond, yes, no), nil
}

// levels are the binary operators, those that bind least first.
var levels = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
}

func (p *parser) binary(level int) (node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		op := p.operator(levels[level])
		if op == "" {
			return left, nil
		}
		var right node
		if right, err = p.binary(level + 1); err != nil {
			break
		}
		if level < 2 {
			left = fold(&logical{op == "||", left, right}, left, right)
			continue
		}
		left = fold(&binaryNode{op, left, right}, left, right)
	}
	return nil, err
}

// operator takes the next token when it is one of ops.
func (p *parser) operator(ops []string) string {
	for _, op := range ops {
		if p.accept(op) {
			return op
		}
	}
	return ""
}

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	op := p.operator([]string{"-", "~", "!", "+", "*", "&"})
	if op == "" {
		if p.peek().kind == tokIdent && p.peek().text == "sizeof" {
			return p.sizeof()
		}
		if t, ok, err := p.cast(); ok || err != nil {
			return p.castTo(t, err)
		}
		return p.postfix()
	}
	n, err := p.unary()
	if err != nil {
		return nil, err
	}
	switch op {
	case "*":
		return &index{of: n, by: literal(integer(ctype.IntT, 0))}, nil
	case "&":
		return &address{n}, nil
	}
	return fold(&unaryNode{op, n}, n), nil
}

func (p *parser) castTo(t *typeName, err error) (node, error) {
	if err != nil {
		return nil, err
	}
	n, err := p.unary()
	if err != nil {
		return nil, err
	}
	if t.fixed == nil {
		return &cast{t, n}, nil
	}
	return fold(&cast{t, n}, n), nil
}

// sizeof parses sizeof of a type or an expression. Unlike C, the expression is evaluated, to get its type.
func (p *parser) sizeof() (node, error) {
	p.i++
	if t, ok, err := p.parenType(true); ok || err != nil {
		return &sizeof{typ: t}, err
	}
	n, err := p.unary()
	return &sizeof{of: n}, err
}

// postfix is: PRIMARY { [ EXPR ] | . NAME | -> NAME }.
func (p *parser) postfix() (node, error) {
	n, err := p.primary()
	for err == nil {
		switch {
		case p.accept("["):
			var by node
			if by, err = p.comma(); err == nil {
				err = p.expect("]")
			}
			n = &index{n, by}
		case p.is(".") || p.is("->"):
			p.i++
			name := p.peek()
			if name.kind != tokIdent {
				return nil, errors.New("expected the name of a member")
			}
			p.i++
			if _, rec := n.(recordNode); rec {
				n, err = p.field(name.text)
			} else {
				n = &member{n, name.text}
			}
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (node, error) {
	t := p.peek()
	switch t.kind {
	case tokInt:
		p.i++
		return literal(t.val), nil
	case tokString:
		p.i++
		return stringLiteral(t.text), nil
	case tokIdent:
		p.i++
		return p.name(t.text)
	}
	if !p.accept("(") {
		return nil, fmt.Errorf("expected an expression, not %q", t.text)
	}
	var n node
	var err error
	if p.accept("{") {
		n, err = p.statements()
	} else {
		n, err = p.comma()
	}
	if err == nil {
		err = p.expect(")")
	}
	return n, err
}

// name parses REC, a function call, a local variable, or a name for the resolver.
func (p *parser) name(name string) (node, error) {
	if p.is("(") {
		p.i++
		return p.call(name)
	}
	if name == "REC" || name == "__entry" {
		return recordNode{}, nil
	}
	for i := len(p.locals) - 1; i >= 0; i-- {
		if p.locals[i] == name {
			return &local{slot: i}, nil
		}
	}
	switch name {
	case "NULL":
		return literal(value{typ: ctype.PointerTo(ctype.VoidT)}), nil
	case "true":
		return literal(integer(ctype.IntT, 1)), nil
	case "false":
		return literal(integer(ctype.IntT, 0)), nil
	}
	return &constant{name: name}, nil
}

// field is a field of the record.
func (p *parser) field(name string) (node, error) {
	for _, mark := range []string{"__data_loc_", "__rel_loc_"} {
		// This is the name of the struct's member; the format file has the array's name.
		if rest, ok := strings.CutPrefix(name, mark); ok {
			if f := p.find(rest); f != nil {
				return &fieldNode{typ: ctype.UIntT, off: int(f.Offset)}, nil
			}
		}
	}
	f := p.find(name)
	if f == nil {
		return nil, fmt.Errorf("the record has no field %q", name)
	}
	return newField(f), nil
}

func (p *parser) find(name string) *tracefs.Field {
	for i := range p.fields {
		if p.fields[i].Name == name {
			return &p.fields[i]
		}
	}
	return nil
}
