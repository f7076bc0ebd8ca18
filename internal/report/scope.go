package report

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Addresses at which expressions find the record and the words of its head. No program has addresses like these.
const (
	recordBase = 0x4000_0000_0000_0000 // see slotAddress
	wordsBase  = 0x5000_0000_0000_0000
)

// The words of an event: their offsets behind wordsBase.
const (
	wordTid   = 0
	wordPid   = 4
	wordCPU   = 8
	wordTime  = 16
	wordComm  = 24
	wordsSize = wordComm + commSize
	commSize  = 16
)

// words are the names that have a value in each event. With a dollar they always mean that, without it only where no field has the name.
var words = []struct {
	name string
	at   int64
	t    *ctype.Type
	bare bool
}{
	{"tid", wordTid, ctype.IntT, true},
	{"pid", wordPid, ctype.IntT, true},
	{"cpu", wordCPU, ctype.UIntT, true},
	{"time", wordTime, ctype.ULongT, false},
	{"nsecs", wordTime, ctype.ULongT, true},
	{"comm", wordComm, ctype.ArrayOf(ctype.CharT, commSize), true},
}

// scope has the recorded fields of a schema as variables.
type scope struct {
	schema *event.Schema
	vars   map[string]*debuginfo.Variable
	forms  map[string]string // the printed form of a field's expression → its name in vars
	elems  map[string]string // that of p → the name of a field *p@n or p[0]@n
	order  []*debuginfo.Variable
	types  map[string]*ctype.Type
	enums  map[string]enumerator
	slots  []slot
}

type enumerator struct {
	t *ctype.Type
	v int64
}

// slot is a part of the record that expressions may read.
type slot struct {
	lo, hi  int
	status  int // offset of the status byte, -1: none
	counted bool
	nul     int // bytes of the NUL behind a text that is whole; 0: it is no text
	gaps    []event.Gap
}

func newScope(s *event.Schema) *scope {
	sc := &scope{schema: s, vars: map[string]*debuginfo.Variable{}, forms: map[string]string{}, elems: map[string]string{}, types: map[string]*ctype.Type{}, enums: map[string]enumerator{}}
	for i := range s.Fields {
		sc.field(&s.Fields[i])
	}
	for _, w := range words {
		v := &debuginfo.Variable{Name: "$" + w.name, Type: w.t, Kind: debuginfo.Static, Loc: at(wordsBase + w.at)}
		sc.vars[v.Name] = v
		if _, taken := sc.vars[w.name]; w.bare && !taken {
			sc.vars[w.name] = v
		}
	}
	sc.constant("$place", s.Place)
	sc.constant("$function", s.Function)
	slices.SortFunc(sc.slots, func(a, b slot) int { return a.lo - b.lo })
	return sc
}

func at(addr int64) debuginfo.Location {
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: addr}}}}}
}

// constant adds a text that all events of the schema have.
func (sc *scope) constant(name, text string) {
	b := append([]byte(text), 0)
	sc.vars[name] = &debuginfo.Variable{
		Name: name, Type: ctype.ArrayOf(ctype.CharT, int64(len(b))), Kind: debuginfo.Static,
		Loc: debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.IsBytes, Bytes: b}}},
	}
}

// add makes a variable. The first of several fields of the same name counts.
func (sc *scope) add(name string, t *ctype.Type, loc debuginfo.Location) {
	if _, again := sc.vars[name]; again || name == "" {
		return
	}
	v := &debuginfo.Variable{Name: name, Type: t, Kind: debuginfo.Static, Loc: loc}
	sc.vars[name] = v
	sc.order = append(sc.order, v)
	sc.know(t, maxTypeDepth)
	if x, err := lang.ParseExpr(name); err == nil {
		if x, d := lang.Decide(x, func(string) bool { return false }); d == nil {
			form := lang.String(x)
			if _, again := sc.forms[form]; !again {
				sc.forms[form] = name
			}
			if p := firstOf(x); p != nil && sc.elems[lang.String(p)] == "" {
				sc.elems[lang.String(p)] = name
			}
		}
	}
}

func (sc *scope) field(f *event.Field) {
	if f.Static != event.OK {
		t := f.Type
		if t == nil {
			t = ctype.IntT
		}
		sc.add(f.Name, t, debuginfo.Location{Unavailable: event.Explain(f.Static, 0, f.Reason)})
		return
	}
	switch f.Kind {
	case event.Fixed:
		if f.Type == nil {
			return
		}
		sc.slots = append(sc.slots, slot{lo: f.Offset, hi: f.Offset + f.Size, status: f.StatusOffset, gaps: f.Gaps})
		sc.add(f.Name, f.Type, at(slotAddress(f.Offset, 0)))
	case event.Counted:
		if f.Grid != nil {
			sc.add(f.Name, f.Type, debuginfo.Location{Unavailable: "the places of its elements are known only in each event"})
			return
		}
		elem := elementOf(f.Type)
		size := max(elem.Strip().Size, 1)
		sc.slots = append(sc.slots, slot{lo: f.Offset, hi: f.Offset + f.Size, status: f.StatusOffset, counted: true, nul: ctype.TextOf(elem).Width})
		sc.add(f.Name, ctype.ArrayOf(elem, int64(f.Size-countedHead)/size), at(slotAddress(f.Offset, countedHead)))
	case event.SData:
		sc.slots = append(sc.slots, slot{lo: f.Offset, hi: f.Offset + f.Size, status: f.StatusOffset, counted: true})
		sc.record(f)
	}
}

