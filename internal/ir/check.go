package ir

import (
	"errors"
	"fmt"
	"math"
)

// Check reports the first way in which p is not a program:
//
//   - a field that its operation does not have, a width, class, register or
//     number that is not allowed (table Ops);
//   - a value defined twice, or used where its definition does not dominate;
//   - an edge that does not lead forward, or whose arguments do not fit the
//     parameters; a fault edge to a block without its one I64 parameter;
//   - a slot of a map in another operation than those on that map, or on an edge;
//   - a record operation without exactly one Reserve before it on every path,
//     or outside the reserved bytes; an Exit with a record not committed.
//
// Blocks that nothing leads to are allowed (Optimize removes them); they may use
// what is defined in any block before them. A checked
// program makes eval and the backends neither panic nor loop.
func Check(p *Program) error {
	c := &checker{p: p}
	for _, step := range []func(){c.shape, c.flow} {
		if step(); c.err != nil {
			return fmt.Errorf("ir: program %q: %w", p.Name, c.err)
		}
	}
	return nil
}

type checker struct {
	p     *Program
	err   error
	block BlockID
	where string // of the present instruction, "" in a terminator
	aux   int64  // of the present instruction
	defs  bitset
	slots map[Value]int64 // results that are slots, with the number of their map
	key   uint64          // words of the next key that the block has set
}

func (c *checker) fail(format string, args ...any) {
	if c.err != nil {
		return
	}
	at := fmt.Sprintf("b%d", c.block)
	if c.where != "" {
		at += ": " + c.where
	}
	c.err = fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
}

// shape checks what needs no knowledge of the flow of control.
func (c *checker) shape() {
	p := c.p
	if len(p.Blocks) == 0 {
		c.err = errors.New("no blocks")
		return
	}
	for v, cl := range p.Classes {
		if cl > F32 {
			c.err = fmt.Errorf("v%d has unknown class %d", v, cl)
			return
		}
	}
	if c.maps(); c.err != nil {
		return
	}
	c.defs, c.slots = newBitset(len(p.Classes)), map[Value]int64{}
	for id, b := range p.Blocks {
		c.block, c.where = BlockID(id), ""
		if b == nil {
			c.fail("nil block")
			return
		}
		if id == 0 && len(b.Params) > 0 {
			c.fail("the entry has parameters")
		}
		for _, v := range b.Params {
			c.define(v)
		}
	}
	for id, b := range p.Blocks {
		c.block, c.key = BlockID(id), 0
		for i := range b.Instrs {
			if c.err != nil {
				return
			}
			c.where = p.InstrString(&b.Instrs[i])
			c.instr(&b.Instrs[i])
		}
		c.where = ""
		c.term(&b.Term)
	}
}

func (c *checker) define(v Value) {
	if !c.valid(v) {
		c.fail("v%d is not a value of the program", v)
		return
	}
	if c.defs.has(int(v)) {
		c.fail("v%d is defined twice", v)
		return
	}
	c.defs.add(int(v))
}

func (c *checker) valid(v Value) bool { return v >= 0 && int(v) < len(c.p.Classes) }

func (c *checker) instr(i *Instr) {
	info := i.Op.Info()
	if info.Name == "" {
		c.fail("unknown operation %d", i.Op)
		return
	}
	if !info.Widths.Has(i.W) {
		c.fail("width %d is not allowed", i.W)
	}
	if i.Signed && !info.Signed {
		c.fail("only loads are signed")
	}
	c.aux = i.Aux
	c.operand("A", i.A, info.A, None)
	c.operand("B", i.B, info.B, i.A)
	c.result(i, info)
	c.fault(i, info)
	if c.err != nil {
		return
	}
	if f := immChecks[i.Op]; f != nil {
		f(c, i)
	} else if i.Imm != 0 && !info.has('i', 'x', 'p', 'r', 'e', 'm', '@') {
		c.fail("Imm is not used")
	}
	if i.Aux != 0 && !info.has('n', 'X') {
		c.fail("Aux is not used")
	}
	if i.Data != "" && !info.has('s') {
		c.fail("Data is not used")
	}
	if i.Op.HasSlot() {
		c.slot(i)
	}
	if i.Op.OnMap() {
		c.onMap(i)
	}
}

