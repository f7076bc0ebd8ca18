package loc

import "github.com/jalon-trace/jalon/internal/debuginfo"

// opInfo is one operation of a location expression: the layout of its operands
// and what it translates to. Operand letters: b h w q unsigned of 1 2 4 8 bytes,
// c i x r the same signed, u uleb, s sleb, a address, o section offset, U uleb
// block, P block with one length byte.
type opInfo struct {
	name string
	args string
	do   func(x *xlate, a operands)
}

type operands struct {
	n [2]uint64
	b []byte
}

// maxOps bounds a translated expression.
const maxOps = 1 << 14

// opTable is filled by init: its handlers refer to it through xlate.
var opTable [256]opInfo

func init() {
	set := func(code int, name, args string, do func(x *xlate, a operands)) {
		opTable[code] = opInfo{name, args, do}
	}
	constant := func(x *xlate, a operands) { x.push(generic, debuginfo.Op{Code: debuginfo.OpConst, Arg: int64(a.n[0])}) }
	plain := func(code debuginfo.OpCode) func(*xlate, operands) {
		return func(x *xlate, a operands) { x.binary(code) }
	}
	unary := func(code debuginfo.OpCode) func(*xlate, operands) {
		return func(x *xlate, a operands) { x.unary(code) }
	}
	refuse := func(why string) func(*xlate, operands) {
		return func(x *xlate, a operands) { x.lose(why) }
	}
	set(0x03, "addr", "a", func(x *xlate, a operands) { x.push(generic, debuginfo.Op{Code: debuginfo.OpAddr, Arg: int64(a.n[0])}) })
	set(0x06, "deref", "", func(x *xlate, a operands) { x.deref(8) })
	for i, args := range []string{"b", "c", "h", "i", "w", "x", "q", "r", "u", "s"} {
		set(0x08+i, "const", args, constant)
	}
	set(0x12, "dup", "", func(x *xlate, a operands) { x.pick(0) })
	set(0x13, "drop", "", func(x *xlate, a operands) { x.drop() })
	set(0x14, "over", "", func(x *xlate, a operands) { x.pick(1) })
	set(0x15, "pick", "b", func(x *xlate, a operands) { x.pick(int(a.n[0])) })
	set(0x16, "swap", "", func(x *xlate, a operands) { x.permute(2, debuginfo.OpSwap) })
	set(0x17, "rot", "", func(x *xlate, a operands) { x.permute(3, debuginfo.OpRot) })
	set(0x18, "xderef", "", refuse("it is in another address space (DW_OP_xderef)"))
	set(0x19, "abs", "", unary(debuginfo.OpAbs))
	set(0x1a, "and", "", plain(debuginfo.OpAnd))
	set(0x1b, "div", "", plain(debuginfo.OpDiv))
	set(0x1c, "minus", "", plain(debuginfo.OpSub))
	set(0x1d, "mod", "", plain(debuginfo.OpMod))
	set(0x1e, "mul", "", plain(debuginfo.OpMul))
	set(0x1f, "neg", "", unary(debuginfo.OpNeg))
	set(0x20, "not", "", unary(debuginfo.OpNot))
	set(0x21, "or", "", plain(debuginfo.OpOr))
	set(0x22, "plus", "", plain(debuginfo.OpAdd))
	set(0x23, "plus_uconst", "u", func(x *xlate, a operands) { x.addConst(int64(a.n[0])) })
	set(0x24, "shl", "", plain(debuginfo.OpShl))
	set(0x25, "shr", "", plain(debuginfo.OpShr))
	set(0x26, "shra", "", plain(debuginfo.OpShra))
	set(0x27, "xor", "", plain(debuginfo.OpXor))
	set(0x28, "bra", "i", func(x *xlate, a operands) { x.branch(debuginfo.OpBra, int64(a.n[0])) })
	for i, code := range []debuginfo.OpCode{debuginfo.OpEq, debuginfo.OpGe, debuginfo.OpGt, debuginfo.OpLe, debuginfo.OpLt, debuginfo.OpNe} {
		set(0x29+i, "compare", "", func(x *xlate, a operands) { x.compare(code) })
	}
	set(0x2f, "skip", "i", func(x *xlate, a operands) { x.branch(debuginfo.OpSkip, int64(a.n[0])) })
	for i := range 32 {
		set(0x30+i, "lit", "", func(x *xlate, a operands) { constant(x, operands{n: [2]uint64{uint64(i)}}) })
		set(0x50+i, "reg", "", func(x *xlate, a operands) { x.register(uint64(i)) })
		set(0x70+i, "breg", "s", func(x *xlate, a operands) { x.based(uint64(i), int64(a.n[0])) })
	}
	set(0x90, "regx", "u", func(x *xlate, a operands) { x.register(a.n[0]) })
	set(0x91, "fbreg", "s", func(x *xlate, a operands) { x.frameBase(int64(a.n[0])) })
	set(0x92, "bregx", "us", func(x *xlate, a operands) { x.based(a.n[0], int64(a.n[1])) })
	set(0x93, "piece", "u", func(x *xlate, a operands) { x.piece(a.n[0], 8, 0) })
	set(0x94, "deref_size", "b", func(x *xlate, a operands) { x.deref(int64(a.n[0])) })
	set(0x95, "xderef_size", "b", refuse("it is in another address space (DW_OP_xderef_size)"))
	set(0x96, "nop", "", func(x *xlate, a operands) {})
	set(0x97, "push_object_address", "", func(x *xlate, a operands) { x.objectAddress() })
	set(0x98, "call2", "h", refuse("its location calls another one (DW_OP_call2)"))
	set(0x99, "call4", "w", refuse("its location calls another one (DW_OP_call4)"))
	set(0x9a, "call_ref", "o", refuse("its location calls another one (DW_OP_call_ref)"))
	tls := func(x *xlate, a operands) { x.unary(debuginfo.OpTLS) }
	set(0x9b, "form_tls_address", "", tls)
	set(0x9c, "call_frame_cfa", "", func(x *xlate, a operands) { x.callFrameCFA() })
	set(0x9d, "bit_piece", "uu", func(x *xlate, a operands) { x.piece(a.n[0], 1, a.n[1]) })
	set(0x9e, "implicit_value", "U", func(x *xlate, a operands) { x.implicit(a.b) })
	set(0x9f, "stack_value", "", func(x *xlate, a operands) { x.kind = kindValue })
	pointer := func(x *xlate, a operands) { x.implicitPointer(a.n[0], int64(a.n[1])) }
	set(0xa0, "implicit_pointer", "os", pointer)
	addrx := func(x *xlate, a operands) { x.addrx(a.n[0], debuginfo.OpAddr) }
	constx := func(x *xlate, a operands) { x.addrx(a.n[0], debuginfo.OpConst) }
	set(0xa1, "addrx", "u", addrx)
	set(0xa2, "constx", "u", constx)
	entry := func(x *xlate, a operands) { x.entryValue(a.b) }
	set(0xa3, "entry_value", "U", entry)
	constType := func(x *xlate, a operands) { x.constType(a.n[0], a.b) }
	set(0xa4, "const_type", "uP", constType)
	regval := func(x *xlate, a operands) { x.regvalType(a.n[0], a.n[1]) }
	set(0xa5, "regval_type", "uu", regval)
	derefType := func(x *xlate, a operands) { x.derefType(int64(a.n[0]), a.n[1]) }
	set(0xa6, "deref_type", "bu", derefType)
	set(0xa7, "xderef_type", "bu", refuse("it is in another address space (DW_OP_xderef_type)"))
	convert := func(x *xlate, a operands) { x.convert(a.n[0]) }
	set(0xa8, "convert", "u", convert)
	set(0xa9, "reinterpret", "u", func(x *xlate, a operands) { x.reinterpret(a.n[0]) })
	// The GNU forms of DWARF 5's operations, used with DWARF 4.
	set(0xe0, "GNU_push_tls_address", "", tls)
	set(0xf0, "GNU_uninit", "", func(x *xlate, a operands) {})
	set(0xf2, "GNU_implicit_pointer", "os", pointer)
	set(0xf3, "GNU_entry_value", "U", entry)
	set(0xf4, "GNU_const_type", "uP", constType)
	set(0xf5, "GNU_regval_type", "uu", regval)
	set(0xf6, "GNU_deref_type", "bu", derefType)
	set(0xf7, "GNU_convert", "u", convert)
	set(0xf9, "GNU_reinterpret", "u", func(x *xlate, a operands) { x.reinterpret(a.n[0]) })
	set(0xfa, "GNU_parameter_ref", "w", func(x *xlate, a operands) { x.parameterRef(a.n[0]) })
	set(0xfb, "GNU_addr_index", "u", addrx)
	set(0xfc, "GNU_const_index", "u", constx)
	set(0xfd, "GNU_variable_value", "o", refuse("it is the value of another variable (DW_OP_GNU_variable_value)"))
}
