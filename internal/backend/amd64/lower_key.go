package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

// lowerMapShow does not write to a line that other processors read, if the key is shown already.
func (ma *mapped) lowerMapShow(in *ir.Instr) {
	bits := int64(maps.Shown ^ maps.Hidden)
	if tab := &ma.cfg.Maps[in.Aux]; tab.Single || tab.Reuse { // jalon may have retired it
		bits = maps.Shown
	}
	ma.ofSlot(in, nil, func(s Reg) {
		hidden, done := ma.a.newLabel(), ma.a.newLabel()
		ma.mi(iTEST, 4, rmMem(at(s, maps.Tag)), maps.Shown^maps.Hidden)
		ma.a.jcc(ccE, hidden)
		ma.a.bind(done)
		ma.later(func() {
			ma.a.bind(hidden)
			ma.mi(iOR, 4, rmMem(at(s, maps.Tag)), bits)
			ma.a.jmp(done)
		})
	})
}

// lowerKeyWord keeps a word of the next key in the frame.
func (ma *mapped) lowerKeyWord(in *ir.Instr) {
	m := rmMem(ma.keyMem(in.Imm))
	if o := ma.val(in.A, 8); o.kind == opdImm {
		ma.mi(iMOV, 8, m, o.imm)
		return
	}
	ma.mr(iMOV, 8, m, ma.reg(in.A, 8))
}

func (ma *mapped) lowerMapHide(in *ir.Instr) {
	if ma.cfg.Maps[in.Aux].Reuse { // never retired, as it may be when it is loaded
		t := ma.scratch()
		ma.ofSlot(in, nil, func(s Reg) {
			ma.rmo(iMOV, 4, t, memOpd(at(s, maps.Tag)))
			ma.mi(iAND, 4, rmReg(t), ^(maps.Shown ^ maps.Hidden))
			ma.mi(iOR, 4, rmReg(t), maps.Hidden)
			ma.mr(iMOV, 4, rmMem(at(s, maps.Tag)), t)
		})
		return
	}
	ma.ofSlot(in, nil, func(s Reg) { ma.mi(iAND, 4, rmMem(at(s, maps.Tag)), ^(maps.Shown ^ maps.Hidden)) })
}
