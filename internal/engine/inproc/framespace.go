package inproc

import "github.com/jalon-trace/jalon/internal/debuginfo"

// frameSpace is the part of the stack that is certainly mapped at a site: from the lowest variable of the
// function up to the canonical frame address, after the return address. The offsets count from the register
// from which call frame information computes that address.
type frameSpace struct{ reg, lo, hi int64 }

// The DWARF numbers of the registers on which frame addresses are based.
const (
	rbp = 6
	rsp = 7
)

// The ABI's red zone ends 128 bytes below the stack pointer (psABI 3.2.2). Offsets of more than frameSpan
// from a register are not trusted, as in package sema.
const (
	redZone   = 128
	frameSpan = 64 << 10
)

// frameSpaceOf derives it from the debug information. Without that information the result is empty.
func frameSpaceOf(scope debuginfo.Scope) *frameSpace {
	var f frameSpace
	var ok bool
	f.reg, f.hi, ok = counted(scope.CFA())
	if !ok || f.reg != rbp && f.reg != rsp || f.hi < 0 || f.hi > frameSpan {
		return nil
	}
	f.lo = f.hi
	least := int64(-frameSpan)
	if f.reg == rsp {
		least = -redZone
	}
	for _, list := range [][]*debuginfo.Variable{scope.Args(), scope.Locals()} {
		for _, v := range list {
			if len(v.Loc.Pieces) != 1 || v.Loc.Pieces[0].Kind != debuginfo.InMemory {
				continue
			}
			if reg, off, ok := counted(v.Loc.Pieces[0].Expr); ok && reg == f.reg && off >= least {
				f.lo = min(f.lo, off)
			}
		}
	}
	return &f
}

// has reports whether size bytes at an offset from a register lie in the frame.
func (f *frameSpace) has(reg, off, size int64) bool {
	return f != nil && reg == f.reg && off >= f.lo && off <= f.hi && size >= 0 && size <= f.hi-off
}

// counted recognises an address relative to a register.
func counted(e []debuginfo.Op) (reg, off int64, ok bool) {
	if len(e) == 0 || e[0].Code != debuginfo.OpReg {
		return 0, 0, false
	}
	for _, op := range e[1:] {
		if op.Code != debuginfo.OpAddConst {
			return 0, 0, false
		}
		off += op.Arg
	}
	return e[0].Arg, off, true
}
