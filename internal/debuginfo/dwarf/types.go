package dwarf

import "github.com/jalon-trace/jalon/internal/ctype"

// maxTypes bounds the cache of converted types.
const maxTypes = 200_000

// typeOf converts the type that an entry's DW_AT_type names; none is void.
func (m *Module) typeOf(d die) *ctype.Type {
	t, ok := d.ref(atType)
	if !ok {
		if v, has := d.deep(atType); has && v.IsRef() {
			return &ctype.Type{Kind: ctype.Invalid, Name: "<type in a missing debug file>", Incomplete: true}
		}
		return ctype.VoidT
	}
	return m.convert(t)
}

// convert makes the C type of a type entry. A type under construction is
// already in the cache, so cycles end.
func (m *Module) convert(d die) *ctype.Type {
	if t := m.types.m[d.key()]; t != nil {
		return t
	}
	if m.types.m == nil || len(m.types.m) > maxTypes {
		m.types.m = map[dieKey]*ctype.Type{}
		m.types.depth = 0
	}
	if m.types.depth > 400 {
		return &ctype.Type{Kind: ctype.Invalid, Name: "<type nested too deep>"}
	}
	m.types.depth++
	defer func() { m.types.depth-- }()
	t := &ctype.Type{}
	m.types.m[d.key()] = t
	if fill, ok := typeMakers[d.ab.tag]; ok {
		fill(m, d, t)
	} else {
		t.Kind, t.Name = ctype.Invalid, "<unknown type>"
	}
	return t
}

// typeMakers fills a type by the tag of its entry.
var typeMakers map[uint16]func(m *Module, d die, t *ctype.Type)

func init() {
	wrap := func(kind ctype.Kind) func(*Module, die, *ctype.Type) {
		return func(m *Module, d die, t *ctype.Type) {
			t.Kind = kind
			t.Elem = m.typeOf(d)
			t.Size = t.Elem.Size
		}
	}
	pointer := func(kind ctype.Kind) func(*Module, die, *ctype.Type) {
		return func(m *Module, d die, t *ctype.Type) {
			t.Kind, t.Size = kind, 8
			t.Elem = m.typeOf(d)
		}
	}
	typeMakers = map[uint16]func(*Module, die, *ctype.Type){
		tagBaseType:          makeBase,
		tagUnspecifiedType:   func(m *Module, d die, t *ctype.Type) { t.Kind, t.Name = ctype.Void, d.name() },
		tagPointerType:       pointer(ctype.Pointer),
		tagReferenceType:     pointer(ctype.Reference),
		tagRvalueRefType:     pointer(ctype.Reference),
		tagPtrToMemberType:   makeMemberPointer,
		tagConstType:         wrap(ctype.Const),
		tagImmutableType:     wrap(ctype.Const),
		tagVolatileType:      wrap(ctype.Volatile),
		tagRestrictType:      wrap(ctype.Restrict),
		tagAtomicType:        wrap(ctype.Atomic),
		tagTypedef:           makeTypedef,
		tagTemplateAlias:     makeTypedef,
		tagArrayType:         makeArray,
		tagStringType:        makeString,
		tagStructType:        makeStruct,
		tagClassType:         makeStruct,
		tagInterfaceType:     makeStruct,
		tagUnionType:         makeStruct,
		tagEnumerationType:   makeEnum,
		tagSubroutineType:    makeFunc,
		tagSubprogram:        makeFunc,
		tagImportedDecl:      func(m *Module, d die, t *ctype.Type) { t.Kind, t.Name = ctype.Invalid, d.name() },
		tagSubrangeType:      makeSubrange,
		tagImportedModule:    func(m *Module, d die, t *ctype.Type) { t.Kind, t.Name = ctype.Invalid, d.name() },
		tagInlinedSubroutine: makeFunc,
	}
}

func (d die) size() int64 {
	n, _ := d.num(atByteSize)
	if n > 1<<50 {
		return 0
	}
	return int64(n)
}

func makeBase(m *Module, d die, t *ctype.Type) {
	t.Name, t.Size = d.name(), d.size()
	enc, _ := d.num(atEncoding)
	switch enc {
	case ateBoolean:
		t.Kind = ctype.Bool
	case ateSigned:
		t.Kind, t.Signed = ctype.Int, true
	case ateUnsigned, ateAddress:
		t.Kind = ctype.Int
	case ateSignedChar:
		t.Kind, t.Signed = ctype.Char, true
	case ateUnsignedChar, ateUTF, ateUCS, ateASCII:
		t.Kind = ctype.Char
	case ateFloat:
		t.Kind = ctype.Float
	case ateComplexFloat:
		t.Kind = ctype.Complex
	default:
		t.Kind = ctype.Invalid
	}
}

// makeTypedef names another type. Its size is the other's.
func makeTypedef(m *Module, d die, t *ctype.Type) {
	t.Kind, t.Name = ctype.Typedef, d.typeName()
	t.Elem = m.typeOf(d)
	t.Size = t.Elem.Size
}

// makeSubrange is a type of its own only in other languages: its base type.
func makeSubrange(m *Module, d die, t *ctype.Type) {
	t.Kind, t.Name = ctype.Typedef, d.name()
	t.Elem = m.typeOf(d)
	t.Size = t.Elem.Size
}

// makeMemberPointer shows a C++ pointer to member as the integers it is made of:
// an offset, or for functions an address and an adjustment.
func makeMemberPointer(m *Module, d die, t *ctype.Type) {
	if to, ok := d.ref(atType); ok && to.ab.tag == tagSubroutineType {
		t.Kind, t.Elem, t.Count, t.Size = ctype.Array, ctype.LongT, 2, 16
		return
	}
	*t = ctype.Type{Kind: ctype.Int, Name: "long", Size: 8, Signed: true}
}

func makeFunc(m *Module, d die, t *ctype.Type) {
	t.Kind, t.Size = ctype.Func, 1
	t.Elem = m.typeOf(d)
	src := d
	if o, ok := d.origin(); ok && d.ab.tag != tagSubroutineType && !d.ab.children {
		src = o
	}
	for c := range src.children() {
		switch c.ab.tag {
		case tagFormalParameter:
			t.Params = append(t.Params, m.typeOf(c))
		case tagUnspecifiedParams:
			t.Variadic = true
		}
		if len(t.Params) > 1000 {
			return
		}
	}
}

// typeName is the name of a tag or typedef, with its scopes in C++ and similar languages.
func (d die) typeName() string {
	n := d.name()
	if n == "" || d.u.isC() {
		return n
	}
	return d.qualified()
}
