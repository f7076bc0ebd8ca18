package amd64

// saver emits the saves and restores of a plan.
type saver struct {
	*planner
	*emitter
	*pool
	*stubs
}

// saveItems saves the items in s; had are saved already. keepRAX: rax is in use. The code destroys no item,
// except rax (without keepRAX) when flags are saved.
func (sv *saver) saveItems(s, had regSet, keepRAX bool) {
	a := sv.a
	if s.has(itemFrame) {
		s = sv.openFrame(s, had)
	}
	(s & allGPR).each(func(it item) {
		if r, ok := sv.saveIn[it]; ok {
			a.rm(iMOV, 8, r, rmReg(Reg(it)), 0)
			return
		}
		a.mr(iMOV, 8, rmMem(sv.slot(it)), Reg(it))
	})
	if s.has(itemFlags) {
		sv.saveFlags(keepRAX)
	}
	if s.has(itemMXCSR) {
		// The hit program's own floating-point operations must not trap: all exceptions are masked. The
		// exceptions that they raise are dropped when the program's word is restored.
		m := sv.slot(itemMXCSR)
		sv.clobber(itemFlags)
		a.m(iSTMXCSR, 4, rmMem(m), 0)
		a.m(iSTMXCSR, 4, rmMem(m.plus(4)), 0)
		a.mi(iOR, 4, rmMem(m.plus(4)), 0x1f80)
		a.m(iLDMXCSR, 4, rmMem(m.plus(4)), 0)
	}
	(s & allXMM).each(func(it item) { a.mr(iMOVUPS, 8, rmMem(sv.slot(it)), Reg(it-itemXMM)) })
}

func (sv *saver) saveFlags(keepRAX bool) {
	a := sv.a
	if sv.an.readFlags {
		a.plain(iPUSHF)
		a.m(iPOPM, 8, rmMem(sv.slot(itemFlags)), 0)
		return
	}
	if keepRAX {
		sv.needFrame()
		sv.usesTmp = true
		a.mr(iMOV, 8, rmMem(at(RSP, sv.plan.tmp)), RAX)
	} else {
		sv.clobber(item(RAX))
	}
	a.plain(iLAHF)
	a.m(iSET, 1, rmReg(RAX), 0)
	if r, ok := sv.saveIn[itemFlags]; ok {
		a.rm(iMOV, 4, r, rmReg(RAX), 0)
	} else {
		a.mr(iMOV, 4, rmMem(sv.slot(itemFlags)), RAX)
	}
	if keepRAX {
		a.rm(iMOV, 8, RAX, rmMem(at(RSP, sv.plan.tmp)), 0)
	}
}

// restoreItems restores the items in s, except dead registers.
func (sv *saver) restoreItems(s regSet) {
	a, dead := sv.a, sv.deadSet
	if s.has(itemMXCSR) {
		a.m(iLDMXCSR, 4, rmMem(sv.slot(itemMXCSR)), 0)
	}
	(s & allXMM &^ dead).each(func(it item) { a.rm(iMOVUPS, 8, Reg(it-itemXMM), rmMem(sv.slot(it)), 0) })
	if s.has(itemFlags) && !dead.has(itemFlags) {
		sv.restoreFlags((s | dead).has(item(RAX)) && !sv.reserved.has(item(RAX)))
	}
	(s & allGPR &^ dead).each(func(it item) {
		if r, ok := sv.saveIn[it]; ok {
			a.rm(iMOV, 8, Reg(it), rmReg(r), 0)
			return
		}
		a.rm(iMOV, 8, Reg(it), rmMem(sv.slot(it)), 0)
	})
	if s.has(itemFrame) {
		a.rm(iLEA, 8, RSP, rmMem(at(RSP, sv.plan.frame)), 0)
	}
}

func (sv *saver) restoreFlags(freeRAX bool) {
	a := sv.a
	if sv.an.readFlags {
		a.m(iPUSHM, 8, rmMem(sv.slot(itemFlags)), 0)
		a.plain(iPOPF)
		return
	}
	if !freeRAX {
		sv.needFrame()
		sv.usesTmp = true
		a.mr(iMOV, 8, rmMem(at(RSP, sv.plan.tmp)), RAX)
	}
	if r, ok := sv.saveIn[itemFlags]; ok {
		a.rm(iMOV, 4, RAX, rmReg(r), 0)
	} else {
		a.rm(iMOV, 4, RAX, rmMem(sv.slot(itemFlags)), 0)
	}
	a.mi(iADD, 1, rmReg(RAX), 0x7f) // overflows when al is 1
	a.plain(iSAHF)
	if !freeRAX {
		a.rm(iMOV, 8, RAX, rmMem(at(RSP, sv.plan.tmp)), 0)
	}
}
