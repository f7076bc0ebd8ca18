package loc

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Unit is what expressions refer to in their compilation unit.
type Unit interface {
	// Address is an entry of .debug_addr.
	Address(i uint64) (addr uint64, ok bool)
	// BaseType returns the type to which a typed operation refers by its offset. why describes one of another
	// kind.
	BaseType(off uint64) (t BaseType, why string)
}

// Env is what a location expression may refer to at one pc.
type Env struct {
	Unit      Unit           // nil in call frame information
	AddrSize  int            // bytes of an address
	Is64      bool           // section offsets have 8 bytes
	Version   int            // of DWARF; in version 2 references to entries are addresses
	CFA       []debuginfo.Op // the canonical frame address, nil when unknown
	FrameBase func() ([]debuginfo.Op, string)
	AtEntry   bool // pc is the first instruction of the function
	// Entered is the value that the function was entered with, as a word on top of the stack. nil: it is known at
	// the entry only.
	Entered func(Entered) ([]debuginfo.Op, string)
	// Pointer describes a pointer to the object whose entry is at a section offset. It may be nil.
	Pointer func(entry uint64, offset int64) *debuginfo.Pointer
	Object  bool // the expression may use the address of its object (debuginfo.OpObject)
}

// Entered is what a function was entered with: register Reg, the Size bytes where it points unless that is 0, or the
// parameter whose entry is at the offset Param of the unit unless that is 0. As is the type of the register's value.
type Entered struct {
	Reg   int
	Size  int64
	Param uint64
	As    BaseType
}

// place kinds of the fragment under construction.
const (
	kindMemory = iota
	kindRegister
	kindValue
	kindBytes
)

// xlate translates one expression. It runs the expression once, symbolically,
// with a stack of types: untyped words are 64 bits, typed ones are kept
// extended to 64 bits after every operation.
type xlate struct {
	env    *Env
	c      raw.Cursor
	ops    []debuginfo.Op
	types  []BaseType
	kind   int
	reg    int
	bytes  []byte
	pieces []debuginfo.Piece
	why    string
	lost   string // why the fragment under construction has no value
	points *debuginfo.Pointer

	at    map[int]int // byte offset -> index in ops
	marks []mark      // forward branches to resolve
	dead  bool        // after a skip: unreachable until a branch lands
}

type mark struct {
	op, target int
	types      []BaseType // the stack there
}

// Translate decodes expr. why is the reason, in words, why the value is unavailable; there is one piece then if it is a pointer to a
// known object.
func (e *Env) Translate(expr []byte) (pieces []debuginfo.Piece, why string) {
	x := e.run(expr, nil)
	if x.why != "" {
		if x.points != nil && x.why == x.lost && len(x.pieces) == 0 {
			return []debuginfo.Piece{{Kind: debuginfo.IsMissing, Why: x.why, Points: x.points}}, x.why
		}
		return nil, x.why
	}
	if len(x.pieces) == 0 {
		x.piece(0, 8, 0)
	} else if len(x.ops) > 0 || x.kind != kindMemory {
		x.fail("its location is malformed (operations after the last piece)")
	}
	if x.why != "" {
		return nil, x.why
	}
	if why := allMissing(x.pieces); why != "" {
		return nil, why
	}
	return x.pieces, ""
}

// allMissing is the reason if no piece has a value and one has a reason; otherwise "".
func allMissing(pieces []debuginfo.Piece) (why string) {
	for _, p := range pieces {
		if p.Kind != debuginfo.IsMissing {
			return ""
		}
		if why == "" {
			why = p.Why
		}
	}
	return why
}

// Word translates an expression that leaves one word, an integer, on top of those given.
func (e *Env) Word(expr []byte, start []debuginfo.Op) ([]debuginfo.Op, string) {
	return e.WordOf(generic, expr, start)
}

