package types

// Same reports whether two types have the same values in the same form.
func Same(a, b *Type) bool {
	if a == b {
		return true
	}
	if a.Kind != b.Kind || a.Size != b.Size || a.Signed != b.Signed || a.Float != b.Float || a.Count != b.Count || len(a.Fields) != len(b.Fields) {
		return false
	}
	switch a.Kind {
	case Struct:
		return a.C == b.C || CName(a.C) == CName(b.C) && a.C.Name != ""
	case Pointer:
		return samePointee(a, b, Same)
	case Array:
		return Same(a.Elem, b.Elem)
	case KStack, UStack:
		return a.Stack == b.Stack
	case Tuple, Record:
		for i := range a.Fields {
			if a.Fields[i].Name != b.Fields[i].Name || !Same(a.Fields[i].Type, b.Fields[i].Type) {
				return false
			}
		}
	}
	return true
}

// samePointee compares what pointers point to. Structs are compared by name, because they may contain pointers
// to themselves.
func samePointee(a, b *Type, same func(a, b *Type) bool) bool {
	if a.pointee != nil && a.pointee == b.pointee {
		return true
	}
	return same(a.Pointee(), b.Pointee())
}

// Compatible reports whether values of two types can be compared, and kept in one variable of a larger type.
func Compatible(a, b *Type) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Struct:
		return a.C == b.C || CName(a.C) == CName(b.C)
	case Pointer:
		return samePointee(a, b, Compatible)
	case KStack, UStack:
		return a.Stack == b.Stack
	case Array:
		return Same(a.Elem, b.Elem) && (a.Count == b.Count || a.Count == 0 || b.Count == 0)
	case Tuple:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for i := range a.Fields {
			if !Compatible(a.Fields[i].Type, b.Fields[i].Type) {
				return false
			}
		}
	case Record:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for _, f := range a.Fields {
			if g, ok := b.Field(f.Name); !ok || !Compatible(f.Type, g.Type) {
				return false
			}
		}
	}
	return true
}

// Promote returns the type of a variable of type cur that is also to hold values of type add; nil if there is
// none. An aggregation gives the number that it has as value if cur is None.
func Promote(cur, add *Type) *Type {
	switch {
	case cur.Kind == None && add.Castable():
		return add.Number()
	case cur.Kind == None:
		return add
	case mixed(cur, add) && (cur.Floating() || add.Floating()):
		return FloatT
	case cur.Kind == Int && add.Castable(), add.Kind == Int && cur.Castable():
		return promoteInt(cur, add)
	case !Compatible(cur, add):
		return nil
	}
	return promote(cur, add)
}

// mixed reports numbers of different kinds of which one is no aggregation.
func mixed(a, b *Type) bool {
	number := func(t *Type) bool { return t.Is(Int, Float) || t.Castable() }
	return a.Kind != b.Kind && number(a) && number(b) && (a.Is(Int, Float) || b.Is(Int, Float))
}

// promote is Promote for compatible types.
func promote(cur, add *Type) *Type {
	switch cur.Kind {
	case Int:
		return promoteInt(cur, add)
	case Float, String, Buffer:
		if add.Size > cur.Size {
			return add
		}
	case Sum, Min, Max, Avg, Stats, Count, Hist, LHist, TSeries:
		if add.Float && !cur.Float || !cur.Float && !cur.Signed && add.Signed {
			return add
		}
	case Tuple, Record:
		return promoteFields(cur, add)
	case Array:
		if cur.Count == 0 {
			return add
		}
	}
	return cur
}

func promoteFields(cur, add *Type) *Type {
	fields := make([]Field, len(cur.Fields))
	changed := false
	for i, f := range cur.Fields {
		g := add.Fields[i]
		if cur.Kind == Record {
			g, _ = add.Field(f.Name)
		}
		fields[i] = Field{Name: f.Name, Type: promote(f.Type, g.Type)}
		changed = changed || fields[i].Type != f.Type
	}
	if !changed {
		return cur
	}
	return layout(cur.Kind, fields)
}

// promoteInt returns the integer type that holds the values of both; int64 if that would need more than 8 bytes.
func promoteInt(a, b *Type) *Type {
	if a.Size == b.Size && a.Signed == b.Signed && a.Flexible == b.Flexible {
		if a.C != nil && (b.C == nil || a.C != b.C) {
			return flexible(IntOf(a.Size, a.Signed), a.Flexible)
		}
		return a
	}
	size := max(a.Size, b.Size)
	flex := a.Flexible && b.Flexible
	switch {
	case a.Signed == b.Signed:
		return flexible(IntOf(size, a.Signed), flex)
	case a.Flexible || b.Flexible:
		return flexible(IntOf(size, !a.Flexible && a.Signed || !b.Flexible && b.Signed), flex)
	case a.Signed && a.Size > b.Size, b.Signed && b.Size > a.Size:
		return IntOf(size, true)
	}
	return IntOf(min(2*size, 8), true)
}

// flexible returns an integer type as that of a non-negative literal.
func flexible(t *Type, is bool) *Type {
	if !is {
		return t
	}
	c := *t
	c.Flexible = true
	return &c
}

// Fits reports whether a variable of type to holds all values of type from.
func Fits(from, to *Type) bool {
	if from.Kind == Float && to.Kind == Float {
		return from.Size <= to.Size
	}
	if !Compatible(from, to) {
		return false
	}
	switch from.Kind {
	case String:
		return from.Size <= to.Size
	case Int:
		switch {
		case from.Signed == to.Signed || from.Flexible:
			return from.Size <= to.Size
		case from.Signed:
			return false
		}
		return from.Size < to.Size
	case Tuple, Record:
		for i, f := range from.Fields {
			g := to.Fields[i]
			if from.Kind == Record {
				g, _ = to.Field(f.Name)
			}
			if !Fits(f.Type, g.Type) {
				return false
			}
		}
		return true
	}
	return Same(from, to)
}

// OfUint returns the smallest type of a non-negative literal, OfInt that of another integer constant.
func OfUint(v uint64) *Type {
	switch {
	case v < 1<<7:
		return flexible(Int8, true)
	case v < 1<<15:
		return flexible(Int16, true)
	case v < 1<<31:
		return flexible(Int32, true)
	case v < 1<<63:
		return flexible(Int64, true)
	}
	return Uint64
}

// OfInt returns the smallest signed type that holds v.
func OfInt(v int64) *Type {
	switch {
	case v >= -1<<7 && v < 1<<7:
		return Int8
	case v >= -1<<15 && v < 1<<15:
		return Int16
	case v >= -1<<31 && v < 1<<31:
		return Int32
	}
	return Int64
}
