package raw

import "encoding/binary"

// Kind is BTF_KIND_*.
type Kind uint8

const (
	Void Kind = iota
	Int
	Ptr
	Array
	Struct
	Union
	Enum
	Fwd
	Typedef
	Volatile
	Const
	Restrict
	Func
	FuncProto
	Var
	Datasec
	Float
	DeclTag
	TypeTag
	Enum64
	numKinds
	Invalid Kind = 255 // of a number that is no type's
)

// bodies are how many bytes follow the first 12 of a type: fixed, and for each of its
// entries.
var bodies = [numKinds]struct{ fixed, each int }{
	Int: {4, 0}, Array: {12, 0}, Struct: {0, 12}, Union: {0, 12}, Enum: {0, 8},
	FuncProto: {0, 8}, Var: {4, 0}, Datasec: {0, 12}, DeclTag: {4, 0}, Enum64: {0, 12},
}

// Type is a type as the BTF has it.
type Type struct {
	In   *BTF // whose own it is; nil for void
	ID   ID
	Kind Kind
	Flag bool // kind_flag: struct: bit-fields are written the new way; enum: signed; fwd: a union

	name, word uint32
	n          int // entries
	body       []byte
}

// Type is the type of a number.
func (x *BTF) Type(id ID) Type {
	switch {
	case id == 0:
		return Type{}
	case id < x.first && x.base != nil:
		return x.base.Type(id)
	case id < x.first || id >= x.end():
		return Type{ID: id, Kind: Invalid}
	}
	b := x.types[x.offsets[id-x.first]:]
	le := binary.LittleEndian
	info := le.Uint32(b[4:])
	k, n := Kind(info>>24&0x1f), int(info&0xffff)
	return Type{
		In: x, ID: id, Kind: k, Flag: info>>31 != 0, name: le.Uint32(b), word: le.Uint32(b[8:]), n: n,
		body: b[typeSize:][:bodies[k].fixed+n*bodies[k].each],
	}
}

// Same reports whether two are the same type. Each type of a kernel is there once.
func (t *Type) Same(u *Type) bool { return t.In == u.In && t.ID == u.ID }

// Name is "" where it has none.
func (t *Type) Name() string {
	if t.In == nil {
		return ""
	}
	return t.In.str(t.name)
}

// Size is in bytes, of kinds that have one.
func (t *Type) Size() int64 { return int64(t.word) }

// Ref is the type that this one refers to: what a pointer points to, what a typedef or
// a qualifier is of, the prototype of a function, the result of a prototype.
func (t *Type) Ref() Type { return t.In.Type(ID(t.word)) }

// Entries is how many members, constants or parameters there are.
func (t *Type) Entries() int { return t.n }

func (t *Type) u32(off int) uint32 { return binary.LittleEndian.Uint32(t.body[off:]) }

// Encoding is what an integer is, with the bits that old bit-fields have of it.
func (t *Type) Encoding() (encoding uint8, offset, bits int64) {
	v := t.u32(0)
	return uint8(v >> 24 & 0xf), int64(v >> 16 & 0xff), int64(v & 0xff)
}

// Elements are those of an array.
func (t *Type) Elements() (elem Type, n int64) { return t.In.Type(ID(t.u32(0))), int64(t.u32(8)) }

// Member is one of a struct or union.
type Member struct {
	Name            string
	Type            ID
	Offset, BitSize int64 // in bits; BitSize is 0 but for bit-fields
}

// Members are those of a struct or union. Both encodings of bit-fields are read: by the
// flag, and by integers of fewer bits than their size.
func (t *Type) Members() []Member {
	out := make([]Member, t.n)
	for i := range out {
		m := &out[i]
		m.Name, m.Type, m.Offset = t.In.str(t.u32(12*i)), ID(t.u32(12*i+4)), int64(t.u32(12*i+8))
		if t.Flag {
			m.Offset, m.BitSize = m.Offset&0xffffff, m.Offset>>24
			continue
		}
		if of := t.In.Type(m.Type); of.Kind == Int {
			if _, offset, bits := of.Encoding(); offset > 0 || bits != of.Size()*8 {
				m.Offset, m.BitSize = m.Offset+offset, bits
			}
		}
	}
	return out
}

// Value is a constant of an enumeration.
type Value struct {
	Name  string
	Value uint64
}

// Values are the constants of an enumeration; Flag reports whether they are signed.
func (t *Type) Values() []Value {
	out := make([]Value, t.n)
	each := bodies[t.Kind].each
	for i := range out {
		v := &out[i]
		v.Name = t.In.str(t.u32(each * i))
		low := t.u32(each*i + 4)
		switch {
		case t.Kind == Enum64:
			v.Value = uint64(t.u32(each*i+8))<<32 | uint64(low)
		case t.Flag:
			v.Value = uint64(int32(low))
		default:
			v.Value = uint64(low)
		}
	}
	return out
}

// Param is a parameter of a function's prototype.
type Param struct {
	Name string
	Type ID
}

// Params are those of a prototype.
func (t *Type) Params() []Param {
	out := make([]Param, t.n)
	for i := range out {
		out[i] = Param{t.In.str(t.u32(8 * i)), ID(t.u32(8*i + 4))}
	}
	return out
}
