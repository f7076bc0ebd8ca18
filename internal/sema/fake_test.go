package sema

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/lang"
)

// fakeScope is a debuginfo.Scope made by hand.
type fakeScope struct {
	pc      uint64
	fn      string
	vars    map[string]*debuginfo.Variable
	in      map[string]*debuginfo.Variable // "scope::name"
	args    []*debuginfo.Variable
	locals  []*debuginfo.Variable
	types   map[ctype.Kind]map[string]*ctype.Type
	enums   []*ctype.Type
	cfa     []debuginfo.Op
	noDebug bool
}

func newScope() *fakeScope {
	return &fakeScope{
		pc: 0x1000, fn: "f", vars: map[string]*debuginfo.Variable{}, in: map[string]*debuginfo.Variable{},
		types: map[ctype.Kind]map[string]*ctype.Type{},
		cfa:   ops(debuginfo.OpReg, 6, debuginfo.OpAddConst, 16),
	}
}

func (s *fakeScope) PC() uint64       { return s.pc }
func (s *fakeScope) FuncName() string { return s.fn }

func (s *fakeScope) Lookup(name string) (*debuginfo.Variable, error) {
	if v, ok := s.vars[name]; ok {
		return v, nil
	}
	return nil, s.notFound("variable", name)
}

func (s *fakeScope) LookupIn(scope, name string) (*debuginfo.Variable, error) {
	if v, ok := s.in[scope+"::"+name]; ok {
		return v, nil
	}
	return nil, s.notFound("variable", name)
}

func (s *fakeScope) notFound(what, name string) error {
	var names []string
	for n := range s.vars {
		names = append(names, n)
	}
	return &debuginfo.NotFoundError{What: what, Name: name, Nearest: lang.Nearest(name, names, 1)}
}

func (s *fakeScope) Args() []*debuginfo.Variable   { return s.args }
func (s *fakeScope) Locals() []*debuginfo.Variable { return s.locals }

func (s *fakeScope) Type(kind ctype.Kind, name string) (*ctype.Type, error) {
	if t, ok := s.types[kind][name]; ok {
		return t, nil
	}
	return nil, &debuginfo.NotFoundError{What: "type", Name: name}
}

func (s *fakeScope) addType(t *ctype.Type) *ctype.Type {
	if s.types[t.Kind] == nil {
		s.types[t.Kind] = map[string]*ctype.Type{}
	}
	s.types[t.Kind][t.Name] = t
	if t.Kind == ctype.Enum {
		s.enums = append(s.enums, t)
	}
	return t
}

func (s *fakeScope) Enumerator(name string) (*ctype.Type, int64, bool) {
	for _, t := range s.enums {
		for _, e := range t.Enumerators() {
			if e.Name == name {
				return t, e.Value, true
			}
		}
	}
	return nil, 0, false
}

func (s *fakeScope) CFA() []debuginfo.Op { return s.cfa }
func (s *fakeScope) HasDebugInfo() bool  { return !s.noDebug }

// add makes a variable; kind is Local unless changed.
func (s *fakeScope) add(name string, t *ctype.Type, pieces ...debuginfo.Piece) *debuginfo.Variable {
	v := &debuginfo.Variable{Name: name, Type: t, Loc: debuginfo.Location{Pieces: pieces}}
	s.vars[name] = v
	return v
}

// ops makes an expression of code, argument pairs.
func ops(pairs ...any) []debuginfo.Op {
	var out []debuginfo.Op
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, debuginfo.Op{Code: pairs[i].(debuginfo.OpCode), Arg: int64(pairs[i+1].(int))})
	}
	return out
}

func inReg(n int) debuginfo.Piece { return debuginfo.Piece{Kind: debuginfo.InRegister, Reg: n} }
func memOps(pairs ...any) debuginfo.Piece {
	return debuginfo.Piece{Kind: debuginfo.InMemory, Expr: ops(pairs...)}
}
func atAddr(vaddr uint64) debuginfo.Piece { return memOps(debuginfo.OpAddr, int(vaddr)) }
func onFrame(off int) debuginfo.Piece {
	return memOps(debuginfo.OpReg, 6, debuginfo.OpAddConst, off)
}

// member is a member of structOf; bits is its width as a bit-field.
type member struct {
	name string
	t    *ctype.Type
	bits int64
}

// structOf lays a struct out as the System V psABI does.
func structOf(name string, members ...member) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Struct, Name: name}
	var fields []ctype.Field
	bit, align := int64(0), int64(1)
	for _, m := range members {
		a, size := alignment(m.t), m.t.Strip().Size*8
		align = max(align, a)
		if m.bits > 0 {
			if bit/size != (bit+m.bits-1)/size {
				bit = roundUp(bit, size)
			}
			fields = append(fields, ctype.Field{Name: m.name, Type: m.t, BitOffset: bit, BitSize: m.bits})
			bit += m.bits
			continue
		}
		bit = roundUp(bit, a*8)
		fields = append(fields, ctype.Field{Name: m.name, Type: m.t, BitOffset: bit})
		bit += size
	}
	t.Size = roundUp(roundUp(bit, 8)/8, align)
	t.SetFields(fields)
	return t
}

