package check

import (
	"cmp"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// cenv is what the C text at the start of the scripts defines.
type cenv struct {
	*checker
	defines map[string]*define
	tags    map[string]*ctype.Type // "struct S"
	enums   map[string]constant
	skip    []cond // open #if
}

// define is a name of #define.
type define struct {
	text string
	expr script.Expr // nil if the text is not an expression
	open bool        // it is being expanded
}

// constant is an enumerator.
type constant struct {
	enum  *ctype.Type
	value int64
}

// cond is an #if that is not closed: whether its part is read, and whether one of its parts was.
type cond struct {
	on, done bool
	at       script.Node
}

// declarations evaluates the C text of scripts.
func (c *checker) declarations(scripts []*script.Script) *cenv {
	e := &cenv{checker: c, defines: map[string]*define{}, tags: map[string]*ctype.Type{}, enums: map[string]constant{}}
	e.defines["BPFTRACE_HAVE_BTF"] = &define{text: "1", expr: (&script.Int{Value: 1, Text: "1"}).At(scripts[0])}
	for _, s := range scripts {
		for _, part := range s.C {
			switch part := part.(type) {
			case *script.Directive:
				e.directive(part)
			case *script.Definition:
				if e.active() {
					e.record(part.CRecord, part)
				}
			}
		}
		for _, open := range e.skip {
			e.fail(open.at, "#%s without #endif", open.at.(*script.Directive).Word)
		}
		e.skip = nil
	}
	return e
}

// active reports whether the text here is read.
func (e *cenv) active() bool {
	for _, c := range e.skip {
		if !c.on {
			return false
		}
	}
	return true
}

func (e *cenv) directive(d *script.Directive) {
	switch d.Word {
	case "if", "ifdef", "ifndef":
		on := e.active() && e.condition(d)
		e.skip = append(e.skip, cond{on: on, done: on, at: d})
		return
	case "elif", "else", "endif":
		if len(e.skip) == 0 {
			e.fail(d, "#%s without #if", d.Word)
			return
		}
		top := &e.skip[len(e.skip)-1]
		switch {
		case d.Word == "endif":
			e.skip = e.skip[:len(e.skip)-1]
		case d.Word == "else":
			top.on, top.done = !top.done, true
		default:
			top.on = !top.done && e.condition(d)
			top.done = top.done || top.on
		}
		return
	}
	if e.active() {
		e.statement(d)
	}
}

// statement executes a directive that is not a condition. Headers are not read: types and constants of the
// kernel come from its BTF.
func (e *cenv) statement(d *script.Directive) {
	switch d.Word {
	case "define":
		n := 0
		for n < len(d.Text) && (d.Text[n] == '_' || d.Text[n]|0x20 >= 'a' && d.Text[n]|0x20 <= 'z' || n > 0 && d.Text[n] >= '0' && d.Text[n] <= '9') {
			n++
		}
		name, rest := d.Text[:n], d.Text[n:]
		if name == "" {
			e.fail(d, "the name is missing after #define")
			return
		}
		def := &define{text: strings.TrimSpace(rest)}
		if !strings.HasPrefix(rest, "(") {
			def.expr = parseAt(d, def.text)
		}
		e.defines[name] = def
	case "undef":
		delete(e.defines, strings.TrimSpace(d.Text))
	case "error":
		e.fail(d, "#error %s", d.Text)
	case "include", "pragma", "warning", "line", "":
	default:
		e.fail(d, "there is no directive #%s", d.Word)
	}
}

// parseAt parses the text of a definition; nil if it is not an expression.
func parseAt(d *script.Directive, text string) script.Expr {
	if text == "" {
		return nil
	}
	x, err := script.ParseExpr(d.File().Name, text)
	if err != nil {
		return nil
	}
	return x
}

// condition evaluates the condition of #if and the like.
func (e *cenv) condition(d *script.Directive) bool {
	name := strings.TrimSpace(d.Text)
	switch d.Word {
	case "ifdef":
		return e.defines[name] != nil
	case "ifndef":
		return e.defines[name] == nil
	}
	x := parseAt(d, name)
	if x == nil {
		e.fail(d, "the condition of #%s is not an expression", d.Word)
		return false
	}
	v, ok := e.constant(x)
	if !ok {
		e.fail(d, "the condition of #%s is not a constant", d.Word)
	}
	return v != 0
}

// constant evaluates an integer expression of C: of a preprocessor's condition, an array's size, an enumerator.
func (e *cenv) constant(x script.Expr) (int64, bool) {
	switch x := x.(type) {
	case *script.Int:
		return int64(x.Value), true
	case *script.Ident:
		if d := e.defines[x.Name]; d != nil && d.expr != nil && !d.open {
			d.open = true
			defer func() { d.open = false }()
			return e.constant(d.expr)
		}
		if k, ok := e.enums[x.Name]; ok {
			return k.value, true
		}
		return 0, false
	case *script.Call:
		if x.Name == "defined" && len(x.Args) == 1 {
			id, ok := x.Args[0].(*script.Ident)
			if ok && e.defines[id.Name] != nil {
				return 1, true
			}
			return 0, ok
		}
	case *script.Unary:
		v, ok := e.constant(x.X)
		switch x.Op {
		case "-":
			return -v, ok
		case "~":
			return ^v, ok
		case "!":
			return b2i(v == 0), ok
		case "+":
			return v, ok
		}
	case *script.Binary:
		a, ok1 := e.constant(x.X)
		b, ok2 := e.constant(x.Y)
		v, ok := arith(x.Op, a, b)
		return v, ok && ok1 && ok2
	case *script.Cond:
		v, ok := e.constant(x.C)
		if !ok || x.T == nil {
			return 0, false
		}
		if v != 0 {
			return e.constant(x.T)
		}
		return e.constant(x.F)
	case *script.Sizeof:
		return e.sizeof(x)
	}
	return 0, false
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// arith computes on 64-bit integers.
func arith(op string, a, b int64) (int64, bool) {
	switch op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/", "%":
		if b == 0 || a == -1<<63 && b == -1 {
			return 0, false
		}
		if op == "/" {
			return a / b, true
		}
		return a % b, true
	case "<<":
		return a << uint64(b&63), b >= 0 && b < 64
	case ">>":
		return a >> uint64(b&63), b >= 0 && b < 64
	case "&":
		return a & b, true
	case "|":
		return a | b, true
	case "^":
		return a ^ b, true
	case "&&":
		return b2i(a != 0 && b != 0), true
	case "||":
		return b2i(a != 0 || b != 0), true
	}
	if !script.Compares(op) {
		return 0, false
	}
	return b2i(script.Holds(op, cmp.Compare(a, b))), true
}

func (e *cenv) sizeof(x *script.Sizeof) (int64, bool) {
	if x.Of.Type == nil {
		return 0, false
	}
	e.env = e
	t := e.typeOf(x.Of.Type)
	return t.Size, t.Size > 0
}

// named returns the C type with a tag ("" for a typedef) and name: of the script, then of the kernel and the
// program.
func (c *checker) named(tag, name string) *ctype.Type {
	if tag != "" {
		if t := c.env.tags[tag+" "+name]; t != nil {
			return t
		}
	}
	if c.opts.Source == nil {
		return nil
	}
	return c.opts.Source.Named(c.place(), tag, name)
}

// enumerator returns the enum and value of a constant.
func (c *checker) enumerator(name string) (constant, bool) {
	if k, ok := c.env.enums[name]; ok {
		return k, true
	}
	if c.opts.Source != nil {
		if t, v := c.opts.Source.Enumerator(c.place(), name); t != nil {
			return constant{t, v}, true
		}
	}
	return constant{}, false
}
