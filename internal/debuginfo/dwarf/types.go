package dwarf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// types converts entries to C types.
type types struct {
	*info
	cache typeCache
}

// maxTypes bounds the cache of converted types.
const maxTypes = 200_000

// typeOf converts the type that an entry's DW_AT_type names; none is void.
func (ts *types) typeOf(d die) *ctype.Type {
	t, ok := d.ref(atType)
	if !ok {
		if v, has := d.deep(atType); has && v.IsRef() {
			return &ctype.Type{Kind: ctype.Invalid, Name: "<type in a missing debug file>", Incomplete: true}
		}
		return ctype.VoidT
	}
	return ts.convert(t)
}

// convert makes the C type of a type entry. A type under construction is
// already in the cache, so cycles end.
func (ts *types) convert(d die) *ctype.Type {
	if t := ts.cache.m[d.key()]; t != nil {
		return t
	}
	if ts.cache.m == nil || len(ts.cache.m) > maxTypes {
		ts.cache.m = map[dieKey]*ctype.Type{}
		ts.cache.depth = 0
	}
	if ts.cache.depth > 400 {
		return &ctype.Type{Kind: ctype.Invalid, Name: "<type nested too deep>"}
	}
	ts.cache.depth++
	defer func() { ts.cache.depth-- }()
	t := &ctype.Type{}
	ts.cache.m[d.key()] = t
	if fill, ok := typeMakers[d.ab.tag]; ok {
		fill(ts, d, t)
	} else {
		t.Kind, t.Name = ctype.Invalid, "<unknown type>"
	}
	return t
}

// typeMakers fills a type by the tag of its entry.
var typeMakers map[uint16]func(ts *types, d die, t *ctype.Type)

func init() {
	wrap := func(kind ctype.Kind) func(*types, die, *ctype.Type) {
		return func(ts *types, d die, t *ctype.Type) {
			t.Kind = kind
			t.Elem = ts.typeOf(d)
			t.Size = t.Elem.Size
		}
	}
	pointer := func(kind ctype.Kind) func(*types, die, *ctype.Type) {
		return func(ts *types, d die, t *ctype.Type) {
			t.Kind, t.Size = kind, 8
			t.Elem = ts.typeOf(d)
			t.Borrows = d.u.isRust() && isBorrow(d.name())
		}
	}
	typeMakers = map[uint16]func(*types, die, *ctype.Type){
		tagBaseType:          makeBase,
		tagUnspecifiedType:   func(ts *types, d die, t *ctype.Type) { t.Kind, t.Name = ctype.Void, d.name() },
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
		tagImportedDecl:      func(ts *types, d die, t *ctype.Type) { t.Kind, t.Name = ctype.Invalid, d.name() },
		tagSubrangeType:      makeSubrange,
		tagImportedModule:    func(ts *types, d die, t *ctype.Type) { t.Kind, t.Name = ctype.Invalid, d.name() },
		tagInlinedSubroutine: makeFunc,
	}
}

// isBorrow: the name of a pointer type of Rust that is a reference or a Box, not a raw pointer.
func isBorrow(name string) bool {
	return strings.HasPrefix(name, "&") || strings.HasPrefix(name, "alloc::boxed::Box<")
}

func (d die) size() int64 {
	n, _ := d.num(atByteSize)
	if n > 1<<50 {
		return 0
	}
	return int64(n)
}

func makeBase(ts *types, d die, t *ctype.Type) {
	t.Name, t.Size = d.name(), d.size()
	enc, _ := d.num(atEncoding)
	if t.Name == "()" && t.Size == 0 { // Rust's value without data
		t.Kind = ctype.Struct
		return
	}
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
	if why := d.otherwise(t); why != "" {
		t.Kind, t.Name = ctype.Invalid, t.Name+why
	}
}

// makeTypedef names another type. Its size is the other's.
func makeTypedef(ts *types, d die, t *ctype.Type) {
	t.Kind, t.Name = ctype.Typedef, typeName(d)
	t.Elem = ts.typeOf(d)
	t.Size = t.Elem.Size
}

// makeSubrange is a type of its own only in other languages: its base type.
func makeSubrange(ts *types, d die, t *ctype.Type) {
	t.Kind, t.Name = ctype.Typedef, d.name()
	t.Elem = ts.typeOf(d)
	t.Size = t.Elem.Size
}

// makeMemberPointer makes a C++ pointer to member of the integers it consists of: an offset, or for functions an
// address and an adjustment.
func makeMemberPointer(ts *types, d die, t *ctype.Type) {
	t.To = ts.typeOf(d)
	if class, ok := d.ref(atContainingType); ok {
		t.Of = ts.convert(ts.definition(class))
	}
	if to, ok := d.ref(atType); ok && to.ab.tag == tagSubroutineType {
		t.Kind, t.Elem, t.Count, t.Size = ctype.Array, ctype.LongT, 2, 16
		return
	}
	t.Kind, t.Name, t.Size, t.Signed = ctype.Int, "long", 8, true
}

func makeFunc(ts *types, d die, t *ctype.Type) {
	if d.ab.tag == tagSubroutineType && d.u.isGo() {
		// A value of a function's type is a pointer, to the function's address and what it has captured.
		t.Kind, t.Name = ctype.Typedef, d.name()
		to := &ctype.Type{Kind: ctype.Func, Size: 1, Elem: ctype.VoidT}
		t.Elem = ctype.PointerTo(to)
		return
	}
	t.Kind, t.Size = ctype.Func, 1
	t.Elem = ts.typeOf(d)
	src := d
	if o, ok := d.origin(); ok && d.ab.tag != tagSubroutineType && !d.ab.children {
		src = o
	}
	for c := range src.children() {
		switch c.ab.tag {
		case tagFormalParameter:
			t.Params = append(t.Params, ts.typeOf(c))
		case tagUnspecifiedParams:
			t.Variadic = true
		}
		if len(t.Params) > 1000 {
			return
		}
	}
}

// typeName is the name of a tag or typedef, with its scopes in C++ and similar languages.
func typeName(d die) string {
	n := d.name()
	if n == "" || d.u.isC() {
		return n
	}
	return d.context().qualified()
}

// typeCache holds the converted types; depth is that of the conversion running.
type typeCache struct {
	members map[dieKey]classMembers // of classes, as far as names were looked up in them
	m       map[dieKey]*ctype.Type
	depth   int
}

// members is the ctype.Loader for code that holds the module's lock.
func (ts *types) members(t *ctype.Type) ([]ctype.Field, []ctype.Name) {
	d, ok := t.Ref.(die)
	if !ok || ts.closed {
		return nil, nil
	}
	if c, ok := ts.cache.members[d.key()]; ok {
		return c.fields, c.names
	}
	if ts.cache.members == nil || len(ts.cache.members) > 10_000 {
		ts.cache.members = map[dieKey]classMembers{}
	}
	fields, names := ts.membersOf(d)
	ts.cache.members[d.key()] = classMembers{fields, names}
	return fields, names
}
