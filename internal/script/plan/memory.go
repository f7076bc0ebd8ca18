package plan

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// place is where an object is: named in C, or at an address, which is C of type unsigned long.
type place struct {
	name, addr string
	bit, bits  int64       // of a bit-field at an address: from its first bit there
	c          *ctype.Type // nil if it is not known
}

// isArgs reports whether x is args, or *args as in older scripts.
func (w *translator) isArgs(x script.Expr) bool {
	if u, ok := x.(*script.Unary); ok && u.Op == "*" {
		return w.isArgs(u.X)
	}
	id, ok := x.(*script.Ident)
	return ok && id.Name == "args"
}

// placeOf is the object that an expression names.
func (w *translator) placeOf(x script.Expr) (place, bool) {
	switch x := x.(type) {
	case *script.Field:
		return w.memberPlace(x)
	case *script.Index:
		return w.elementPlace(x)
	case *script.Unary:
		if x.Op == "*" && scalar(w.typeOf(x.X)) {
			c, ok := w.value(x.X)
			return place{addr: c}, ok
		}
	case *script.Ident:
		if w.isVariable(x) {
			return w.variable(x.Name)
		}
	case *script.Var:
		at := w.vars.get(x.Name).at
		return at, at.name+at.addr != ""
	case *script.Cast:
		if t := w.typeOf(x); types.Same(t, w.typeOf(x.X)) {
			return w.placeOf(x.X)
		}
	}
	return place{}, false
}

// variable is a variable of the program.
func (w *translator) variable(name string) (place, bool) {
	if w.p.Unavailable != nil {
		if why := w.p.Unavailable(w.s.Point, name); why != "" {
			w.why = why
			return place{}, false
		}
	}
	return place{name: name}, true
}

func (w *translator) memberPlace(x *script.Field) (place, bool) {
	t := w.typeOf(x.X)
	if w.isArgs(x.X) {
		p := place{name: "args->" + x.Name}
		if w.s.Point.Provider.User {
			var ok bool
			if p, ok = w.variable(x.Name); !ok {
				return p, false
			}
		}
		if t.C != nil {
			if f, _, ok := t.C.CMember(x.Name); ok {
				p.c = f.Type
			}
		}
		return p, true
	}
	if w.s.Point.Provider.Name == "iter" && wordOf(x.X) == "ctx" {
		return place{name: "args->" + x.Name}, true
	}
	if t.Kind == types.Pointer {
		c, ok := w.value(x.X)
		for t = t.Pointee(); t.Kind == types.Pointer && ok; t = t.Pointee() {
			c = "*(unsigned long *)(" + c + ")"
		}
		return w.inside(place{addr: c}, t, x.Name, ok)
	}
	p, ok := w.placeOf(x.X)
	return w.inside(p, t, x.Name, ok)
}

// inside is a member of an object.
func (w *translator) inside(p place, t *types.Type, name string, ok bool) (place, bool) {
	if !ok || t.Kind != types.Struct || p.bits != 0 {
		return place{}, false
	}
	if p.name != "" {
		return place{name: p.name + "." + name}, true
	}
	f, off, ok := w.complete(t).CMember(name)
	if !ok {
		return place{}, false
	}
	out := place{addr: plus(p.addr, off/8), c: f.Type}
	if f.BitSize == 0 {
		return out, true
	}
	unit := max(f.Type.Strip().Size, 1)
	start := off / (8 * unit) * unit // the unit of its type, if the bits do not cross it
	if off-8*start+f.BitSize > 8*unit {
		start, unit = off/8, 8
	}
	out.addr, out.bit, out.bits = plus(p.addr, start), off-8*start, f.BitSize
	return out, out.bit+out.bits <= 8*unit
}

// complete returns the definition of a struct that is only declared where it was found.
func (w *translator) complete(t *types.Type) *ctype.Type {
	if t.C.Incomplete && w.p.Complete != nil {
		if def := w.p.Complete(t); def != nil {
			return def.C
		}
	}
	return t.C
}

func plus(c string, off int64) string {
	if off == 0 {
		return c
	}
	return fmt.Sprintf("(%s + %dUL)", c, off)
}

func (w *translator) elementPlace(x *script.Index) (place, bool) {
	t := w.typeOf(x.X)
	i, ok := w.value(x.I)
	if !ok {
		return place{}, false
	}
	switch t.Kind {
	case types.Pointer:
		c, ok := w.value(x.X)
		return place{addr: scaled(c, i, t.Pointee().Size)}, ok
	case types.Array, types.String:
		size := int64(1)
		if t.Kind == types.Array {
			size = t.Elem.Size
		}
		p, ok := w.placeOf(x.X)
		switch {
		case !ok || p.bits != 0:
			return place{}, false
		case p.name != "":
			return place{name: p.name + "[" + i + "]"}, true
		}
		return place{addr: scaled(p.addr, i, size)}, true
	}
	return place{}, false
}

func scaled(c, i string, size int64) string {
	return fmt.Sprintf("(%s + (unsigned long)(%s) * %dUL)", c, i, size)
}

// loaded is the value of an object that is an integer or a pointer.
func (w *translator) loaded(x script.Expr) (string, bool) {
	p, ok := w.placeOf(x)
	if !ok {
		return "", false
	}
	return p.load(w.typeOf(x))
}

func (p place) load(t *types.Type) (string, bool) {
	switch {
	case cNames[t.Size][0] == "":
		return "", false
	case p.name != "":
		if t.Kind == types.Bool {
			return "(unsigned long)((" + p.name + ") != 0)", true
		}
		return wide(p.name, t), true
	case p.bits > 0:
		size := t.Size
		if p.bit+p.bits > 8*size {
			size = 8
		}
		raw := fmt.Sprintf("((unsigned long)*(%s *)(%s) << %d)", cNames[size][0], p.addr, 64-p.bit-p.bits)
		if t.Signed {
			return fmt.Sprintf("((long)%s >> %d)", raw, 64-p.bits), true
		}
		return fmt.Sprintf("(%s >> %d)", raw, 64-p.bits), true
	case t.Kind == types.Bool:
		return fmt.Sprintf("(unsigned long)(*(unsigned char *)(%s) != 0)", p.addr), true
	}
	return wide(fmt.Sprintf("*(%s *)(%s)", cName(t), p.addr), t), true
}

// bytes is C for all bytes of an object.
func (p place) bytes(size int64) (string, bool) {
	switch {
	case p.bits > 0 || size <= 0:
		return "", false
	case p.name != "":
		return p.name, true
	}
	return fmt.Sprintf("*(unsigned char *)(%s)@%d", p.addr, size), true
}
