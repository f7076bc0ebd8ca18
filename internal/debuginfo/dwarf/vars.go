package dwarf

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/convention"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/loc"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// locations finds where the values of variables are at a position.
type locations struct {
	*position
	base  []debuginfo.Op // frame base, once computed
	why   string
	based bool
	moved bool // the frame base is a register that has its value only in the body of the function
	// places: see passed. foreign: the function is called by another convention.
	places  map[uint64]convention.Place
	foreign bool
	// Of a frame that a value at the entry rests on: how many rest on it, and the calls that lead to it, if known.
	depth int
	via   way
}

// variable makes the Variable of an entry as it is at the scope's pc.
func (lo *locations) variable(d die) *debuginfo.Variable {
	v := &debuginfo.Variable{Name: d.name(), Type: lo.m.typeOf(d)}
	v.File, v.Line = d.declared()
	v.Loc = lo.atCall(d, lo.location(d, v.Type))
	lo.m.inThread(v, d.u)
	lo.countAtRunTime(d, v)
	return v
}

// perCPUSection holds the kernel's per-CPU objects. It is linked at address 0:
// what debug information calls addresses are offsets from a CPU's base, which
// the kernel's own place in memory does not move.
const perCPUSection = ".data..percpu"

// perCPU marks an object of that section. From Linux 6.15 on the section has
// addresses as any other, and so have its objects.
func (ob *object) perCPU(v *debuginfo.Variable) {
	if len(v.Loc.Pieces) != 1 || len(v.Loc.Pieces[0].Expr) == 0 {
		return
	}
	op := &v.Loc.Pieces[0].Expr[0]
	sec, ok := ob.file.Section(perCPUSection)
	if !ok || op.Code != debuginfo.OpAddr || uint64(op.Arg)-sec.Vaddr >= sec.Size {
		return
	}
	v.Kind = debuginfo.PerCPU
	if sec.Vaddr == 0 {
		op.Code = debuginfo.OpConst
	}
}

// elsewhere takes the address of a library's exported object or function from the place where the library's own code
// reads it: the program may have a copy of the object, or an earlier library may have an object of the same name.
// If the library has no such place, the location says that the object is replaceable.
func (ob *object) elsewhere(v *debuginfo.Variable) {
	if len(v.Loc.Pieces) != 1 || !ob.file.PIE {
		return
	}
	p := &v.Loc.Pieces[0]
	if p.Kind != debuginfo.InMemory || len(p.Expr) == 0 {
		return
	}
	at := uint64(p.Expr[0].Arg)
	if len(p.Expr) == 2 && p.Expr[0].Code == debuginfo.OpConst && p.Expr[1].Code == debuginfo.OpTLS {
		v.Loc.Replaceable, _ = ob.file.Replaceable(at, true, v.Name)
		return
	}
	if p.Expr[0].Code != debuginfo.OpAddr {
		return
	}
	if slot, ok := ob.file.Slot(at, v.Name); ok {
		expr := []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: int64(slot)}, {Code: debuginfo.OpDeref, Arg: 8}}
		p.Expr = append(expr, p.Expr[1:]...)
		return
	}
	v.Loc.Replaceable, _ = ob.file.Replaceable(at, false, v.Name)
}

// location finds where the value is at pc: its location, or its constant.
func (lo *locations) location(d die, t *ctype.Type) debuginfo.Location {
	if at, ok := lo.inClosure(d); ok {
		return at
	}
	if v, ok := d.deep(atLocation); ok {
		at := lo.located(v)
		if v.IsBlock() && v.u.head().gcc > 0 && wideInRegisters(at, t) {
			return debuginfo.Location{Unavailable: untrackedWide}
		}
		if v.isSecOffset() && v.u.isGo() {
			return lo.m.goLocation(v.u, at, v.u.locList(v), t)
		}
		return at
	}
	if v, ok := d.deep(atConstValue); ok {
		return constant(v, t)
	}
	return debuginfo.Location{Unavailable: "optimised out"}
}

// gcc gives some integers of 128 bits one pair of registers for the whole function, in which the value is in
// a part of it at most; 12.2 describes a variable so that it has never put there. It describes others by lists,
// which are right.
const untrackedWide = "the compiler does not describe where in the function its registers hold it"

func wideInRegisters(at debuginfo.Location, t *ctype.Type) bool {
	if s := t.Strip(); s.Kind != ctype.Int || s.Size != 16 || len(at.Pieces) < 2 {
		return false
	}
	for _, p := range at.Pieces {
		if p.Kind != debuginfo.InRegister {
			return false
		}
	}
	return true
}

func (lo *locations) located(v val) debuginfo.Location {
	if v.IsBlock() {
		return lo.expression(v, v.B, nil)
	}
	if !v.isSecOffset() {
		return debuginfo.Location{Unavailable: "its location has a form that is not known"}
	}
	list := v.u.locList(v)
	expr, ok := loc.Pick(list, lo.pc, lo.atEntry())
	if !ok {
		expr = nil
	}
	return lo.expression(v, expr, list)
}

