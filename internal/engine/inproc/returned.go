package inproc

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// returned is the variable $retval at a return of a function: its location follows from its type by the
// calling convention. Nil: the function returns nothing.
func (w *Site) returned() *debuginfo.Variable {
	r := w.mod.dw.Returned(w.site.Addr)
	v := &debuginfo.Variable{Name: "retval", Kind: debuginfo.Local}
	switch {
	case r.Why != "":
		v.Type = ctype.ULongT
		if len(r.Results) == 1 {
			v.Type = r.Results[0].Type
		}
		v.Loc.Unavailable = r.Why
	case len(r.Results) == 0:
		return nil
	case r.Go:
		v.Type, v.Loc = inGoRegisters(r.Results)
	case r.Rust:
		v.Type = r.Results[0].Type
		v.Loc = w.ofRust(v.Type, r.Unproved)
	default:
		v.Type = r.Results[0].Type
		v.Loc = inCRegisters(v.Type, r.Memory)
		if r.Unproved && v.Loc.Unavailable == "" {
			if p := (place{v.Loc, registersOf(v.Loc)}); p.regs != 0 {
				v.Loc = w.proved([]place{p}, true)
			} else {
				v.Loc = debuginfo.Location{Unavailable: mayBeRemoved}
			}
		}
	}
	return v
}

// eightbyte is the class of eight bytes of a result: psABI 3.2.3.
type eightbyte uint8

const (
	noClass eightbyte = iota
	sse
	integer
)

// classes are those of a result of up to 16 bytes.
type classes [2]eightbyte

// x87 is why a value with a long double is not available.
const x87 = "values with a long double besides others are not taken"

// inCRegisters is where a function of C or C++ returns a value of type t. memory: it is returned in memory
// whatever its members are.
func inCRegisters(t *ctype.Type, memory bool) debuginfo.Location {
	s := t.Strip()
	switch {
	case s.Size <= 0 || s.Incomplete || s.Kind == ctype.Invalid:
		return debuginfo.Location{Unavailable: "its type is not known"}
	case memory:
		return behindRAX()
	case s.Kind == ctype.Array && s.Vector:
		if s.Size == 16 {
			return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: int(amd64.DwarfXMM0), BitSize: 128}}}
		}
		if s.Size != 8 {
			return debuginfo.Location{Unavailable: "only the low 16 bytes of vector registers are taken"}
		}
	}
	if onX87(s) {
		// The state of the x87 has st1 behind st0: the parts of a complex number.
		return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: dwarfST0, BitSize: s.Size * 8}}}
	}
	var c classes
	switch why := c.add(s, 0, 0); {
	case why == inMemory:
		return behindRAX()
	case why != "":
		return debuginfo.Location{Unavailable: why}
	}
	return c.registers(s.Size)
}

// behindRAX: the caller has passed the address of the result, and rax has it at the return.
func behindRAX() debuginfo.Location {
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(amd64.Processor.LargeResult)}}}}}
}

// dwarfST0 is the number of the top of the x87's stack.
const dwarfST0 = 33

// onX87 reports whether a result is returned on the stack of the x87: a long double, also as the only member of a
// structure, or a complex number of them.
func onX87(s *ctype.Type) bool {
	switch {
	case strings.Contains(s.Name, "128"): // _Float128 and __float128 are not
		return false
	case s.Size == 16 && (s.Kind == ctype.Struct || s.Kind == ctype.Array && !s.Vector && s.Count == 1):
		inner := only(s)
		return inner != nil && inner.Kind != ctype.Complex && onX87(inner)
	case s.Kind == ctype.Float:
		return s.Size == 16
	}
	return s.Kind == ctype.Complex && s.Size == 32
}

// only is the type of the only member or element of a value, which has its size; nil if there are others.
func only(s *ctype.Type) *ctype.Type {
	if s.Kind == ctype.Array && s.Elem != nil {
		return s.Elem.Strip()
	}
	f := s.Fields()
	if len(f) != 1 || f[0].BitSize != 0 || f[0].BitOffset != 0 || f[0].Virtual {
		return nil
	}
	if t := f[0].Type.Strip(); t.Size == s.Size {
		return t
	}
	return nil
}

// inMemory says that a result is returned in memory.
const inMemory = "memory"

