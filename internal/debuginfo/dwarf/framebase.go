package dwarf

import (
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// LLVM's compilers give functions a register as frame base: the frame pointer, or the stack pointer. It has that value
// in the body only. In the code that makes the frame, and in that behind its end up to the return, call frame
// information leads from the registers there to the same address.

const noFrame = "its location is relative to the function's frame, which does not exist at this instruction"

// registerBase is the frame base of a function that has a register for it.
func (lo *locations) registerBase(base []debuginfo.Op) ([]debuginfo.Op, string) {
	reg := base[0].Arg
	lo.moved = reg == int64(host.Processor.SP) || reg == int64(host.Processor.FP)
	at, cfa, ok := fromRegister(lo.cfa)
	if !lo.moved || !ok || len(lo.cfa) > 2 {
		return base, ""
	}
	body, largest, ok := lo.bodyCFA(reg)
	switch {
	case !ok && at == int64(host.Processor.SP) && cfa == host.Processor.ReturnSlot && largest > cfa:
		return nil, noFrame
	case !ok:
		return base, ""
	}
	lo.moved = false
	if at == reg && cfa == body {
		return base, ""
	}
	return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: at}, {Code: debuginfo.OpAddConst, Arg: cfa - body}}, ""
}

// bodyCFA is the distance from the frame base, a register, to the canonical frame address in the body of the function:
// the frame pointer has but one; the stack pointer has the same one in the whole body unless it pushes arguments of
// calls. largest is the largest distance from the stack pointer.
func (lo *locations) bodyCFA(reg int64) (body, largest int64, ok bool) {
	e := lo.m.frames().Find(lo.pc)
	if e == nil {
		return 0, 0, false
	}
	sp := reg == int64(host.Processor.SP)
	certain := true
	err := e.Rows(func(r *frame.Row) {
		if r.CFAReg == int(host.Processor.SP) {
			largest = max(largest, r.CFAOff)
		}
		if sp || int64(r.CFAReg) != reg {
			return
		}
		certain = certain && (!ok || body == r.CFAOff)
		body, ok = r.CFAOff, true
	})
	if sp {
		rule, err := lo.m.unwind(lo.m.funcStart(lo.f.entry()).PC)
		if err != nil {
			return 0, largest, false
		}
		at, off, known := fromRegister(rule.CFA)
		body, ok = off, known && at == reg && off == largest
	}
	return body, largest, ok && certain && err == nil
}

// movesBase reports whether the frame base is a register that need not have its value at pc.
func (lo *locations) movesBase() bool {
	_, _ = lo.frameBase()
	return lo.moved
}
