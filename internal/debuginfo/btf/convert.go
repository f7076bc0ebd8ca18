package btf

import (
	"math"

	ebtf "github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// maxDepth bounds chains of types (pointer to const pointer to array ...).
const maxDepth = 400

// typeOf is convert for callers without the lock.
func (k *Kernel) typeOf(u *unit, t ebtf.Type) *ctype.Type {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.convert(u, t)
}

// convert makes the C type of a BTF type of unit u or of the kernel. A type under
// construction is already in the cache, so cycles end. Members are converted
// when first asked for. The caller holds k.mu, and must not ask for members.
func (k *Kernel) convert(u *unit, t ebtf.Type) *ctype.Type {
	if _, ok := t.(*ebtf.Void); ok {
		return ctype.VoidT
	}
	if c := k.types[t]; c != nil {
		return c
	}
	if k.depth > maxDepth {
		return &ctype.Type{Kind: ctype.Invalid, Name: "<type nested too deep>"}
	}
	k.depth++
	defer func() { k.depth-- }()
	switch t := t.(type) {
	case *ebtf.TypeTag:
		return k.convert(u, t.Type)
	case *ebtf.Fwd:
		return k.forward(u, t)
	case *ebtf.Enum:
		if len(t.Values) == 0 {
			return k.forwardEnum(u, t)
		}
	}
	c := &ctype.Type{}
	k.types[t] = c
	k.fill(u, t, c)
	return c
}

func (k *Kernel) fill(u *unit, t ebtf.Type, c *ctype.Type) {
	switch t := t.(type) {
	case *ebtf.Int:
		fillInt(t, c)
	case *ebtf.Float:
		c.Kind, c.Name, c.Size = ctype.Float, t.Name, int64(t.Size)
	case *ebtf.Enum:
		fillEnum(u, t, c)
	case *ebtf.Pointer:
		c.Kind, c.Size = ctype.Pointer, 8
		c.Elem = k.convert(u, t.Target)
		if tag, ok := t.Target.(*ebtf.TypeTag); ok {
			k.tags[c] = tag.Value
		}
	case *ebtf.Array:
		k.fillArray(u, t, c)
	case *ebtf.Struct:
		c.Kind = ctype.Struct
		k.fillStruct(u, t.Name, t.Size, t.Members, c)
	case *ebtf.Union:
		c.Kind = ctype.Union
		k.fillStruct(u, t.Name, t.Size, t.Members, c)
	case *ebtf.FuncProto:
		k.fillFunc(u, t, c)
	case *ebtf.Typedef:
		c.Name = t.Name
		k.wrap(u, ctype.Typedef, t.Type, c)
	case *ebtf.Const:
		k.wrap(u, ctype.Const, t.Type, c)
	case *ebtf.Volatile:
		k.wrap(u, ctype.Volatile, t.Type, c)
	case *ebtf.Restrict:
		k.wrap(u, ctype.Restrict, t.Type, c)
	default: // functions and variables are no types
		c.Kind, c.Name = ctype.Invalid, "<unknown type>"
	}
}

func (k *Kernel) wrap(u *unit, kind ctype.Kind, t ebtf.Type, c *ctype.Type) {
	c.Kind = kind
	c.Elem = k.convert(u, t)
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
func fillInt(t *ebtf.Int, c *ctype.Type) {
	c.Kind, c.Name, c.Size = ctype.Int, t.Name, int64(t.Size)
	c.Signed = t.Encoding&encSigned != 0
	switch {
	case t.Encoding&encBool != 0:
		c.Kind = ctype.Bool
	case t.Encoding&encChar != 0:
		c.Kind = ctype.Char
	case t.Name == "float" || t.Name == "double" || t.Name == "long double":
		c.Kind = ctype.Float // as pahole writes it when not asked for floats
	case t.Size == 1 && (t.Name == "char" || t.Name == "signed char" || t.Name == "unsigned char"):
		c.Kind = ctype.Char
	}
}

// fillEnum: in BTF without marks of signed enumerations, one with a constant from
// 2^31 on has a negative one, and what is wider than 32 bits was cut off: such
// constants are left out.
func fillEnum(u *unit, t *ebtf.Enum, c *ctype.Type) {
	c.Kind, c.Name, c.Size, c.Signed = ctype.Enum, t.Name, int64(t.Size), t.Signed
	negative := false
	for _, v := range t.Values {
		negative = negative || !t.Signed && t.Size <= 4 && v.Value > math.MaxInt32
	}
	if negative {
		x, err := u.index()
		negative = err == nil && !x.signs
		c.Signed = negative
	}
	c.Lazy(func(c *ctype.Type) {
		if t.Size > 4 {
			if x, err := u.index(); err == nil && !x.signs {
				return
			}
		}
		out := make([]ctype.Enumerator, len(t.Values))
		for i, v := range t.Values {
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
func (k *Kernel) fillArray(u *unit, t *ebtf.Array, c *ctype.Type) {
	c.Kind, c.Elem, c.Count = ctype.Array, k.convert(u, t.Type), int64(t.Nelems)
	switch size := c.Elem.Size; {
	case c.Count == 0:
		c.Count = -1
	case size > 0 && c.Count <= (1<<50)/size:
		c.Size = c.Count * size
	}
}

// fillStruct: the library has read both encodings of bit-fields (kind_flag, and
// integers of fewer bits than their size).
func (k *Kernel) fillStruct(u *unit, name string, size uint32, members []ebtf.Member, c *ctype.Type) {
	c.Name, c.Size = name, int64(size)
	c.Lazy(func(c *ctype.Type) {
		k.mu.Lock()
		defer k.mu.Unlock()
		out := make([]ctype.Field, len(members))
		for i, m := range members {
			out[i] = ctype.Field{
				Name: m.Name, Type: k.convert(u, m.Type),
				BitOffset: int64(m.Offset), BitSize: int64(m.BitfieldSize),
			}
		}
		c.SetFields(out)
	})
}

func (k *Kernel) fillFunc(u *unit, t *ebtf.FuncProto, c *ctype.Type) {
	c.Kind, c.Size = ctype.Func, 1
	c.Elem = k.convert(u, t.Return)
	params, variadic := parameters(t)
	c.Variadic = variadic
	for _, p := range params {
		c.Params = append(c.Params, k.convert(u, p.Type))
	}
}

// parameters splits off the mark of further arguments, a nameless void.
func parameters(t *ebtf.FuncProto) (params []ebtf.FuncParam, variadic bool) {
	params = t.Params
	if n := len(params); n > 0 && params[n-1].Name == "" {
		if _, ok := params[n-1].Type.(*ebtf.Void); ok {
			return params[:n-1], true
		}
	}
	return params, false
}

// forward finds the definition that a declaration stands for, by its name: in
// the unit it is from, then in the kernel. Without one, or with several that
// differ, the type is incomplete.
func (k *Kernel) forward(u *unit, t *ebtf.Fwd) *ctype.Type {
	c := k.definition(u, t, t.Name, func(d ebtf.Type) bool {
		switch d.(type) {
		case *ebtf.Struct:
			return t.Kind == ebtf.FwdStruct
		case *ebtf.Union:
			return t.Kind == ebtf.FwdUnion
		}
		return false
	})
	if c == nil {
		c = &ctype.Type{Kind: ctype.Struct, Name: t.Name, Incomplete: true}
		if t.Kind == ebtf.FwdUnion {
			c.Kind = ctype.Union
		}
	}
	k.types[t] = c
	return c
}

// forwardEnum is forward for enumerations, whose declarations are such without values.
func (k *Kernel) forwardEnum(u *unit, t *ebtf.Enum) *ctype.Type {
	c := k.definition(u, t, t.Name, func(d ebtf.Type) bool {
		e, ok := d.(*ebtf.Enum)
		return ok && len(e.Values) > 0
	})
	if c == nil {
		c = &ctype.Type{Kind: ctype.Enum, Name: t.Name, Size: int64(t.Size), Signed: t.Signed, Incomplete: true}
	}
	k.types[t] = c
	return c
}

func (k *Kernel) definition(u *unit, t ebtf.Type, name string, want func(ebtf.Type) bool) *ctype.Type {
	if name == "" {
		return nil
	}
	for _, in := range []*unit{u, k.base} {
		if found := in.named(name, want); len(found) > 0 {
			if !alike(found) {
				return nil
			}
			return k.convert(in, found[0])
		}
	}
	return nil
}

// alike reports whether definitions of one name have the same size and members.
func alike(defs []ebtf.Type) bool {
	for _, d := range defs[1:] {
		size, members := shape(defs[0])
		size1, members1 := shape(d)
		if size != size1 || len(members) != len(members1) {
			return false
		}
		for i, m := range members {
			n := members1[i]
			if m.Name != n.Name || m.Offset != n.Offset || m.BitfieldSize != n.BitfieldSize {
				return false
			}
		}
	}
	return true
}

func shape(t ebtf.Type) (uint32, []ebtf.Member) {
	switch t := t.(type) {
	case *ebtf.Struct:
		return t.Size, t.Members
	case *ebtf.Union:
		return t.Size, t.Members
	case *ebtf.Enum:
		out := make([]ebtf.Member, len(t.Values))
		for i, v := range t.Values {
			out[i].Name = v.Name
		}
		return t.Size, out
	}
	return 0, nil
}
