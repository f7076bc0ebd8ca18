package printk

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// statements is ({ ... }) or a, b: all are evaluated, the last is the value.
type statements struct{ list []node }

func (n *statements) eval(e *env) value {
	var v value
	for _, s := range n.list {
		v = s.eval(e)
	}
	return v
}

func (n *statements) fixed() bool { return false }

// maxLocal limits the size of a local variable.
const maxLocal = 1 << 12

// declare creates a local variable.
type declare struct {
	typ   *typeName // nil: the type of the initial value
	array bool
	init  node
	slot  int
}

func (n *declare) eval(e *env) value {
	for len(e.locals) <= n.slot {
		e.locals = append(e.locals, value{})
	}
	e.locals[n.slot] = n.value(e)
	return value{typ: ctype.VoidT}
}

func (n *declare) value(e *env) value {
	var t *ctype.Type
	if n.typ != nil {
		if t = n.typ.typ(e.r); t == nil {
			return failed("the type %s is not known", n.typ.name)
		}
		t = t.Strip()
	}
	if n.array {
		b, ok := n.init.(*braces)
		if !ok {
			return failed("an array without its values")
		}
		v := b.eval(e)
		v.typ = ctype.ArrayOf(t, int64(len(v.list)))
		return v
	}
	if n.init != nil {
		v := decay(n.init.eval(e))
		if t == nil || v.fail != "" {
			return v
		}
		return convert(v, t)
	}
	if t.Kind == ctype.Struct || t.Kind == ctype.Union {
		if t.Size <= 0 || t.Size > maxLocal {
			return failed("a variable of %s", typeText(t))
		}
		return value{typ: t, blk: &block{make([]byte, t.Size), true}}
	}
	return failed("a variable without a value")
}

func (n *declare) fixed() bool { return false }

// braces is { a, b, ... }: the values of an array, or an entry of a table.
type braces struct{ list []node }

func (n *braces) eval(e *env) value {
	v := value{typ: ctype.VoidT, list: []value{}}
	for _, x := range n.list {
		v.list = append(v.list, decay(x.eval(e)))
	}
	return v
}

func (n *braces) fixed() bool {
	for _, x := range n.list {
		if !x.fixed() {
			return false
		}
	}
	return true
}

// local is a variable of a statement expression.
type local struct{ slot int }

func (n *local) eval(e *env) value {
	if n.slot >= len(e.locals) || e.locals[n.slot].typ == nil && e.locals[n.slot].fail == "" {
		return failed("a variable without a value")
	}
	return e.locals[n.slot]
}

func (n *local) fixed() bool { return false }

func (n *local) assign(e *env, v value) value {
	if old := n.eval(e); old.fail == "" {
		v = convert(v, old.typ)
	}
	for len(e.locals) <= n.slot {
		e.locals = append(e.locals, value{})
	}
	e.locals[n.slot] = v
	return v
}

// assign stores into a member of a local struct, never into the record.
func (n *member) assign(e *env, v value) value {
	b, off, f, no := n.place(e)
	switch {
	case f == nil:
		return no
	case v.fail != "":
		return v
	case !b.own || f.BitSize > 0 || !v.isInt():
		return failed("an assignment to %s", n.name)
	}
	t := f.Type.Strip()
	off += int(f.BitOffset / 8)
	if !t.IsInteger() || t.Size > 8 || off < 0 || int64(off) > int64(len(b.b))-t.Size {
		return failed("an assignment to %s", n.name)
	}
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], extend(v.n, t))
	copy(b.b[off:], w[:t.Size])
	return v
}

type assignment struct {
	to   assignable
	from node
}

func (n *assignment) eval(e *env) value { return n.to.assign(e, n.from.eval(e)) }
func (n *assignment) fixed() bool       { return false }
