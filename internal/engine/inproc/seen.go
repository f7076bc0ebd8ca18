package inproc

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
)

// hardware maps DWARF's numbers of the general registers (psABI figure 3.36) to the processor's.
var hardware = [16]uint8{0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15}

// seen are the registers that hit programs read. A register that the program will not read again still has
// the value of a variable, according to the debug information, until it is overwritten. So one site must
// not destroy it if another site shows it.
type seen struct {
	gpr   patch.RegSet
	flags bool
}

func (s *seen) add(p *ir.Program) {
	for in := range p.Instrs() {
		switch {
		case in.Op != ir.Reg:
		case in.Imm >= 0 && in.Imm < int64(len(hardware)):
			s.gpr |= 1 << hardware[in.Imm]
		case in.Imm == ir.RegFlags:
			s.flags = true
		}
	}
}

// destroying are the patches with a site in the function of x that may destroy a register that x reads. They were made before
// anything read it.
func (l *patches) destroying(x *site) (list []*placed) {
	var reads seen
	reads.add(x.IR)
	m, at := x.where.mod, x.where.site.Addr
	fn, ok := m.dw.FunctionAt(at)
	if reads == (seen{}) || !ok {
		return nil
	}
	inside := func(y *site) bool {
		return slices.ContainsFunc(fn.Ranges, func(r debuginfo.Range) bool { return r.Lo <= y.where.site.Addr && y.where.site.Addr < r.Hi })
	}
	for _, p := range l.list() {
		if p.mod == m && slices.ContainsFunc(p.sites, func(y *site) bool {
			d := y.destroys
			return (d.gpr&reads.gpr != 0 || d.flags && reads.flags) && inside(y)
		}) {
			list = append(list, p)
		}
	}
	return list
}