// add merges the class of an object at an offset. The result is inMemory, or why the class is not known.
func (c *classes) add(t *ctype.Type, off int64, depth int) string {
	s := t.Strip()
	size := s.Size
	if depth > 16 || size < 0 {
		return "its type is not known"
	}
	switch s.Kind {
	case ctype.Float:
		switch {
		case size == 16 && s.Name == "_Float128" || size == 16 && s.Name == "__float128":
			return "a number of 128 bits is not taken"
		case size > 8 && off == 0 && depth == 0:
			return x87
		case size > 8 && size+off > 16:
			return inMemory
		case size > 8:
			return x87
		}
		return c.merge(sse, off, size)
	case ctype.Complex:
		switch {
		case size == 32 && depth == 0:
			return x87
		case size > 16:
			return inMemory
		}
		return c.merge(sse, off, size)
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer, ctype.Reference:
		return c.merge(integer, off, size)
	case ctype.Array:
		if s.Vector {
			if depth > 0 {
				return "vectors in structures are not taken"
			}
			return c.merge(sse, off, size)
		}
		if off+size > 16 {
			return inMemory
		}
		for i := int64(0); i < s.Count && s.Elem != nil; i++ {
			if why := c.add(s.Elem, off+i*s.Elem.Strip().Size, depth+1); why != "" {
				return why
			}
		}
		return ""
	case ctype.Struct, ctype.Union:
		return c.members(s, off, depth)
	}
	return "its type is not known"
}

// members adds the members of a structure. In C++ an empty one has no class.
func (c *classes) members(s *ctype.Type, off int64, depth int) string {
	if off+s.Size > 16 {
		// A structure of one large vector alone is returned in a register, others in memory: not decided here.
		for _, f := range s.Fields() {
			if e := f.Type.Strip(); e.Kind == ctype.Array && e.Vector {
				return "vectors in structures are not taken"
			}
		}
		return inMemory
	}
	fields := s.Fields()
	if v := s.Variants(); v != nil {
		if fields = nil; v.Discr != nil {
			fields = append(fields, *v.Discr)
		}
		for _, x := range v.List {
			fields = append(fields, x.Field)
		}
	}
	for _, f := range fields {
		switch {
		case f.Virtual:
			return inMemory
		case f.BitSize > 0:
			if f.Name == "" {
				continue
			}
			lo, hi := off*8+f.BitOffset, off*8+f.BitOffset+f.BitSize
			if why := c.merge(integer, lo/8, (hi+7)/8-lo/8); why != "" {
				return why
			}
			continue
		}
		at := off + f.BitOffset/8
		if a := alignment(f.Type, 0); a > 0 && at%a != 0 {
			return inMemory
		}
		if why := c.add(f.Type, at, depth+1); why != "" {
			return why
		}
	}
	return ""
}

// alignment is the natural one of a type.
func alignment(t *ctype.Type, depth int) int64 {
	s := t.Strip()
	switch {
	case depth > 16:
		return 1
	case s.Kind == ctype.Array && !s.Vector && s.Elem != nil:
		return alignment(s.Elem, depth+1)
	case s.Kind == ctype.Complex:
		return s.Size / 2
	case s.Kind == ctype.Struct || s.Kind == ctype.Union:
		return 1 // its members are looked at
	}
	return s.Size
}

// merge adds a class to the eightbytes of [off, off+size).
func (c *classes) merge(k eightbyte, off, size int64) string {
	for i := off / 8; i <= (off+size-1)/8 && size > 0; i++ {
		if i > 1 || i < 0 {
			return inMemory
		}
		c[i] = max(c[i], k)
	}
	return ""
}

// registers assigns registers to the eightbytes of a result of size bytes.
func (c *classes) registers(size int64) debuginfo.Location {
	general, vector := amd64.Processor.Results, amd64.Processor.Vector0
	var l debuginfo.Location
	for i := int64(0); i*8 < size; i++ {
		p := debuginfo.Piece{Kind: debuginfo.InRegister, BitSize: min(size-i*8, 8) * 8}
		switch c[i] {
		case integer:
			p.Reg, general = int(general[0]), general[1:]
		case sse:
			p.Reg, vector = int(vector), vector+1
		default:
			p.Kind = debuginfo.IsMissing
		}
		l.Pieces = append(l.Pieces, p)
	}
	return l
}
