package btf

import (
	"math"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// converter makes C types of BTF's.
type converter struct {
	// mu guards the fields below. Members of types are loaded on first use, by any goroutine, with mu locked.
	mu    sync.Mutex
	types map[key]*ctype.Type
	depth int
	tags  map[*ctype.Type]string
}

// maxDepth bounds chains of types (pointer to const pointer to array ...).
const maxDepth = 400

// typeOf is convert for callers without the lock.
func (cv *converter) typeOf(t raw.Type) *ctype.Type {
	cv.mu.Lock()
	defer cv.mu.Unlock()
	return cv.convert(t)
}

// convert makes the C type of a BTF type. A type under construction is already in the cache, so cycles end.
// Members are converted on first use. The caller holds cv.mu, and must not access members.
func (cv *converter) convert(t raw.Type) *ctype.Type {
	if t.Kind == raw.Void {
		return ctype.VoidT
	}
	if c := cv.types[keyOf(&t)]; c != nil {
		return c
	}
	if cv.depth > maxDepth {
		return &ctype.Type{Kind: ctype.Invalid, Name: "<type nested too deep>"}
	}
	cv.depth++
	defer func() { cv.depth-- }()
	switch {
	case t.Kind == raw.TypeTag:
		return cv.convert(t.Ref())
	case t.Kind == raw.Fwd:
		return cv.forward(t)
	case isEnum(&t) && t.Entries() == 0:
		return cv.forwardEnum(t)
	}
	c := &ctype.Type{}
	cv.types[keyOf(&t)] = c
	cv.fill(t, c)
	return c
}

func isEnum(t *raw.Type) bool { return t.Kind == raw.Enum || t.Kind == raw.Enum64 }

func (cv *converter) fill(t raw.Type, c *ctype.Type) {
	switch t.Kind {
	case raw.Int:
		fillInt(&t, c)
	case raw.Float:
		c.Kind, c.Name, c.Size = ctype.Float, t.Name(), t.Size()
	case raw.Enum, raw.Enum64:
		fillEnum(t, c)
	case raw.Ptr:
		c.Kind, c.Size = ctype.Pointer, 8
		to := t.Ref()
		c.Elem = cv.convert(to)
		if to.Kind == raw.TypeTag {
			cv.tags[c] = to.Name()
		}
	case raw.Array:
		cv.fillArray(t, c)
	case raw.Struct:
		c.Kind = ctype.Struct
		cv.fillStruct(t, c)
	case raw.Union:
		c.Kind = ctype.Union
		cv.fillStruct(t, c)
	case raw.FuncProto:
		cv.fillFunc(t, c)
	case raw.Typedef:
		c.Name = t.Name()
		cv.wrap(ctype.Typedef, t, c)
	case raw.Const:
		cv.wrap(ctype.Const, t, c)
	case raw.Volatile:
		cv.wrap(ctype.Volatile, t, c)
	case raw.Restrict:
		cv.wrap(ctype.Restrict, t, c)
	default: // functions and variables are no types
		c.Kind, c.Name = ctype.Invalid, "<unknown type>"
	}
}

func (cv *converter) wrap(kind ctype.Kind, t raw.Type, c *ctype.Type) {
	c.Kind = kind
	c.Elem = cv.convert(t.Ref())
	c.Size = c.Elem.Size
}

// The bits of an integer's encoding.
const (
	encSigned = 1
	encChar   = 2
	encBool   = 4
)

// fillInt: BTF marks _Bool, but the kernel's BTF does not mark characters; they
// are known by their names. Since Linux 6.2 char is unsigned.
func fillInt(t *raw.Type, c *ctype.Type) {
	encoding, _, _ := t.Encoding()
	c.Kind, c.Name, c.Size = ctype.Int, t.Name(), t.Size()
	c.Signed = encoding&encSigned != 0
	switch {
	case encoding&encBool != 0:
		c.Kind = ctype.Bool
	case encoding&encChar != 0:
		c.Kind = ctype.Char
	case c.Name == "float" || c.Name == "double" || c.Name == "long double":
		c.Kind = ctype.Float // as pahole writes it without the option for floats
	case c.Size == 1 && (c.Name == "char" || c.Name == "signed char" || c.Name == "unsigned char"):
		c.Kind = ctype.Char
	}
}

// fillEnum: in BTF without marks of signed enumerations, one with a constant from
// 2^31 on has a negative one, and what is wider than 32 bits was cut off: such
// constants are left out.
func fillEnum(t raw.Type, c *ctype.Type) {
	c.Kind, c.Name, c.Size, c.Signed = ctype.Enum, t.Name(), t.Size(), t.Flag
	values := t.Values()
	negative := false
	for _, v := range values {
		negative = negative || !t.Flag && c.Size <= 4 && v.Value > math.MaxInt32
	}
	if negative {
		negative = !t.In.SignsEnums()
		c.Signed = negative
	}
	c.Lazy(func(c *ctype.Type) {
		if c.Size > 4 && !t.In.SignsEnums() {
			return
		}
		out := make([]ctype.Enumerator, len(values))
		for i, v := range values {
			out[i] = ctype.Enumerator{Name: v.Name, Value: int64(v.Value)}
			if negative {
				out[i].Value = int64(int32(v.Value))
			}
		}
		c.SetEnumerators(out)
	})
}

// fillArray: BTF writes int a[0] and int a[] alike, as no elements. The kernel
// uses both for what goes on behind a struct, so the length is not known.
func (cv *converter) fillArray(t raw.Type, c *ctype.Type) {
	elem, n := t.Elements()
	c.Kind, c.Elem, c.Count = ctype.Array, cv.convert(elem), n
	switch size := c.Elem.Size; {
	case c.Count == 0:
		c.Count = -1
	case size > 0 && c.Count <= (1<<50)/size:
		c.Size = c.Count * size
	}
}

func (cv *converter) fillStruct(t raw.Type, c *ctype.Type) {
	c.Name, c.Size = t.Name(), t.Size()
	c.Lazy(func(c *ctype.Type) {
		cv.mu.Lock()
		defer cv.mu.Unlock()
		members := t.Members()
		out := make([]ctype.Field, len(members))
		for i, m := range members {
			out[i] = ctype.Field{Name: m.Name, Type: cv.convert(t.In.Type(m.Type)), BitOffset: m.Offset, BitSize: m.BitSize}
		}
		c.SetFields(out)
	})
}

func (cv *converter) fillFunc(t raw.Type, c *ctype.Type) {
	c.Kind, c.Size = ctype.Func, 1
	c.Elem = cv.convert(t.Ref())
	params, variadic := parameters(&t)
	c.Variadic = variadic
	for _, p := range params {
		c.Params = append(c.Params, cv.convert(t.In.Type(p.Type)))
	}
}

// parameters splits off the mark of further arguments, a nameless void.
func parameters(t *raw.Type) (params []raw.Param, variadic bool) {
	params = t.Params()
	if n := len(params); n > 0 && params[n-1] == (raw.Param{}) {
		return params[:n-1], true
	}
	return params, false
}

// forward finds the definition that a declaration is of, by its name: in the BTF it is
// from, then in the kernel's. Without one, or with several that differ, the type is
// incomplete. The kernel's declarations are not completed by modules: those may have
// types of their own by the same names.
func (cv *converter) forward(t raw.Type) *ctype.Type {
	kind, of := ctype.Struct, raw.Struct
	if t.Flag {
		kind, of = ctype.Union, raw.Union
	}
	c := cv.definition(&t, func(*raw.Type) bool { return true }, of)
	if c == nil {
		c = &ctype.Type{Kind: kind, Name: t.Name(), Incomplete: true}
	}
	cv.types[keyOf(&t)] = c
	return c
}

// forwardEnum is forward for enumerations, whose declarations are such without values.
func (cv *converter) forwardEnum(t raw.Type) *ctype.Type {
	c := cv.definition(&t, func(d *raw.Type) bool { return d.Entries() > 0 }, raw.Enum, raw.Enum64)
	if c == nil {
		c = &ctype.Type{Kind: ctype.Enum, Name: t.Name(), Size: t.Size(), Signed: t.Flag, Incomplete: true}
	}
	cv.types[keyOf(&t)] = c
	return c
}

func (cv *converter) definition(t *raw.Type, want func(*raw.Type) bool, kinds ...raw.Kind) *ctype.Type {
	for _, in := range []*raw.BTF{t.In, t.In.Base()} {
		if in == nil {
			continue
		}
		var found []raw.Type
		for _, d := range in.Named(t.Name(), kinds...) {
			if want(&d) {
				found = append(found, d)
			}
		}
		if len(found) > 0 {
			if !alike(found) {
				return nil
			}
			return cv.convert(found[0])
		}
	}
	return nil
}

// alike reports whether definitions of one name have the same size and members.
func alike(defs []raw.Type) bool {
	for i := range defs[1:] {
		size, members := shape(&defs[0])
		size1, members1 := shape(&defs[i+1])
		if size != size1 || len(members) != len(members1) {
			return false
		}
		for i, m := range members {
			n := members1[i]
			if m.Name != n.Name || m.Offset != n.Offset || m.BitSize != n.BitSize {
				return false
			}
		}
	}
	return true
}

func shape(t *raw.Type) (int64, []raw.Member) {
	if !isEnum(t) {
		return t.Size(), t.Members()
	}
	values := t.Values()
	out := make([]raw.Member, len(values))
	for i, v := range values {
		out[i].Name = v.Name
	}
	return t.Size(), out
}

// PointerTag returns what the kernel says of the memory that a pointer type
// points to: "user", "percpu", "rcu", or "". Kernels compiled by GCC before
// version 16 do not say it.
func (cv *converter) PointerTag(t *ctype.Type) string {
	cv.mu.Lock()
	defer cv.mu.Unlock()
	return cv.tags[t.Strip()]
}

// key is which type of which BTF.
type key struct {
	in *raw.BTF
	id raw.ID
}

func keyOf(t *raw.Type) key { return key{t.In, t.ID} }