// record adds the fields of a static tracepoint's own record.
func (sc *scope) record(f *event.Field) {
	if f.Type == nil {
		return
	}
	for _, m := range f.Type.Strip().Fields() {
		_, _, dynamic := ctype.Dynamic(m.Type)
		if dynamic || m.BitSize > 0 || m.BitOffset%8 != 0 || m.Type == nil || strings.HasPrefix(m.Name, "common_") {
			continue
		}
		sc.add(m.Name, m.Type, at(slotAddress(f.Offset, countedHead+m.BitOffset/8)))
	}
}

const countedHead = 8

// elementOf is the type of the elements of a counted field.
func elementOf(t *ctype.Type) *ctype.Type {
	if t == nil {
		return ctype.CharT
	}
	switch s := t.Strip(); s.Kind {
	case ctype.Array, ctype.Pointer:
		if e := s.Elem; e != nil && e.Strip().Size > 0 {
			return e
		}
	case ctype.Reference, ctype.Void, ctype.Invalid, ctype.Func:
	default:
		if s.Size > 0 {
			return t
		}
	}
	return ctype.CharT
}

const maxTypeDepth = 8

// know makes the types and enumerators that a type has known by their names.
func (sc *scope) know(t *ctype.Type, depth int) {
	if t == nil || depth == 0 {
		return
	}
	if t.Name != "" {
		key := typeKey(t.Kind, t.Name)
		if was := sc.types[key]; was == t || was != nil && !was.Incomplete {
			return
		}
		sc.types[key] = t
	}
	switch t.Kind {
	case ctype.Enum:
		for _, e := range t.Enumerators() {
			if _, again := sc.enums[e.Name]; !again {
				sc.enums[e.Name] = enumerator{t, e.Value}
			}
		}
	case ctype.Struct, ctype.Union:
		for _, f := range t.Fields() {
			sc.know(f.Type, depth-1)
		}
	default:
		sc.know(t.Elem, depth-1)
	}
}

func typeKey(kind ctype.Kind, name string) string {
	switch kind {
	case ctype.Struct:
		return "struct " + name
	case ctype.Union:
		return "union " + name
	case ctype.Enum:
		return "enum " + name
	}
	return name
}

// The methods of debuginfo.Scope.

func (sc *scope) PC() uint64                    { return 0 }
func (sc *scope) FuncName() string              { return "" }
func (sc *scope) Args() []*debuginfo.Variable   { return nil }
func (sc *scope) CFA() []debuginfo.Op           { return nil }
func (sc *scope) HasDebugInfo() bool            { return true }
func (sc *scope) Locals() []*debuginfo.Variable { return sc.order }

func (sc *scope) Lookup(name string) (*debuginfo.Variable, error) {
	if v := sc.vars[name]; v != nil {
		return v, nil
	}
	return nil, &debuginfo.NotFoundError{What: "recorded field", Name: name}
}

func (sc *scope) LookupIn(in, name string) (*debuginfo.Variable, error) {
	return nil, &debuginfo.NotFoundError{What: "recorded field", Name: in + "::" + name}
}

func (sc *scope) Type(kind ctype.Kind, name string) (*ctype.Type, error) {
	if t := sc.types[typeKey(kind, name)]; t != nil {
		return t, nil
	}
	return nil, &debuginfo.NotFoundError{What: "type", Name: name}
}

func (sc *scope) Enumerator(name string) (*ctype.Type, int64, bool) {
	e, ok := sc.enums[name]
	return e.t, e.v, ok
}

// isType is for deciding expressions.
func (sc *scope) isType(name string) bool {
	if sc.vars[name] != nil {
		return false
	}
	for _, k := range []ctype.Kind{ctype.Typedef, ctype.Struct, ctype.Union, ctype.Enum} {
		if sc.types[typeKey(k, name)] != nil {
			return true
		}
	}
	return slices.Contains(baseTypes, name)
}

// baseTypes are the names of types that need no definition.
var baseTypes = []string{
	"void", "bool", "_Bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long",
	"long long", "unsigned long long", "float", "double", "long double",
}

// readable reports whether a part of the record always has its value.
func (sc *scope) readable(addr, size uint64) bool {
	if addr < recordBase || addr >= wordsBase {
		return false
	}
	s, off := sc.slotAt(addr)
	return s != nil && s.status < 0 && !s.counted && s.gaps == nil && uint64(off)+size <= uint64(s.hi)
}

// slotSpan is how far apart the addresses of slots are: what lies before or behind a field is no other field.
const slotSpan = 1 << 32

// slotAddress is the address of a byte of the slot at an offset of the record.
func slotAddress(lo int, behind int64) int64 {
	return recordBase + int64(lo)*slotSpan + slotSpan/2 + behind
}

// slotAt returns the slot that has an address from recordBase on, and the offset in the record; nil: none.
func (sc *scope) slotAt(addr uint64) (*slot, int) {
	at := int((addr - recordBase) / slotSpan)
	i, ok := slices.BinarySearchFunc(sc.slots, at, func(s slot, at int) int { return s.lo - at })
	if !ok {
		return nil, 0
	}
	s, off := &sc.slots[i], at+int(addr%slotSpan)-slotSpan/2
	if off < s.lo || off >= s.hi {
		return nil, 0
	}
	return s, off
}
