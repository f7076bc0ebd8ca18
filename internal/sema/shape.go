package sema

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

// shape is what is known of an object's place before code is made: in memory as
// a whole, or made of pieces. lo is the object's first bit in the pieces, or from
// the start of the memory object that it is a part of.
type shape struct {
	ref    *varRef // the variable that the object is (a part of), nil behind a pointer
	mem    bool
	ctx    bool              // with mem: in the context block, where the variable's only piece says
	pieces []debuginfo.Piece // when !mem: normalised by pieces()
	lo     int64
}

// shapeOf walks from a part of an object to the object itself.
func shapeOf(e expr) shape {
	switch e := e.(type) {
	case *varRef:
		return e.shape()
	case *sub:
		s := shapeOf(e.x)
		s.lo += e.bitOff
		return s
	case *repeat:
		return shapeOf(e.x)
	case *comma:
		return shapeOf(e.y)
	}
	return shape{mem: true} // deref, and condExpr whose arms have addresses
}

func (v *varRef) shape() shape {
	l := v.loc.Pieces
	if len(l) == 1 && l[0].Kind == debuginfo.InMemory && l[0].BitOffset == 0 &&
		(l[0].BitSize == 0 || l[0].BitSize >= v.t.Strip().Size*8) {
		return shape{ref: v, mem: true}
	}
	if len(l) == 1 && l[0].Kind == debuginfo.InContext && l[0].BitOffset == 0 && l[0].Ctx >= 0 &&
		(l[0].BitSize == 0 || l[0].BitSize >= v.t.Strip().Size*8) && v.t.Strip().Size <= ir.MaxContext-l[0].Ctx {
		return shape{ref: v, mem: true, ctx: true}
	}
	list := pieces(l, v.t.Strip().Size*8)
	fillPadding(list, v.t)
	return shape{ref: v, pieces: list}
}

// pieces sets the size of every piece, limited by its register or value; uncovered parts are missing.
func pieces(list []debuginfo.Piece, total int64) []debuginfo.Piece {
	var out []debuginfo.Piece
	missing := func(bits int64, why string) {
		if bits > 0 {
			out = append(out, debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: bits, Why: why})
		}
	}
	sum := int64(0)
	for _, p := range list {
		if p.BitSize <= 0 {
			p.BitSize = max(0, total-sum)
		}
		want := p.BitSize
		p.BitSize = min(want, max(0, capacity(p)-p.BitOffset))
		if p.BitSize > 0 {
			out = append(out, p)
		}
		why := ""
		if p.Kind == debuginfo.InRegister && isXMM(p.Reg) {
			why = beyondYMM
		}
		missing(want-p.BitSize, why)
		sum += want
	}
	missing(total-sum, "")
	return out
}

// capacity is how many bits a piece's holder has.
func capacity(p debuginfo.Piece) int64 {
	switch p.Kind {
	case debuginfo.InRegister:
		switch {
		case isXMM(p.Reg):
			return 256 // with the half that only AVX has; a compiler that places 32 bytes there has AVX
		case isX87(p.Reg):
			return 2 * 128
		}
		return 64
	case debuginfo.IsValue:
		return 64
	case debuginfo.IsBytes:
		return int64(len(p.Bytes)) * 8
	case debuginfo.InContext:
		return max(0, ir.MaxContext-max(p.Ctx, 0)) * 8
	}
	return 1 << 40
}

// beyondYMM: of 64-byte registers only the low half is taken.
const beyondYMM = "it is in the upper half of a 64-byte vector register, which is not taken"

// isXMM: a vector register.
func isXMM(reg int) bool {
	_, ok := processor.Vector(arch.Reg(reg))
	return ok
}

// isX87: a register of the x87's stack. The one behind it follows in the state of the x87, each in 16 bytes.
func isX87(reg int) bool {
	r := processor.Register(arch.Reg(reg))
	return r != nil && r.Bytes == 10
}

// isWord: a register that is one IR value.
func isWord(reg int64) bool {
	r := processor.Register(arch.Reg(reg))
	return r != nil && r.Ptrace != arch.Nowhere && (r.Bytes == 8 || r.DWARF == processor.Flags)
}