// expression translates the expression for pc; list is the whole list that contains it, if any.
func (lo *locations) expression(v val, expr []byte, list []loc.Entry) debuginfo.Location {
	env, why := lo.env(v.u), "optimised out"
	if list != nil {
		why = "optimised out here"
	}
	if len(expr) > 0 {
		var pieces []debuginfo.Piece
		if pieces, why = env.Translate(expr); why == "" {
			if why = lo.byFrame(pieces); why != "" {
				return debuginfo.Location{Unavailable: why}
			}
			return debuginfo.Location{Pieces: pieces}
		}
		if len(pieces) == 1 {
			return debuginfo.Location{Unavailable: why, Points: pieces[0].Points}
		}
	}
	env.AtEntry, env.Entered, env.Pointer = false, nil, nil
	return debuginfo.Location{Unavailable: why, Elsewhere: env.Usable(list)}
}

// pointee is the object of an implicit pointer, as it is at a position.
type pointee struct {
	lo *locations
	d  die
}

// Object is the variable. Its type is nil for data without a name, such as the text of a literal.
func (p *pointee) Object() (v *debuginfo.Variable) {
	defer p.lo.m.guard(nil)()
	v = &debuginfo.Variable{Loc: debuginfo.Location{Unavailable: "optimised out"}}
	if p.d.ab.tag == tagVariable || p.d.ab.tag == tagFormalParameter || p.d.ab.tag == tagConstant {
		return p.lo.variable(p.d)
	}
	if at, ok := p.d.attr(atLocation); ok {
		v.Loc = p.lo.located(at)
	} else if c, ok := p.d.attr(atConstValue); ok && c.IsBlock() {
		v.Loc = constant(c, nil)
	}
	return v
}

// pointer describes an implicit pointer to an entry.
func (lo *locations) pointer(u *unit, entry uint64, offset int64) *debuginfo.Pointer {
	d, ok := u.d.unitAt(entry).dieAt(entry)
	if !ok {
		return nil
	}
	return &debuginfo.Pointer{To: &pointee{lo, d}, Offset: offset}
}

func (lo *locations) env(u *unit) *loc.Env {
	return &loc.Env{
		Unit: u, AddrSize: int(u.f.AddrSize), Is64: u.f.Is64, Version: int(u.f.Version), CFA: lo.cfa, FrameBase: lo.frameBase,
		AtEntry: lo.atEntry(), Entered: func(e loc.Entered) ([]debuginfo.Op, string) { return lo.atEntryOf(u, e) },
		Pointer: func(entry uint64, offset int64) *debuginfo.Pointer { return lo.pointer(u, entry, offset) },
	}
}

// atEntry reports whether pc is the first instruction of the concrete function.
func (lo *locations) atEntry() bool { return lo.f != nil && lo.pc == lo.f.entry() }

// frameBase computes DW_AT_frame_base of the concrete function as an expression.
func (lo *locations) frameBase() ([]debuginfo.Op, string) {
	if !lo.based {
		lo.based = true
		lo.base, lo.why = lo.readFrameBase()
	}
	return lo.base, lo.why
}

func (lo *locations) readFrameBase() ([]debuginfo.Op, string) {
	const missing = "its location is relative to a frame base that is not there"
	if lo.f == nil {
		return nil, missing
	}
	v, ok := lo.f.d.deep(atFrameBase)
	if !ok {
		return nil, missing
	}
	expr := v.B
	if !v.IsBlock() {
		if expr, ok = loc.Pick(v.u.locList(v), lo.pc, lo.atEntry()); !ok {
			return nil, "the frame base of its function is not known here"
		}
	}
	env := lo.env(v.u)
	env.FrameBase = nil // it cannot refer to itself
	base, why := env.FrameBaseOf(expr)
	if len(base) == 1 && base[0].Code == debuginfo.OpReg {
		return lo.registerBase(base)
	}
	return base, why
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

// locList reads the list that a location attribute refers to.
func (l *unitLists) locList(v val) []loc.Entry {
	r := loc.Lists{Base: l.u.head().low, AddrSize: int(l.u.f.AddrSize), Address: l.u.Address}
	switch {
	case l.u.f.Version >= 5:
		off := v.N
		if v.Form == raw.FormLoclistx {
			var ok bool
			if off, ok = l.listx(secLoclists, l.u.head().loclistsBase, v.N); !ok {
				return nil
			}
		}
		r.Data = l.u.d.sec(secLoclists)
		return r.Version5(off)
	case l.u.d.dwo:
		r.Data = l.u.d.sec(secLoc)
		return r.GNU(v.N)
	}
	r.Data = l.u.d.sec(secLoc)
	return r.Version4(v.N)
}

// BaseType is the type at an offset of the unit, for typed operations of location expressions.
func (u *unit) BaseType(off uint64) (t loc.BaseType, why string) {
	d, ok := u.dieAt(u.off + off)
	if !ok || d.ab.tag != tagBaseType {
		return t, "its location is malformed (type)"
	}
	n, _ := d.num(atByteSize)
	enc, _ := d.num(atEncoding)
	switch enc {
	case ateSigned, ateSignedChar:
		t.Signed = true
	case ateUnsigned, ateUnsignedChar, ateBoolean, ateUTF, ateAddress:
	case ateFloat:
		if t.Float = true; n == 4 || n == 8 {
			t.Size = int64(n)
			return t, ""
		}
		return t, "its value is computed in floating point of another size than float's and double's"
	default:
		return t, "its value is computed in a type that is not known here"
	}
	switch n {
	case 1, 2, 4, 8:
		t.Size = int64(n)
		return t, ""
	}
	return t, "its value is computed in an integer wider than 64 bits"
}