func (c *checker) operand(name string, v Value, want Operand, a Value) {
	switch {
	case c.err != nil:
	case want == NoOperand:
		if v != None {
			c.fail("operand %s must be None", name)
		}
	case !c.valid(v):
		c.fail("operand %s is missing", name)
	case want == SlotOperand:
		// The definition precedes all uses, in the order of the blocks too.
		if m, ok := c.slots[v]; !ok || m != c.aux {
			c.fail("operand %s is no slot of map %d", name, c.aux)
		}
	case c.isSlot(v):
		c.fail("operand %s is a slot of a map", name)
	case want == IntOperand && c.p.Classes[v] != I64:
		c.fail("operand %s is %s, not i64", name, c.p.Classes[v])
	case want == FloatOperand && c.p.Classes[v] == I64:
		c.fail("operand %s is i64, not a float", name)
	case want == SameOperand && c.p.Classes[v] != c.p.Classes[a]:
		c.fail("operand %s is %s, but A is %s", name, c.p.Classes[v], c.p.Classes[a])
	}
}

func (c *checker) result(i *Instr, info *OpInfo) {
	if c.err != nil {
		return
	}
	if info.Result == NoResult {
		if i.Dst != None {
			c.fail("Dst must be None")
		}
		return
	}
	if c.define(i.Dst); c.err != nil {
		return
	}
	got := c.p.Classes[i.Dst]
	ok := true
	switch info.Result {
	case IntResult:
		ok = got == I64
	case SlotResult:
		ok = got == I64
		c.slots[i.Dst] = i.Aux
	case FloatResult:
		ok = got != I64
	case SameResult:
		ok = got == c.p.Classes[i.A]
	case OtherResult:
		ok = got != I64 && got != c.p.Classes[i.A]
	}
	if !ok {
		c.fail("the result cannot be %s", got)
	}
}

func (c *checker) fault(i *Instr, info *OpInfo) {
	if i.Fault == NoBlock || c.err != nil {
		return
	}
	if !info.MayFault {
		c.fail("the operation has no fault edge")
		return
	}
	if !c.forward(i.Fault) {
		return
	}
	if ps := c.p.Blocks[i.Fault].Params; len(ps) != 1 || c.p.Classes[ps[0]] != I64 {
		c.fail("the fault block b%d must have exactly one i64 parameter", i.Fault)
	}
}

func (c *checker) forward(to BlockID) bool {
	switch {
	case to < 0 || int(to) >= len(c.p.Blocks):
		c.fail("there is no block b%d", to)
	case to <= c.block:
		c.fail("the edge to b%d does not lead forward", to)
	default:
		return true
	}
	return false
}