// window calls f for each piece that overlaps bits [lo, lo+n): off is the first needed bit in the piece, at
// that bit's position in the window. An object without bytes has no pieces, and always its value.
func window(list []debuginfo.Piece, lo, n int64, f func(p debuginfo.Piece, off, at, bits int64)) {
	start := int64(0)
	for _, p := range list {
		end := start + p.BitSize
		from, to := max(lo, start), min(lo+n, end)
		if from < to {
			f(p, from-start, from-lo, to-from)
		}
		start = end
	}
	if n > 0 && lo+n > start { // beyond the object: only malformed debug info leads here
		f(debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: n}, 0, max(0, start-lo), lo+n-max(start, lo))
	}
}

// bitsOf is the number of bits that object e has.
func bitsOf(e expr) int64 {
	if b := bitField(e); b != 0 {
		return b
	}
	return e.Type().Strip().Size * 8
}

// need makes sure that object e can be read into IR values.
func (st *site) need(e expr) {
	st.available(e, func(s shape) {
		window(s.pieces, s.lo, bitsOf(e), func(p debuginfo.Piece, off, _, n int64) {
			if p.Kind == debuginfo.InRegister && isX87(p.Reg) {
				st.fail(e.Span(), "a register of the x87 cannot be used in arithmetic", "it can be collected by itself")
			}
			if p.Kind == debuginfo.InRegister && isXMM(p.Reg) && p.BitOffset+off+n > 64 {
				st.fail(e.Span(), "only the low 8 bytes of a vector register can be used in arithmetic",
					"the others can be collected by themselves")
			}
		})
	})
}

// needBytes makes sure that object e can be stored to the record.
func (st *site) needBytes(e expr) {
	st.available(e, func(s shape) {
		n := bitsOf(e)
		if n <= 64 && storable(s, n) != "" {
			st.need(e) // it is put together as one value
			return
		}
		if why := storable(s, n); why != "" {
			st.fail(e.Span(), why, "collect its members one by one")
		}
	})
}

// storable returns why an object of n bits cannot be stored piece by piece, or "".
func storable(s shape, n int64) (why string) {
	if s.mem {
		return ""
	}
	for _, x := range spans(s.pieces, s.lo, n) {
		p, first := x.piece, x.piece.BitOffset+x.off
		switch {
		case x.missing:
		case x.bits%8 != 0 || x.gathered && (x.high || x.bits > 64):
			why = "this object is spread over fragments that are not whole bytes"
		case p.Kind == debuginfo.InRegister && isX87(p.Reg) && x.at != 0:
			why = "a part of this object is in a register of the x87"
		case p.Kind == debuginfo.InRegister && isXMM(p.Reg) && first+x.bits > 64 && x.bits != n && (first%128 != 0 || x.bits%128 != 0):
			why = "a part of this object is in the high half of a vector register"
		}
	}
	return why
}

// available makes sure that object e has a value here at all, then calls more
// for an object that is not in memory.
func (st *site) available(e expr, more func(shape)) {
	if st.uneval > 0 {
		return
	}
	s := shapeOf(e)
	if s.ref == nil {
		return
	}
	v := s.ref
	if v.loc.Unavailable != "" || len(v.loc.Pieces) == 0 {
		st.failUnavailable(e, v, v.loc.Unavailable)
	}
	if replaces := st.in.Others.Replaces; v.loc.Replaceable != "" && replaces != nil {
		if why := replaces(v.loc.Replaceable); why != "" {
			st.failUnavailable(e, v, why)
		}
	}
	if s.ctx {
		st.needContext(e, v, v.loc.Pieces[0].Ctx+s.lo/8, bitsOf(e))
		return
	}
	if s.mem {
		st.needExpr(e, v, v.loc.Pieces[0].Expr, true)
		return
	}
	window(s.pieces, s.lo, bitsOf(e), func(p debuginfo.Piece, _, _, _ int64) { st.needPiece(e, v, p) })
	more(s)
}

// needPiece makes sure that a piece of variable v has a value here.
func (st *site) needPiece(e expr, v *varRef, p debuginfo.Piece) {
	switch p.Kind {
	case debuginfo.IsMissing:
		if p.Why == beyondYMM {
			st.failUntaken(e, v, p.Why)
		}
		st.failUnavailable(e, v, p.Why)
	case debuginfo.InRegister:
		returned := st.in.Exit != nil && st.in.Kernel == nil && v.name == "retval"
		if !isWord(int64(p.Reg)) && !isXMM(p.Reg) && !(returned && isX87(p.Reg)) {
			why := fmt.Sprintf("it is in register %d, which is not available", p.Reg)
			if isX87(p.Reg) && v.name == "retval" {
				why = "it is in a register of the x87, which is not available in the kernel"
			}
			st.failUntaken(e, v, why)
		}
		st.needRegister(e, v, p.Reg)
	case debuginfo.InContext:
		st.needContext(e, v, p.Ctx, p.BitSize)
	case debuginfo.IsBytes:
	default:
		st.needExpr(e, v, p.Expr, p.Kind == debuginfo.InMemory)
	}
}

