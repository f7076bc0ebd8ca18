package interp

import (
	"cmp"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// expr evaluates an expression.
func (m *evaluator) expr(x script.Expr) val {
	m.step()
	if k := m.p.Consts[x]; k != nil {
		return m.constant(k, m.typeOf(x))
	}
	if m.hit != nil {
		if v, _, ok := m.recorded(x, m.turn); ok {
			return v
		}
	}
	switch x := x.(type) {
	case *script.Float:
		return val{f: x.Value}
	case *script.PositionalCount, *script.Positional:
		if k := m.p.Consts[x]; k != nil {
			return m.constant(k, m.typeOf(x))
		}
	case *script.Var:
		if s := m.lookup(x.Name); s != nil {
			return s.v
		}
		return blank(m.typeOf(x))
	case *script.Map:
		return m.read(x, m.maps[x.Name], val{})
	case *script.Element:
		t := m.maps[x.Map.Name]
		return m.read(x, t, m.key(t, x.Key))
	case *script.Ident:
		return m.word(x, x.Name, nil)
	case *script.Call:
		return m.call(x)
	case *script.Cast:
		return convert(m.expr(x.X), m.typeOf(x.X), m.typeOf(x))
	case *script.Comptime:
		return m.expr(x.X)
	case *script.Typeinfo:
		return val{list: []val{{}, {s: m.typeOf(x.Of).Kind.String()}, {s: m.typeOf(x.Of).String()}}}
	case *script.Block, *script.If:
		f, v := m.statement(x)
		if f != next {
			abandon(errJump)
		}
		return v
	}
	return m.operation(x)
}

// constant is a literal as a value of the type that the expression has.
func (m *evaluator) constant(k *check.Const, t *types.Type) val {
	switch k.Kind {
	case types.String:
		return val{s: k.Str}
	case types.Bool:
		return truth(k.Bool)
	}
	if t.Kind == types.Float {
		return val{f: float(num(k.Int), types.IntOf(8, k.Neg))}
	}
	return num(k.Int)
}

// read is the value of an element; 0 if there is none.
func (m *evaluator) read(at script.Node, t *table, key val) val {
	if c := t.get(key); c != nil {
		return c.value(t.Value)
	}
	m.warn(at, missingRead)
	return blank(t.Value)
}

func (m *evaluator) operation(x script.Expr) val {
	switch x := x.(type) {
	case *script.Unary:
		return m.unary(x)
	case *script.Binary:
		return m.binary(x)
	case *script.Step:
		return m.increment(x)
	case *script.Cond:
		return m.cond(x)
	case *script.Tuple:
		return m.list(x.Elems)
	case *script.Record:
		return m.list(x.Values)
	case *script.Field:
		return m.field(x)
	case *script.TupleField:
		return m.expr(x.X).list[x.N]
	case *script.Index:
		return m.index(x)
	case *script.Addr:
		return m.address(x)
	}
	abandon(unavailable(x, "this operation"))
	return val{}
}

func (m *evaluator) list(xs []script.Expr) val {
	v := val{list: make([]val, len(xs))}
	for i, x := range xs {
		v.list[i] = m.expr(x)
	}
	return v
}

func (m *evaluator) truth(x script.Expr) bool {
	if k := m.p.Consts[x]; k != nil && k.Kind == types.String {
		return k.Str != ""
	}
	return isTrue(m.expr(x), m.typeOf(x))
}

func (m *evaluator) cond(x *script.Cond) val {
	t := m.typeOf(x)
	pick := func(y script.Expr) val { return convert(m.expr(y), m.typeOf(y), t) }
	if x.T == nil {
		v := m.expr(x.C)
		if isTrue(v, m.typeOf(x.C)) {
			return convert(v, m.typeOf(x.C), t)
		}
		return pick(x.F)
	}
	if m.truth(x.C) {
		return pick(x.T)
	}
	return pick(x.F)
}

func (m *evaluator) unary(x *script.Unary) val {
	if x.Op == "*" && m.hit != nil && m.typeOf(x).Kind == types.Struct && m.typeOf(x) == m.typeOf(x.X) { // *args, as in older scripts
		return m.allArgs(x, nil)
	}
	v, t := m.expr(x.X), m.typeOf(x.X)
	switch {
	case x.Op == "!":
		return truth(!isTrue(v, t))
	case t.Floating() && x.Op == "-":
		return val{f: -v.f}
	case x.Op == "+" || t.Floating():
		return v
	case x.Op == "-":
		return num(-v.n)
	case x.Op == "~":
		return num(^v.n)
	}
	return m.load(x, v.n, m.typeOf(x))
}

func (m *evaluator) binary(x *script.Binary) val {
	switch x.Op {
	case "&&":
		return truth(m.truth(x.X) && m.truth(x.Y))
	case "||":
		return truth(m.truth(x.X) || m.truth(x.Y))
	}
	a, b := m.expr(x.X), m.expr(x.Y)
	return m.arith(x, x.Op, a, b, m.typeOf(x.X), m.typeOf(x.Y), m.typeOf(x))
}

// arith computes a op b, of types s and t; r is the type of the result.
func (m *evaluator) arith(at script.Node, op string, a, b val, s, t, r *types.Type) val {
	switch {
	case s.Floating() || t.Floating():
		return floats(op, float(a, s), float(b, t))
	case s.Is(types.String) && t.Is(types.String):
		return truth(script.Holds(op, strings.Compare(cstr(a.s), cstr(b.s))))
	case len(a.list) > 0 || len(b.list) > 0 || !number(s) || !number(t):
		return truth(equal(convert(a, s, widest(s, t)), convert(b, t, widest(s, t))) == (op == "=="))
	case s.Kind == types.Pointer && t.Kind == types.Int && (op == "+" || op == "-"):
		b.n *= uint64(max(s.Pointee().Size, 1))
	}
	signed := s.Signed && t.Signed || s.Signed && t.Flexible || s.Flexible && t.Signed || (s.Signed || t.Signed) && (s.Size < 8 || t.Size < 8)
	if script.Compares(op) {
		return truth(script.Holds(op, compare(a.n, b.n, signed)))
	}
	n, ok := integers(op, a.n, b.n, s.Signed, r.Signed && signed)
	if !ok { // as bpftrace
		m.warn(at, byZero)
		n = 1
	}
	if r.Kind == types.Bool {
		return truth(n != 0)
	}
	return num(n)
}

// widest is the type that both values have after conversion.
func widest(a, b *types.Type) *types.Type {
	if p := types.Promote(a, b); p != nil {
		return p
	}
	return a
}

func number(t *types.Type) bool {
	return t.Is(types.Int, types.Bool, types.Pointer) || t.Castable()
}

// cstr ends a string at its NUL.
func cstr(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

func compare(a, b uint64, signed bool) int {
	if signed {
		return cmp.Compare(int64(a), int64(b))
	}
	return cmp.Compare(a, b)
}

// integers computes in 64 bits. ok is false for a division by 0.
func integers(op string, a, b uint64, left, signed bool) (n uint64, ok bool) {
	switch op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "&":
		return a & b, true
	case "|":
		return a | b, true
	case "^":
		return a ^ b, true
	case "<<":
		return a << (b & 63), true
	case ">>":
		if left {
			return uint64(int64(a) >> (b & 63)), true
		}
		return a >> (b & 63), true
	}
	switch {
	case b == 0:
		return 0, false
	case signed && b == ^uint64(0):
		if op == "/" {
			return -a, true
		}
		return 0, true
	case signed && op == "/":
		return uint64(int64(a) / int64(b)), true
	case signed:
		return uint64(int64(a) % int64(b)), true
	case op == "/":
		return a / b, true
	}
	return a % b, true
}

func floats(op string, a, b float64) val {
	switch op {
	case "+":
		return val{f: a + b}
	case "-":
		return val{f: a - b}
	case "*":
		return val{f: a * b}
	case "/":
		return val{f: a / b}
	}
	if a != a || b != b {
		return truth(op == "!=")
	}
	return truth(script.Holds(op, cmp.Compare(a, b)))
}

// increment executes ++ and --.
func (m *evaluator) increment(x *script.Step) val {
	by := uint64(1)
	if x.Op == "--" {
		by = ^uint64(0)
	}
	var old, now uint64
	switch e := x.X.(type) {
	case *script.Var:
		s := m.lookup(e.Name)
		if s == nil {
			return val{}
		}
		if s.t.Kind == types.Pointer {
			by *= uint64(max(s.t.Pointee().Size, 1))
		}
		old = s.v.n
		s.v.n = fit(old+by, s.t)
		now = s.v.n
	case *script.Map:
		old, now = m.count(e, m.maps[e.Name], val{}, by)
	case *script.Element:
		t := m.maps[e.Map.Name]
		old, now = m.count(e, t, m.key(t, e.Key), by)
	}
	if x.Prefix {
		return num(now)
	}
	return num(old)
}

func (m *evaluator) count(at script.Node, t *table, key val, by uint64) (old, now uint64) {
	c := m.make(at, t, key)
	if c == nil {
		return 0, 0
	}
	if t.Value.Kind == types.Pointer {
		by *= uint64(max(t.Value.Pointee().Size, 1))
	}
	old = c.v.n
	c.v.n = fit(old+by, t.Value)
	return old, c.v.n
}

func (m *evaluator) field(x *script.Field) val {
	t := m.typeOf(x.X)
	if v, ok := m.memberAt(x); ok {
		return v
	}
	if t.Kind == types.Struct {
		if f, off, ok := t.C.CMember(x.Name); ok {
			v, _ := memberOf(m.expr(x.X).s, f, off)
			return v
		}
	}
	if t.Kind != types.Record {
		abandon(unavailable(x, "this member"))
	}
	v := m.expr(x.X)
	for i, f := range t.Fields {
		if f.Name == x.Name && i < len(v.list) {
			return v.list[i]
		}
	}
	return val{}
}

func (m *evaluator) index(x *script.Index) val {
	if m.hit == nil {
		if addr, ok := m.located(x); ok {
			return m.load(x, addr, m.typeOf(x))
		}
	}
	v, t, i := m.expr(x.X), m.typeOf(x.X), m.expr(x.I).n
	switch {
	case t.Kind == types.String:
		if i < uint64(len(v.s)) {
			return num(uint64(int8(v.s[i])))
		}
		if i >= uint64(t.Size) {
			m.warn(x, outside)
		}
		return val{}
	case t.Is(types.Array, types.Tuple):
		if i < uint64(len(v.list)) {
			return v.list[i]
		}
		m.warn(x, outside)
		return blank(m.typeOf(x))
	}
	return m.load(x, v.n+i*uint64(max(t.Pointee().Size, 1)), m.typeOf(x))
}
