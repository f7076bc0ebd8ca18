package sema

import "github.com/jalon-trace/jalon/internal/debuginfo"

// redZone is how many bytes below the stack pointer keep their values at the site. The kernel is built without
// a red zone, and its exceptions are taken on its stack. Go's run-time system calls asyncPreempt at any
// instruction, with the return address right below the stack pointer.
func (st *site) redZone() int64 {
	k := st.in.Kernel
	if st.in.GoCode || k != nil && !k.User {
		return 0
	}
	return processor.RedZone
}

// released reports whether a location reads stack memory below the red zone, as do variables of a frame
// that has already been released (between leave and ret): any signal, and the hit program itself, may have
// overwritten it. last: the result of the expression is read too, not only the addresses that it
// dereferences.
func released(ops []debuginfo.Op, last bool, redZone int64) bool {
	for i := 0; i < len(ops); i++ {
		if ops[i].Code != debuginfo.OpReg || ops[i].Arg != int64(processor.SP) {
			continue
		}
		off := int64(0)
		for i++; i < len(ops) && ops[i].Code == debuginfo.OpAddConst; i++ {
			off += ops[i].Arg
		}
		read := last
		if i < len(ops) {
			read = ops[i].Code == debuginfo.OpDeref
		}
		if read && off < -redZone {
			return true
		}
		i--
	}
	return false
}
