package printk

import (
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// env is the input and output of one evaluation.
type env struct {
	rec    block
	seq    block // texts made by helpers, each with a NUL at its end
	locals []value
	r      *Resolver
}

// node is an expression.
type node interface {
	eval(e *env) value
	// fixed reports that the value is the same for every record.
	fixed() bool
}

// assignable is an expression that can be assigned to.
type assignable interface{ assign(e *env, v value) value }

type lit struct{ v value }

func literal(v value) node { return &lit{v} }

// stringLiteral is an array of char with its NUL.
func stringLiteral(s string) node {
	b := append([]byte(s), 0)
	t := &ctype.Type{Kind: ctype.Array, Elem: ctype.UCharT, Count: int64(len(b)), Size: int64(len(b))}
	return &lit{value{typ: t, blk: &block{b: b}}}
}

func (n *lit) eval(*env) value { return n.v }
func (n *lit) fixed() bool     { return true }

// fold evaluates n now if its operands are literals.
func fold(n node, operands ...node) node {
	for _, o := range operands {
		if _, ok := o.(*lit); !ok {
			return n
		}
	}
	return literal(n.eval(&env{}))
}

// recordNode is REC; only its fields have values.
type recordNode struct{}

func (recordNode) eval(*env) value { return failed("the whole record") }
func (recordNode) fixed() bool     { return false }

// fieldNode is REC->name.
type fieldNode struct {
	typ *ctype.Type
	off int
}

// newField gives the field its type in the kernel's struct, where arguments of system calls are always words.
func newField(f *tracefs.Field) node {
	t := f.Type.Strip()
	if t.IsInteger() && t.Kind != ctype.Bool && integers[f.Size][0] != nil {
		t = intType(f.Size, f.Signed)
	}
	if _, _, dyn := ctype.Dynamic(f.Type); dyn {
		t = ctype.UIntT
	}
	return &fieldNode{t, int(f.Offset)}
}

func (n *fieldNode) eval(e *env) value { return at(&e.rec, n.off, n.typ) }
func (n *fieldNode) fixed() bool       { return false }

// constant is an enumerator or a variable of the kernel's.
type constant struct {
	name  string
	bound atomic.Pointer[boundConstant]
}

type boundConstant struct {
	by *Resolver
	v  value
}

func (n *constant) eval(e *env) value {
	if n.name == jiffies { // it differs between records
		if x, ok := e.r.jiffies(e.rec.b); ok {
			return integer(ctype.ULongT, x)
		}
		return failed("jiffies is not recorded")
	}
	if b := n.bound.Load(); b != nil && b.by == e.r {
		return b.v
	}
	v := failed("%s is not known", n.name)
	if x, ok := e.r.enumerator(n.name); ok {
		v = integer(enumeratorType(x), uint64(x))
	} else if x, ok := e.r.variable(n.name); ok {
		v = integer(ctype.ULongT, x)
	}
	n.bound.Store(&boundConstant{e.r, v})
	return v
}

func (n *constant) fixed() bool { return n.name != jiffies }

// jiffies is the one variable of the kernel in print formats that changes.
const jiffies = "jiffies"

// enumeratorType is int if the value fits, as in C.
func enumeratorType(x int64) *ctype.Type {
	switch {
	case x == int64(int32(x)):
		return ctype.IntT
	case x == int64(uint32(x)):
		return ctype.UIntT
	}
	return ctype.LongT
}

type binaryNode struct {
	op   string
	l, r node
}

func (n *binaryNode) eval(e *env) value { return binaryOp(n.op, n.l.eval(e), n.r.eval(e)) }
func (n *binaryNode) fixed() bool       { return n.l.fixed() && n.r.fixed() }

type logical struct {
	or   bool
	l, r node
}

func (n *logical) eval(e *env) value {
	l := n.l.eval(e)
	is, ok := l.truth()
	if !ok {
		return l
	}
	if is == n.or {
		return boolean(is)
	}
	r := n.r.eval(e)
	if is, ok = r.truth(); !ok {
		return r
	}
	return boolean(is)
}

func (n *logical) fixed() bool { return n.l.fixed() && n.r.fixed() }

type unaryNode struct {
	op string
	of node
}

func (n *unaryNode) eval(e *env) value { return unary(n.op, n.of.eval(e)) }
func (n *unaryNode) fixed() bool       { return n.of.fixed() }

// ternary is cond ? yes : no; without yes it is gcc's cond ?: no.
type ternary struct{ cond, yes, no node }

func (n *ternary) eval(e *env) value {
	cond := n.cond.eval(e)
	is, ok := cond.truth()
	if !ok {
		return cond
	}
	var v value
	switch {
	case !is:
		v = decay(n.no.eval(e))
	case n.yes == nil:
		v = decay(cond)
	default:
		v = decay(n.yes.eval(e))
	}
	if !v.isInt() {
		return v
	}
	// The types of both branches determine the type of the value.
	switch {
	case is:
		return v.as(n.no.eval(e))
	case n.yes == nil:
		return v.as(cond)
	}
	return v.as(n.yes.eval(e))
}

// as converts v to the common type with another branch's value.
func (v value) as(other value) value {
	if other.isInt() {
		return convert(v, common(v.typ, other.typ))
	}
	return v
}

func (n *ternary) fixed() bool {
	return n.cond.fixed() && (n.yes == nil || n.yes.fixed()) && n.no.fixed()
}

type cast struct {
	typ *typeName
	of  node
}

func (n *cast) eval(e *env) value {
	t := n.typ.typ(e.r)
	if t == nil {
		return failed("the type %s is not known", n.typ.name)
	}
	return convert(n.of.eval(e), t)
}

func (n *cast) fixed() bool { return n.of.fixed() }

// sizeof is the size of a type or, if typ is nil, of an expression.
type sizeof struct {
	typ *typeName
	of  node
}

func (n *sizeof) eval(e *env) value {
	var t *ctype.Type
	if n.typ != nil {
		if t = n.typ.typ(e.r); t == nil {
			return failed("the type %s is not known", n.typ.name)
		}
		t = t.Strip()
	} else {
		v := n.of.eval(e)
		if v.fail != "" {
			return v
		}
		t = v.typ
	}
	return integer(ctype.ULongT, uint64(t.Size))
}

func (n *sizeof) fixed() bool { return n.typ != nil || n.of.fixed() }

// index is of[by], and *of with by 0.
type index struct{ of, by node }

func (n *index) eval(e *env) value {
	of, by := n.of.eval(e), n.by.eval(e)
	switch {
	case of.fail != "":
		return of
	case by.fail != "":
		return by
	case !by.isInt():
		return failed("an index that is not an integer")
	case of.list != nil:
		if by.n >= uint64(len(of.list)) {
			return failed("index %d of %d", int64(by.n), len(of.list))
		}
		return of.list[by.n]
	}
	p := binaryOp("+", of, by)
	switch {
	case p.fail != "":
		return p
	case !isPointer(p):
		return failed("an index into something other than an array")
	case p.blk == nil:
		return failed("memory at %#x", p.n)
	}
	return at(p.blk, p.off, p.typ.Elem)
}

func (n *index) fixed() bool { return n.of.fixed() && n.by.fixed() }

// member is of.name and of->name.
type member struct {
	of   node
	name string
}

// place finds the member in the struct's bytes.
func (n *member) place(e *env) (b *block, off int, f *ctype.Field, no value) {
	v := n.of.eval(e)
	if v.fail != "" {
		return nil, 0, nil, v
	}
	t := v.typ
	if isPointer(v) {
		t = t.Elem.Strip()
	}
	if v.blk == nil {
		return nil, 0, nil, failed("memory at %#x", v.n)
	}
	off, f = findMember(t, n.name, 8)
	if f == nil {
		return nil, 0, nil, failed("%s has no known member %s", typeText(t), n.name)
	}
	return v.blk, v.off + off, f, value{}
}

// findMember searches t and its unnamed members; off is the offset of the struct that contains f.
func findMember(t *ctype.Type, name string, depth int) (off int, f *ctype.Field) {
	if t.Kind != ctype.Struct && t.Kind != ctype.Union || depth == 0 {
		return 0, nil
	}
	fields := t.Fields()
	for i := range fields {
		f := &fields[i]
		if f.Name == name {
			return 0, f
		}
		if f.Name == "" && f.Type != nil {
			if off, in := findMember(f.Type.Strip(), name, depth-1); in != nil {
				return int(f.BitOffset/8) + off, in
			}
		}
	}
	return 0, nil
}

func (n *member) eval(e *env) value {
	b, off, f, no := n.place(e)
	switch {
	case f == nil:
		return no
	case f.BitSize > 0:
		return bitField(b, off, f)
	}
	return at(b, off+int(f.BitOffset/8), f.Type)
}

func (n *member) fixed() bool { return false }

// address is &of, for objects in the record.
type address struct{ of node }

func (n *address) eval(e *env) value {
	switch of := n.of.(type) {
	case *fieldNode:
		return pointTo(&e.rec, of.off, of.typ)
	case *index:
		return binaryOp("+", of.of.eval(e), of.by.eval(e))
	case *member:
		b, off, f, no := of.place(e)
		if f == nil {
			return no
		}
		return pointTo(b, off+int(f.BitOffset/8), f.Type)
	}
	v := n.of.eval(e)
	if v.fail == "" && v.blk != nil {
		v.typ = ctype.PointerTo(v.typ)
		return v
	}
	return failed("the address of a value")
}

// pointTo is a pointer into b, or past its end.
func pointTo(b *block, off int, t *ctype.Type) value {
	if off < 0 || off > len(b.b) {
		return failed(beyond)
	}
	return value{typ: pointerTo(t), blk: b, off: off}
}

func (n *address) fixed() bool { return false }