// WordOf is Word for a word of a type. Integers of all types are words of another one.
func (e *Env) WordOf(t BaseType, expr []byte, start []debuginfo.Op) ([]debuginfo.Op, string) {
	x := e.run(expr, start)
	switch {
	case x.why != "":
	case x.kind != kindMemory && x.kind != kindValue || len(x.pieces) > 0 || len(x.types) == 0:
		x.fail("its expression yields no value")
	case x.top().Float != t.Float || t.Float && *x.top() != t:
		x.fail("its expression yields a value of another type")
	}
	return x.ops, x.why
}

// FrameBaseOf translates DW_AT_frame_base: a register, or the address that the
// expression computes.
func (e *Env) FrameBaseOf(expr []byte) ([]debuginfo.Op, string) {
	x := e.run(expr, nil)
	switch {
	case x.why != "":
		return nil, x.why
	case x.kind == kindRegister && x.reg < columns:
		return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(x.reg)}}, ""
	case x.kind == kindMemory && len(x.ops) > 0 && len(x.pieces) == 0:
		return x.ops, ""
	}
	return nil, "the frame base of its function is malformed"
}

func (e *Env) run(expr []byte, start []debuginfo.Op) *xlate {
	x := &xlate{env: e, c: raw.Cursor{B: expr}, at: map[int]int{}}
	if start != nil {
		x.ops = append(x.ops, start...)
		x.types = append(x.types, generic)
	}
	for !x.c.Done() && x.why == "" {
		x.at[x.c.Off] = len(x.ops)
		x.land()
		x.step()
	}
	if x.c.Bad {
		x.fail("its location is malformed (truncated)")
	}
	x.at[x.c.Off] = len(x.ops)
	x.land()
	x.resolve()
	if x.lost != "" {
		x.fail(x.lost)
	}
	return x
}

func (x *xlate) fail(why string) {
	if x.why == "" {
		x.why = why
	}
}

// lose: the fragment under construction has no value. Others of the same location may have one.
func (x *xlate) lose(why string) {
	if x.lost == "" {
		x.lost = why
	}
}

func (x *xlate) step() {
	code := x.c.U8()
	op := &opTable[code]
	if op.do == nil {
		x.fail(fmt.Sprintf("its location uses the unknown operation %#x", code))
		return
	}
	a := x.operands(op.args)
	if x.c.Bad || x.dead {
		return
	}
	if len(x.ops) > maxOps {
		x.fail("its location is too long")
		return
	}
	closes := op.name == "piece" || op.name == "bit_piece"
	if x.lost != "" && !closes {
		return
	}
	if x.kind != kindMemory && !closes && op.name != "GNU_uninit" && op.name != "nop" {
		x.fail("its location is malformed (operations after the value)")
		return
	}
	op.do(x, a)
}

func (x *xlate) operands(args string) (a operands) {
	c := &x.c
	for i := 0; i < len(args); i++ {
		var v uint64
		switch args[i] {
		case 'b':
			v = uint64(c.U8())
		case 'c':
			v = uint64(int64(int8(c.U8())))
		case 'h':
			v = uint64(c.U16())
		case 'i':
			v = uint64(int64(int16(c.U16())))
		case 'w':
			v = uint64(c.U32())
		case 'x':
			v = uint64(int64(int32(c.U32())))
		case 'q', 'r':
			v = c.U64()
		case 'u':
			v = c.ULEB()
		case 's':
			v = uint64(c.SLEB())
		case 'a':
			v = c.Uint(x.env.AddrSize)
		case 'o':
			if x.env.Version == 2 {
				v = c.Uint(x.env.AddrSize)
			} else {
				v = c.Offset(x.env.Is64)
			}
		case 'U':
			a.b = c.Block(c.ULEB())
		case 'P':
			a.b = c.Block(uint64(c.U8()))
		}
		if i < 2 {
			a.n[i] = v
		}
	}
	return a
}