func unionOf(name string, members ...member) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Union, Name: name}
	var fields []ctype.Field
	align := int64(1)
	for _, m := range members {
		fields = append(fields, ctype.Field{Name: m.name, Type: m.t})
		t.Size, align = max(t.Size, m.t.Strip().Size), max(align, alignment(m.t))
	}
	t.Size = roundUp(t.Size, align)
	t.SetFields(fields)
	return t
}

func alignment(t *ctype.Type) int64 {
	s := t.Strip()
	switch s.Kind {
	case ctype.Array:
		return alignment(s.Elem)
	case ctype.Struct, ctype.Union:
		a := int64(1)
		for _, f := range s.Fields() {
			a = max(a, alignment(f.Type))
		}
		return a
	}
	return s.Size
}

func enumOf(name string, signed bool, values ...ctype.Enumerator) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Enum, Name: name, Size: 4, Signed: signed}
	t.SetEnumerators(values)
	return t
}

func typedefOf(name string, t *ctype.Type) *ctype.Type {
	return &ctype.Type{Kind: ctype.Typedef, Name: name, Size: t.Size, Elem: t}
}

// fakeMemory is memory made of regions.
type fakeMemory map[uint64][]byte

func (m fakeMemory) Read(addr uint64, buf []byte) int {
	n := 0
	for n < len(buf) {
		b, ok := m.at(addr + uint64(n))
		if !ok {
			break
		}
		buf[n] = b
		n++
	}
	return n
}

func (m fakeMemory) at(addr uint64) (byte, bool) {
	for base, b := range m {
		if addr >= base && addr-base < uint64(len(b)) {
			return b[addr-base], true
		}
	}
	return 0, false
}

// compile parses and compiles; the text of an error is a failure.
func compile(t testing.TB, s debuginfo.Scope, in Input, cond, collect string) *Output {
	t.Helper()
	out, err := tryCompile(s, in, cond, collect)
	if err != nil {
		t.Fatalf("condition %q, collect %q:\n%v", cond, collect, err)
	}
	if err := ir.Check(out.Program); err != nil {
		t.Fatalf("condition %q, collect %q: %v", cond, collect, err)
	}
	return out
}

func tryCompile(s debuginfo.Scope, in Input, cond, collect string) (*Output, error) {
	in.Scope = s
	var err error
	if cond != "" {
		if in.Cond, err = lang.ParseCondition(lang.TextOf("condition", cond)); err != nil {
			return nil, err
		}
	}
	if collect != "" {
		if in.Collect, err = lang.ParseCollect(collect); err != nil {
			return nil, err
		}
	}
	return Compile(&in)
}

// result is the outcome of a run, with the fields cut out.
type result struct {
	eval.Outcome
	schema *event.Schema
}

func run(t testing.TB, out *Output, m *eval.Machine) result {
	t.Helper()
	m.RecordRoom = true
	o := eval.Run(out.Program, m)
	if o.Exit != eval.Exited {
		t.Fatalf("the program ended with %v:\n%s", o.Exit, out.Program)
	}
	if o.Record != nil && len(o.Record) != out.Schema.RecordSize {
		t.Fatalf("a record of %d bytes, the schema says %d", len(o.Record), out.Schema.RecordSize)
	}
	return result{o, &out.Schema}
}

func (r result) status(i int) event.Status {
	f := &r.schema.Fields[i]
	if f.Static != event.OK || f.StatusOffset < 0 {
		return f.Static
	}
	return event.Status(r.Record[f.StatusOffset])
}

func (r result) bytes(i int) []byte {
	f := &r.schema.Fields[i]
	return r.Record[f.Offset : f.Offset+f.Size]
}

func (r result) uint(i int) uint64 {
	var b [8]byte
	copy(b[:], r.bytes(i))
	return binary.LittleEndian.Uint64(b[:])
}

// int is the field's value, extended as its type says.
func (r result) int(i int) int64 { return canonical(int64(r.uint(i)), r.schema.Fields[i].Type) }

func (r result) float(i int) float64 {
	if r.schema.Fields[i].Size == 4 {
		return float64(math.Float32frombits(uint32(r.uint(i))))
	}
	return math.Float64frombits(r.uint(i))
}

// counted is the content and the flags of the Counted slot at off.
func (r result) counted(off int) (string, uint32) {
	n := binary.LittleEndian.Uint32(r.Record[off:])
	return string(r.Record[off+8 : off+8+int(n)]), binary.LittleEndian.Uint32(r.Record[off+4:])
}

func (r result) faultAddr(i int) uint64 {
	return binary.LittleEndian.Uint64(r.Record[r.schema.Fields[i].Offset:])
}

// checkProgram checks that a program is valid, and still valid after optimisation.
func checkProgram(t testing.TB, out *Output) {
	t.Helper()
	if err := ir.Check(out.Program); err != nil {
		t.Fatalf("%v\n%s", err, out.Program)
	}
	if err := ir.Optimize(out.Program); err != nil {
		t.Fatal(err)
	}
	if err := ir.Check(out.Program); err != nil {
		t.Fatalf("optimised: %v\n%s", err, out.Program)
	}
}
