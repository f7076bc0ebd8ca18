package dwarf

import (
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Go describes a variable that is on the heap, because its address outlives the function or because a closure changes it, by
// a variable that has its address: &x. The closure has one of the same name.

// named finds a name among the block's own.
func (s *scope) named(b *block, name string) *debuginfo.Variable {
	if d, ok := b.declares(name); ok {
		return s.local(d, b)
	}
	if s.u == nil || !s.u.isGo() {
		return nil
	}
	if d, ok := b.declares("&" + name); ok {
		return s.byItsAddress(d, s.local(d, b))
	}
	return nil
}

// byItsAddress is the variable x of one that is called &x.
func (s *scope) byItsAddress(d die, v *debuginfo.Variable) *debuginfo.Variable {
	t := v.Type.Strip()
	if t.Kind != ctype.Pointer || t.Elem == nil {
		return v
	}
	x := &debuginfo.Variable{Name: v.Name[1:], Kind: v.Kind, Type: t.Elem, File: v.File, Line: v.Line, Loc: v.Loc}
	at, ok := d.deep(atLocation)
	_, captured := d.deep(atGoClosureOffset)
	switch {
	case ok && !captured && at.IsBlock() && s.f != nil && !s.inBody(s.f.entry()):
		x.Loc = debuginfo.Location{Unavailable: NotMoved}
	case x.Loc.Unavailable == "":
		x.Loc = pointedTo(v.Loc)
	}
	return x
}

// closureRegisters are the registers, by processor, that have the address of a closure when its function is entered. Source:
// "Go internal ABI specification", cmd/compile/abi-internal.md.
var closureRegisters = map[string]int64{"amd64": 1, "arm64": 26}

const notCopied = "it is copied from the closure by code that is not executed yet here"

// inClosure is where a captured variable, or its address, is before the code of the closure's function has copied it to the
// frame. Go 1.25 and later describe its offset in the closure. The register of the closure is not changed by the code that
// checks the stack and pushes the frame pointer.
func (lo *locations) inClosure(d die) (at debuginfo.Location, ok bool) {
	if lo.f == nil || !lo.f.d.u.whole().isGo() {
		return at, false
	}
	off, ok := d.deep(atGoClosureOffset)
	reg, known := closureRegisters[host.Processor.Name]
	if !ok || !known || off.N >= 1<<20 || lo.pc < lo.f.entry() {
		return at, false
	}
	if end, _ := lo.m.analyzePrologue(lo.m.behindGoCheck(lo.f.entry())); lo.pc > end && !lo.atEntry() {
		v, _ := d.deep(atLocation)
		return debuginfo.Location{Unavailable: notCopied}, v.IsBlock() && !lo.inBody(lo.f.entry())
	}
	expr := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: reg}, {Code: debuginfo.OpAddConst, Arg: int64(off.N)}}
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: expr}}}, true
}
