package dwarf

import "github.com/jalon-trace/jalon/internal/debuginfo"

// inThread corrects the offset of a thread-local variable in the module's block. gcc 12 puts the variable's address in
// the file into .debug_addr, and not its offset in the segment, if debug information is split (GDB 13 shows what is
// there). u is the unit of the entry.
func (ob *object) inThread(v *debuginfo.Variable, u *unit) {
	if len(v.Loc.Pieces) != 1 {
		return
	}
	e := v.Loc.Pieces[0].Expr
	if len(e) < 2 || e[0].Code != debuginfo.OpConst || e[1].Code != debuginfo.OpTLS {
		return
	}
	t, ok := ob.TLS()
	if !ok {
		return
	}
	off := uint64(e[0].Arg)
	isOffset := off < t.Memsz || off == t.Memsz && v.Type.Strip().Size == 0
	isAddress := u.d.dwo && off-t.Vaddr < t.Memsz
	switch {
	case isOffset && isAddress && u.head().gcc > 0:
		v.Loc = debuginfo.Location{Unavailable: "its place in the thread's memory is an address or an offset: the debug information does not say which"}
	case isOffset:
	case isAddress:
		e[0].Arg -= int64(t.Vaddr)
	default:
		v.Loc = debuginfo.Location{Unavailable: "its location is malformed (outside of the thread's memory)"}
	}
}
