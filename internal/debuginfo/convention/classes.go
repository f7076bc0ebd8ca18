package convention

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// eightbyte is the class of eight bytes of a value.
type eightbyte uint8

const (
	noClass eightbyte = iota
	sse
	sseUp // the high half of a vector register
	x87
	x87Up
	integer
)

// classes are those of a value of up to 16 bytes.
type classes [2]eightbyte

// x87 reports whether a value is a long double, which is returned on the stack of the x87 and passed in memory.
func (c *classes) x87() bool { return c[0] == x87 }

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
		return c.float(s, off)
	case ctype.Complex:
		if size > 16 {
			return inMemory
		}
		return c.merge(sse, off, size)
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer, ctype.Reference:
		return c.merge(integer, off, size)
	case ctype.Array:
		if s.Vector {
			return c.vector(s, off)
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

// float adds a number.
func (c *classes) float(s *ctype.Type, off int64) string {
	switch {
	case s.Size <= 8:
		return c.merge(sse, off, s.Size)
	case s.Size != 16:
		return "numbers of this size are not taken"
	case s.Quad():
		return c.pair(sse, sseUp, off)
	}
	return c.pair(x87, x87Up, off)
}

// largeVector is why a vector of more than 16 bytes is not available.
const largeVector = "options of the compiler (-mavx) decide whether a vector of this size is returned in a register or in memory"

// vector adds a vector. Compilers differ in small ones.
func (c *classes) vector(s *ctype.Type, off int64) string {
	switch {
	case s.Size == 16:
		return c.pair(sse, sseUp, off)
	case s.Size > 16:
		return largeVector
	case s.Size != 8 || s.Elem == nil || s.Elem.Strip().Size == 8 && s.Elem.Strip().Kind == ctype.Float:
		return "compilers return vectors of this size in different places"
	}
	return c.merge(sse, off, 8)
}

// pair adds a value of 16 bytes that has different classes in its halves.
func (c *classes) pair(low, high eightbyte, off int64) string {
	if off%16 != 0 {
		return inMemory
	}
	if why := c.merge(low, off, 8); why != "" {
		return why
	}
	return c.merge(high, off+8, 8)
}

// classify returns the classes of a value, inMemory, or why they are not known.
func classify(t *ctype.Type) (c classes, why string) {
	if why = c.add(t, 0, 0); why != "" {
		return c, why
	}
	switch {
	case c[1] == x87Up && c[0] != x87:
		return c, inMemory
	case c[1] == sseUp && c[0] != sse:
		c[1] = sse
	}
	return c, ""
}

// members adds the members of a structure. In C++ an empty one has no class.
func (c *classes) members(s *ctype.Type, off int64, depth int) string {
	if off+s.Size > 16 {
		// A structure of one large vector alone is returned in a register, others in memory.
		for _, f := range s.Fields() {
			if e := f.Type.Strip(); e.Kind == ctype.Array && e.Vector {
				return largeVector
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
	if s.Kind == ctype.Union && len(fields) > 1 && hasQuad(s, 0) {
		return "compilers return unions with numbers of 128 bits in different places" // gcc 12 as the ABI says, clang 14 in memory
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

// hasQuad reports whether a _Float128 is in a value.
func hasQuad(t *ctype.Type, depth int) bool {
	s := t.Strip()
	switch {
	case depth > 16:
		return true
	case s.Kind == ctype.Array && s.Elem != nil:
		return hasQuad(s.Elem, depth+1)
	case s.Kind == ctype.Struct || s.Kind == ctype.Union:
		return slices.ContainsFunc(s.Fields(), func(f ctype.Field) bool { return hasQuad(f.Type, depth+1) })
	}
	return s.Quad()
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
		if c[i] = merged(c[i], k); c[i] == noClass {
			return inMemory
		}
	}
	return ""
}

// merged is the class of eight bytes that have two; none: the value is in memory.
func merged(a, b eightbyte) eightbyte {
	a, b = min(a, b), max(a, b)
	switch {
	case a == b || a == noClass || b == integer:
		return b
	case b == x87 || b == x87Up:
		return noClass
	}
	return sse
}
