package dwarf

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// variable makes the Variable of an entry as it is at the scope's pc.
func (s *scope) variable(d die) *debuginfo.Variable {
	v := &debuginfo.Variable{Name: d.name(), Type: s.m.typeOf(d)}
	v.File, v.Line = d.declared()
	v.Loc = s.atCall(d, s.location(d, v.Type))
	s.countAtRunTime(d, v)
	return v
}

// perCPUSection holds the kernel's per-CPU objects. It is linked at address 0:
// what debug information calls addresses are offsets from a CPU's base, which
// the kernel's own place in memory does not move.
const perCPUSection = ".data..percpu"

// perCPU marks an object of that section. From Linux 6.15 on the section has
// addresses as any other, and so have its objects.
func (m *Module) perCPU(v *debuginfo.Variable) {
	if len(v.Loc.Pieces) != 1 || len(v.Loc.Pieces[0].Expr) == 0 {
		return
	}
	op := &v.Loc.Pieces[0].Expr[0]
	sec, ok := m.file.Section(perCPUSection)
	if !ok || op.Code != debuginfo.OpAddr || uint64(op.Arg)-sec.Vaddr >= sec.Size {
		return
	}
	v.Kind = debuginfo.PerCPU
	if sec.Vaddr == 0 {
		op.Code = debuginfo.OpConst
	}
}

// location finds where the value is at pc: its location, or its constant.
func (s *scope) location(d die, t *ctype.Type) debuginfo.Location {
	if v, ok := d.deep(atLocation); ok {
		return s.located(v)
	}
	if v, ok := d.deep(atConstValue); ok {
		return constant(v, t)
	}
	return debuginfo.Location{Unavailable: "optimised out"}
}

func (s *scope) located(v val) debuginfo.Location {
	if v.IsBlock() {
		return s.expression(v, v.B, nil)
	}
	if !v.isSecOffset() {
		return debuginfo.Location{Unavailable: "its location has a form that is not known"}
	}
	list := v.u.locList(v)
	expr, ok := pickLoc(list, s.pc, s.atEntry())
	if !ok {
		expr = nil
	}
	return s.expression(v, expr, list)
}

// expression translates the expression for pc; list is the whole list it comes
// from, if any.
func (s *scope) expression(v val, expr []byte, list []locEntry) debuginfo.Location {
	env, why := s.env(v.u), "optimised out"
	if list != nil {
		why = "optimised out here"
	}
	if len(expr) > 0 {
		var pieces []debuginfo.Piece
		if pieces, why = env.translate(expr); why == "" {
			return debuginfo.Location{Pieces: pieces}
		}
	}
	env.atEntry = false
	return debuginfo.Location{Unavailable: why, Elsewhere: env.usable(list)}
}

func (s *scope) env(u *unit) *exprEnv {
	return &exprEnv{
		u: u, addrSize: int(u.f.AddrSize), is64: u.f.Is64, cfa: s.cfa, frameBase: s.frameBase,
		atEntry: s.atEntry(),
	}
}

// atEntry tells whether pc is the first instruction of the concrete function.
func (s *scope) atEntry() bool { return s.f != nil && s.pc == s.f.entry() }

// frameBase computes DW_AT_frame_base of the concrete function as an expression.
func (s *scope) frameBase() ([]debuginfo.Op, string) {
	if !s.based {
		s.based = true
		s.base, s.why = s.readFrameBase()
	}
	return s.base, s.why
}

func (s *scope) readFrameBase() ([]debuginfo.Op, string) {
	const missing = "its location is relative to a frame base that is not there"
	if s.f == nil {
		return nil, missing
	}
	v, ok := s.f.d.deep(atFrameBase)
	if !ok {
		return nil, missing
	}
	expr := v.B
	if !v.IsBlock() {
		if expr, ok = pickLoc(v.u.locList(v), s.pc, s.atEntry()); !ok {
			return nil, "the frame base of its function is not known here"
		}
	}
	env := s.env(v.u)
	env.frameBase = nil // it cannot refer to itself
	x := env.run(expr, nil)
	switch {
	case x.why != "":
		return nil, x.why
	case x.kind == kindRegister && x.reg <= 16:
		return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(x.reg)}}, ""
	case x.kind == kindMemory && len(x.ops) > 0 && len(x.pieces) == 0:
		return x.ops, ""
	}
	return nil, "the frame base of its function is malformed"
}

// constant is DW_AT_const_value: a number, a block of bytes or a string.
func constant(v val, t *ctype.Type) debuginfo.Location {
	var b []byte
	switch {
	case v.IsBlock():
		b = append(b, v.B...)
	case v.IsString():
		b = append(append(b, v.strBytes()...), 0)
	case v.IsConst():
		size := t.Strip().Size
		if size <= 0 || size > 16 {
			size = 8
		}
		fill := byte(0)
		if (v.Form == raw.FormSdata || v.Form == raw.FormImplicit) && v.Int() < 0 {
			fill = 0xff
		}
		for i := int64(0); i < size; i++ {
			if i < 8 {
				b = append(b, byte(v.N>>(8*i)))
			} else {
				b = append(b, fill)
			}
		}
	default:
		return debuginfo.Location{Unavailable: "its constant value has a form that is not known"}
	}
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.IsBytes, Bytes: b}}}
}
