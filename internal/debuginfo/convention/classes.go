package convention

import "github.com/jalon-trace/jalon/internal/ctype"

// eightbyte is the class of eight bytes of a value.
type eightbyte uint8

const (
	noClass eightbyte = iota
	sse
	integer
)

// classes are those of a value of up to 16 bytes.
type classes [2]eightbyte

// x87 is why a value with a long double is not available.
const x87 = "values with a long double besides others are not taken"

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

// inMemory: a value is passed and returned in memory.
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
		case size == 16 && s.Quad():
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
		case size == 32 && depth == 0 && !s.Quad():
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