// needExpr checks that a location can be computed; read: memory at its address is read.
func (st *site) needExpr(e expr, v *varRef, ops []debuginfo.Op, read bool) {
	if why := st.invalidExpr(ops); why != "" {
		st.failUnavailable(e, v, why)
	}
	if released(ops, read, st.redZone()) {
		st.failUnavailable(e, v, releasedPlace)
	}
}

const releasedPlace = "its place on the stack is already released"

// failUnavailable reports a variable without a value, and where it has one.
func (st *site) failUnavailable(e expr, v *varRef, why string) {
	none := why == releasedPlace || v.loc.Unavailable != "" || len(v.loc.Pieces) == 0 ||
		slices.ContainsFunc(v.loc.Pieces, func(p debuginfo.Piece) bool { return p.Kind == debuginfo.IsMissing && p.Why == why })
	st.failWithout(e, v, why, none, false)
}

// failUntaken reports a variable in a register that is not taken.
func (st *site) failUntaken(e expr, v *varRef, why string) {
	st.failWithout(e, v, why, st.in.Kernel == nil, true)
}

// failWithout reports a variable without a value. field: the reason is one of its field, as far as no result is concerned,
// which a user asks for by name; otherwise as in bail.
func (st *site) failWithout(e expr, v *varRef, why string, field, otherwise bool) {
	what := fmt.Sprintf("variable %q", v.name)
	if _, part := e.(*sub); part {
		what = fmt.Sprintf("this part of %q", v.name)
	}
	if why == "" {
		why = "optimised out"
	}
	msg := what + " has no value here: " + why
	if rest, ok := strings.CutPrefix(why, "optimised out"); ok {
		msg = what + " is optimised out here" + strings.TrimPrefix(rest, " here")
	}
	panic(&bail{
		d:           st.from.At(e.Span(), msg, st.elsewhere(v.loc.Elsewhere)),
		unavailable: true, undescribed: field && v.name != "retval", why: why, otherwise: otherwise,
	})
}

// elsewhere lists the lines where a variable has a location.
func (st *site) elsewhere(ranges []debuginfo.Range) string {
	if st.in.LineOf == nil || len(ranges) == 0 {
		return ""
	}
	var places []string
	seen := map[string]bool{}
	for _, r := range ranges {
		if r.Hi <= r.Lo {
			continue
		}
		file, lo := st.in.LineOf(r.Lo)
		fileHi, hi := st.in.LineOf(r.Hi - 1)
		if file == "" {
			continue
		}
		s := fmt.Sprintf("%s:%d", path.Base(file), lo)
		if fileHi == file && hi > lo {
			s += fmt.Sprintf("-%d", hi)
		}
		if !seen[s] {
			places = append(places, s)
		}
		seen[s] = true
	}
	if len(places) == 0 {
		return ""
	}
	more := ""
	if len(places) > 4 {
		places, more = places[:4], ", ..."
	}
	return "it has a value at " + strings.Join(places, ", ") + more
}

// hasAddress reports whether object e is in memory.
func (st *site) hasAddress(e expr) bool {
	s := shapeOf(e)
	return s.mem || s.ref != nil && s.ref.loc.Unavailable != ""
}

// needAddress makes sure that object e has an address.
func (st *site) needAddress(e expr) {
	if b := bitField(e); b != 0 {
		st.fail(e.Span(), "a bit-field has no address", "")
	}
	if st.uneval > 0 {
		return
	}
	st.available(e, func(s shape) {
		hint := ""
		if isArray(e.Type()) {
			hint = "use a constant index: [0]"
		}
		if strings.HasPrefix(s.ref.name, "$") {
			st.fail(e.Span(), fmt.Sprintf("%s is a register: it has no address", s.ref.name), hint)
		}
		msg := fmt.Sprintf("%q is not in memory here: it has no address", s.ref.name)
		panic(&bail{d: st.from.At(e.Span(), msg, hint), unavailable: true, undescribed: true, otherwise: true, why: msg})
	})
	if _, ok := e.(*strLit); ok {
		panic("BUG: sema: address of a literal")
	}
	if t := e.Type().Strip(); t.Kind == ctype.Invalid {
		st.failType(e)
	}
}
