package loc

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// register makes the fragment the register itself.
func (x *xlate) register(n uint64) {
	if len(x.ops) > 0 || n > 127 {
		x.fail("its location is malformed (register)")
		return
	}
	x.kind, x.reg = kindRegister, int(n)
}

func (x *xlate) based(reg uint64, off int64) {
	if reg >= uint64(columns) {
		x.lose("its address is relative to a vector register")
		return
	}
	x.push(generic, debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(reg)})
	if off != 0 {
		x.emit(debuginfo.OpAddConst, off)
	}
}

func (x *xlate) frameBase(off int64) {
	if x.env.FrameBase == nil {
		x.lose("its location is relative to a frame base that is not there")
		return
	}
	ops, why := x.env.FrameBase()
	if why != "" {
		x.lose(why)
		return
	}
	x.ops, x.types = Append(x.ops, ops), append(x.types, generic)
	if off != 0 {
		x.emit(debuginfo.OpAddConst, off)
	}
}

func (x *xlate) objectAddress() {
	if !x.env.Object {
		x.lose("its location depends on an object (DW_OP_push_object_address)")
		return
	}
	x.push(generic, debuginfo.Op{Code: debuginfo.OpObject})
}

func (x *xlate) callFrameCFA() {
	if x.env.CFA == nil {
		x.lose("its location is relative to the call frame, which has no unwind information here")
		return
	}
	x.push(generic, x.env.CFA...)
}

func (x *xlate) addrx(i uint64, code debuginfo.OpCode) {
	if x.env.Unit == nil {
		x.fail("its location is malformed (address index)")
		return
	}
	a, ok := x.env.Unit.Address(i)
	if !ok {
		x.fail("its location is malformed (address index)")
		return
	}
	x.push(generic, debuginfo.Op{Code: code, Arg: int64(a)})
}

func (x *xlate) implicit(b []byte) {
	x.kind, x.bytes = kindBytes, append([]byte(nil), b...)
}

// entryValue is the value that a register had, or what was where it pointed, when the function was entered.
func (x *xlate) entryValue(b []byte) {
	e, ok := x.enteredOf(b)
	switch {
	case ok && x.env.Entered != nil:
		x.entered(e)
	case ok && x.env.AtEntry && e.Size == 0 && !e.As.Float:
		x.push(e.As, debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(e.Reg)})
		x.extend(e.As)
	default:
		x.lose("optimised out: only its value at the function's entry is known (DW_OP_entry_value)")
	}
}

// enteredOf reads the expression of an entry value; ok is false for others than those that GDB knows.
func (x *xlate) enteredOf(b []byte) (e Entered, ok bool) {
	c := raw.Cursor{B: b}
	ok = true
	switch code := c.U8(); {
	case code >= 0x50 && code <= 0x6f:
		e.Reg = int(code) - 0x50
	case code == 0x90:
		e.Reg = int(min(c.ULEB(), 1<<10))
	case code == 0xa5 || code == 0xf5: // regval_type
		e.Reg = int(min(c.ULEB(), 1<<10))
		off := c.ULEB()
		if c.Bad || x.env.Unit == nil {
			return e, false
		}
		var why string
		e.As, why = x.env.Unit.BaseType(off)
		ok = why == ""
	case code >= 0x70 && code <= 0x8f:
		e.Reg, ok = int(code)-0x70, c.SLEB() == 0
		switch c.U8() {
		case 0x06:
			e.Size = 8
		case 0x94:
			e.Size = int64(c.U8())
			ok = ok && (e.Size == 1 || e.Size == 2 || e.Size == 4 || e.Size == 8)
		default:
			ok = false
		}
	default:
		ok = false
	}
	known := e.Reg < columns
	if e.As.Float {
		known = isVector(uint64(e.Reg))
	}
	return e, ok && known && !c.Bad && c.Done()
}

func (x *xlate) entered(e Entered) {
	ops, why := x.env.Entered(e)
	if why != "" {
		x.lose(why)
		return
	}
	x.ops = Append(x.ops, ops)
	x.types = append(x.types, e.As)
	x.extend(e.As)
}

// implicitPointer is a pointer that the program does not have.
func (x *xlate) implicitPointer(entry uint64, offset int64) {
	if x.env.Pointer != nil && len(x.ops) == 0 && x.lost == "" {
		x.points = x.env.Pointer(entry, offset)
	}
	x.lose("it is a pointer to an object that has no address here (DW_OP_implicit_pointer)")
}

// parameterRef is the value of a parameter that the function no longer has.
func (x *xlate) parameterRef(off uint64) {
	if x.env.Entered == nil || off == 0 {
		x.lose("it is a parameter of the caller (DW_OP_GNU_parameter_ref)")
		return
	}
	x.entered(Entered{Param: off})
}
