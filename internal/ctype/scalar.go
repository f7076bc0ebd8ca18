package ctype

// Extend cuts an integer to size bytes and extends it to 64 bits. Other sizes than 1, 2 and 4 leave it as it is.
func Extend(n uint64, size int64, signed bool) uint64 {
	if size != 1 && size != 2 && size != 4 {
		return n
	}
	shift := 64 - 8*uint(size)
	if signed {
		return uint64(int64(n<<shift) >> shift)
	}
	return n << shift >> shift
}

// CMember finds a member of a C struct or union by name, also in anonymous ones. off is in bits, from the start of t.
func (t *Type) CMember(name string) (f Field, off int64, ok bool) { return t.cmember(name, 0) }

func (t *Type) cmember(name string, depth int) (f Field, off int64, ok bool) {
	for _, f := range t.Fields() {
		if f.Name == name && name != "" {
			return f, f.BitOffset, true
		}
	}
	for _, f := range t.Fields() {
		inner := f.Type.Strip()
		if f.Name == "" && (inner.Kind == Struct || inner.Kind == Union) && depth < maxNesting {
			if g, off, ok := inner.cmember(name, depth+1); ok {
				return g, f.BitOffset + off, true
			}
		}
	}
	return Field{}, 0, false
}