func (x *xlate) push(t BaseType, ops ...debuginfo.Op) {
	x.ops = append(x.ops, ops...)
	x.types = append(x.types, t)
}

// need checks that the stack holds n entries.
func (x *xlate) need(n int) bool {
	if len(x.types) < n {
		x.fail("its location is malformed (stack underflow)")
		return false
	}
	return true
}

func (x *xlate) emit(code debuginfo.OpCode, arg int64) {
	x.ops = append(x.ops, debuginfo.Op{Code: code, Arg: arg})
}

func (x *xlate) top() *BaseType { return &x.types[len(x.types)-1] }

func (x *xlate) pick(depth int) {
	if x.need(depth + 1) {
		t := x.types[len(x.types)-1-depth]
		if depth == 0 {
			x.push(t, debuginfo.Op{Code: debuginfo.OpDup})
		} else {
			x.push(t, debuginfo.Op{Code: debuginfo.OpPick, Arg: int64(depth)})
		}
	}
}

func (x *xlate) drop() {
	if x.need(1) {
		x.types = x.types[:len(x.types)-1]
		x.emit(debuginfo.OpDrop, 0)
	}
}

func (x *xlate) permute(n int, code debuginfo.OpCode) {
	if x.need(n) {
		t := x.types[len(x.types)-n:]
		last := t[n-1]
		copy(t[1:], t[:n-1])
		t[0] = last
		x.emit(code, 0)
	}
}

func (x *xlate) deref(size int64) {
	if !x.needInteger() {
		return
	}
	switch size {
	case 1, 2, 4, 8:
		*x.top() = generic
		x.emit(debuginfo.OpDeref, size)
	default:
		x.lose(fmt.Sprintf("its location reads %d bytes at once", size))
	}
}

func (x *xlate) addConst(n int64) {
	if x.needInteger() {
		x.emit(debuginfo.OpAddConst, n)
		x.extend(*x.top())
	}
}

// Append puts one expression behind another.
func Append(ops, more []debuginfo.Op) []debuginfo.Op {
	base := len(ops)
	ops = append(ops, more...)
	for i := base; i < len(ops); i++ {
		if c := ops[i].Code; c == debuginfo.OpSkip || c == debuginfo.OpBra {
			ops[i].Arg += int64(base)
		}
	}
	return ops
}

// piece closes a fragment of n units of unit bits. n 0 from translate: the whole.
func (x *xlate) piece(n, unit, offset uint64) {
	if n > 1<<32 || offset > 1<<16 {
		x.fail("its location is malformed (piece size)")
		return
	}
	p := debuginfo.Piece{BitSize: int64(n * unit), BitOffset: int64(offset)}
	switch {
	case x.lost != "":
		p.Kind, p.Why, p.Points = debuginfo.IsMissing, x.lost, x.points
	case x.kind == kindRegister:
		p.Kind, p.Reg = debuginfo.InRegister, x.reg
	case x.kind == kindBytes:
		p.Kind, p.Bytes = debuginfo.IsBytes, x.bytes
	case len(x.ops) == 0:
		p.Kind = debuginfo.IsMissing
	case !x.need(1):
		return
	case x.kind == kindValue:
		p.Kind, p.Expr = debuginfo.IsValue, x.ops
	default:
		p.Kind, p.Expr = debuginfo.InMemory, x.ops
	}
	x.pieces = append(x.pieces, p)
	x.ops, x.types, x.kind, x.bytes, x.lost = nil, nil, kindMemory, nil, ""
	x.points = nil
	if len(x.pieces) > maxOps {
		x.fail("its location is too long")
	}
}

// columns: registers of address expressions and frame tables have numbers below.
var columns = int(host.Processor.FrameColumns)

// isVector: a register whose low bytes are a number in floating point.
func isVector(reg uint64) bool {
	_, ok := host.Processor.Vector(arch.Reg(min(reg, 1<<15)))
	return ok
}