// immChecks are the rules for Imm of the operations that have any.
var immChecks = map[Op]func(c *checker, i *Instr){
	Const: func(*checker, *Instr) {},
	FConst: func(c *checker, i *Instr) {
		if c.p.Classes[i.Dst] == F32 && (i.Imm < 0 || i.Imm > math.MaxUint32) {
			c.fail("the bits of an f32 do not fit 32 bits")
		}
	},
	Reg: func(c *checker, i *Instr) {
		if RegName(i.Imm) == "" {
			c.fail("there is no register %d", i.Imm)
		}
	},
	FReg: func(c *checker, i *Instr) {
		if i.Imm < 0 || i.Imm >= vectors() {
			c.fail("there is no vector register %d", i.Imm)
		}
	},
	Ctx: func(c *checker, i *Instr) {
		if i.Imm < 0 || i.Imm > MaxContext-int64(i.W) || i.Imm%int64(i.W) != 0 {
			c.fail("the context block has no aligned word at %d", i.Imm)
		}
	},
	Env: func(c *checker, i *Instr) {
		if i.Imm < 0 || i.Imm >= NumEnv {
			c.fail("there is no word %d in the environment", i.Imm)
		}
	},
	Count: func(c *checker, i *Instr) {
		if i.Imm < 0 || i.Imm >= Counters {
			c.fail("there is no counter %d", i.Imm)
		}
	},
	GetVar: checkVar, SetVar: checkVar, AddVar: checkVar, FetchAddVar: checkVar,
	StrEq: func(c *checker, i *Instr) {
		for _, b := range []byte(i.Data) {
			if b == 0 {
				c.fail("Data holds a NUL")
				return
			}
		}
	},
	Reserve: func(c *checker, i *Instr) {
		if i.Imm < RecordHeader || i.Imm > MaxRecord || i.Imm%8 != 0 {
			c.fail("the size must be a multiple of 8 from %d to %d", RecordHeader, MaxRecord)
		}
	},
	Walk: checkFrames, Intern: checkFrames, UserStack: checkFrames,
	StackID: func(c *checker, i *Instr) {
		if n := i.Aux &^ 7; n <= 0 || i.Aux&6 != 0 || n > MaxRecord {
			c.fail("%#x is no stack of a number of frames", i.Aux)
		}
	},
	Signal: func(c *checker, i *Instr) {
		if i.Imm != 0 && i.Imm != 1 {
			c.fail("%d is neither the process (0) nor the thread (1)", i.Imm)
		}
	},
	KeyWord: func(c *checker, i *Instr) { c.setsKey(i, 1) },
	KeyText: func(c *checker, i *Instr) { c.setsKey(i, (i.Aux+7)/8) },
	PutReg: func(c *checker, i *Instr) {
		switch r := Wide(i.Aux); {
		case r == nil:
			c.fail("there is no register %d", i.Aux)
		case !Widths(r.Widths).Has(i.W):
			c.fail("%s has another width", r.Name)
		}
	},
}

func checkFrames(c *checker, i *Instr) {
	if i.Aux <= 0 || i.Aux%8 != 0 || i.Aux > MaxRecord {
		c.fail("%d bytes are no whole number of frames", i.Aux)
	}
}

func checkVar(c *checker, i *Instr) {
	if i.Imm < 0 || i.Imm >= MaxVars {
		c.fail("there is no variable %d", i.Imm)
	}
}

// slot checks what holds of a record operation whatever was reserved.
func (c *checker) slot(i *Instr) {
	if i.Aux < 0 || i.Aux > MaxRecord {
		c.fail("the size %d is out of range", i.Aux)
	}
	if i.Op == CopyStr && i.W != 0 && i.Aux%int64(i.W) != 0 {
		c.fail("%d bytes are no whole number of characters of %d", i.Aux, i.W)
	}
	if i.Imm < RecordHeader || i.Imm > MaxRecord {
		c.fail("the record offset %d is out of range", i.Imm)
	}
}

func (c *checker) term(t *Term) {
	if c.err != nil {
		return
	}
	switch t.Kind {
	case Exit, Jump:
		if t.Cond != None {
			c.fail("only a branch has a condition")
		}
	case Branch:
		if !c.valid(t.Cond) || c.p.Classes[t.Cond] != I64 || c.isSlot(t.Cond) {
			c.fail("the condition is no i64 value")
		}
	default:
		c.fail("unknown terminator %d", t.Kind)
	}
	t.edges(func(e *Edge) {
		if c.err == nil && c.forward(e.To) {
			c.args(e)
		}
	})
}

func (c *checker) args(e *Edge) {
	params := c.p.Blocks[e.To].Params
	if len(e.Args) != len(params) {
		c.fail("the edge to b%d has %d arguments for %d parameters", e.To, len(e.Args), len(params))
		return
	}
	for i, v := range e.Args {
		switch {
		case !c.valid(v):
			c.fail("argument %d of the edge to b%d is missing", i, e.To)
		case c.isSlot(v):
			c.fail("argument %d of the edge to b%d is a slot of a map", i, e.To)
		case c.p.Classes[v] != c.p.Classes[params[i]]:
			c.fail("argument %d of the edge to b%d is %s, not %s", i, e.To, c.p.Classes[v], c.p.Classes[params[i]])
		}
	}
}
