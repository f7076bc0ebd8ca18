package ir_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// accepted are programs at the border of what Check allows.
var accepted = map[string]string{
	"fault edge carries what was defined before it": `
b0:
  v0 = reg rdi
  v1 = load.8 v0 fault b1
  exit
b1(v2):
  v3 = add.8 v2, v0
  exit`,
	"value on both ways": `
b0:
  v0 = reg rdi
  brif v0 -> b1 else b2
b1:
  jump b2
b2:
  v1 = neg.4 v0
  exit`,
	"record on one way only": `
b0:
  v0 = reg rdi
  brif v0 -> b1 else b2
b1:
  reserve 24
  commit
  jump b2
b2:
  exit`,
	"reserve on each of two ways": `
b0:
  v0 = reg rdi
  brif v0 -> b1 else b2
b1:
  reserve 40
  jump b3
b2:
  reserve 32
  jump b3
b3:
  put.8 @24, v0
  commit
  exit`,
	"fault inside of a record": `
b0:
  v0 = reg rdi
  reserve 48
  copy @24, v0, 24 fault b1
  jump b2
b1(v1):
  put.8 @24, v1
  jump b2
b2:
  commit
  exit`,
	"a block without a jump to it": `
b0:
  v0 = reg rdi
  exit
b1(v1):
  v2 = add.8 v1, v0
  put.8 @32, v2
  exit`,
	"both ways alike": `
b0:
  v0 = reg rdi
  brif v0 -> b1(v0) else b1(v0)
b1(v1):
  exit`,
}

func TestCheckAccepts(t *testing.T) {
	for name, text := range accepted {
		t.Run(name, func(t *testing.T) {
			if err := ir.Check(parse(t, text)); err != nil {
				t.Error(err)
			}
		})
	}
}

func parse(t testing.TB, text string) *ir.Program {
	t.Helper()
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// block makes a program of one block.
func block(lines ...string) string { return "b0:\n" + strings.Join(lines, "\n") + "\nexit" }

// aMap declares two maps.
const aMap = "map 0 words 2 slots 8 \"m\"\nmap 1 words 0 slots 1 \"n\"\n"

func TestCheckRejects(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no blocks"},
		{"b0(v0):\nexit", "the entry has parameters"},

		// Definitions and uses.
		{block("v0 = reg rdi", "v0 = reg rsi"), "v0 = reg rsi: v0 is defined twice"},
		{"b0:\nv0 = reg rdi\njump b1(v0)\nb1(v0):\nexit", "v0 is defined twice"},
		{block("v0 = neg.4 v1", "v1 = const 1"), "v0 = neg.4 v1: v1 is used where its definition does not dominate"},
		{block("v0 = neg.4 v0"), "v0 is used where"},
		{block("v0 = neg.4 v1"), "v1 is never defined"},
		{"b0:\nv0 = reg rdi\nbrif v0 -> b1 else b2\nb1:\nv1 = const 1\njump b2\nb2:\nv2 = neg.4 v1\nexit", "b2: v2 = neg.4 v1: v1 is used where"},
		{"b0:\nv0 = reg rdi\nv1 = load.4 v0 fault b1\nexit\nb1(v2):\nv3 = neg.4 v1\nexit", "v1 is used where"},
		{"b0:\nv0 = reg rdi\nv1 = load.4 v0 fault b1\nv4 = const 1\nexit\nb1(v2):\nv3 = neg.4 v4\nexit", "v4 is used where"},
		{"b0:\nbrif v1 -> b1 else b1\nb1:\nexit", "b0: v1 is never defined"},
		{"b0:\njump b1(v1)\nb1(v0):\nexit", "b0: v1 is never defined"},
		{"b0:\nexit\nb1:\nv1 = neg.4 v0\nexit\nb2:\nv0 = const 1\nexit", "b1: v1 = neg.4 v0: v0 is used where"},

		// Operations.
		{block("v0 = const 1", "v1 = add.2 v0, v0"), "width 2 is not allowed"},
		{block("v0 = const 1", "v1 = add v0, v0"), "width 0 is not allowed"},
		{block("v0 = const 1", "v1 = sext.8 v0"), "width 8 is not allowed"},
		{block("v0 = const 1", "v1 = load.3 v0"), "width 3 is not allowed"},
		{block("v0 = const 1", "v1 = add.4s v0, v0"), "only loads are signed"},
		{block("v0 = const 1", "add.4 v0, v0"), "v-1 is not a value of the program"},
		{block("v0:f64 = const 1"), "the result cannot be f64"},
		{block("v0 = fconst 1"), "the result cannot be i64"},
		{block("v0:f32 = fconst 0x100000000"), "the bits of an f32 do not fit 32 bits"},
		{block("v0:f64 = freg xmm0", "v1 = neg.4 v0"), "operand A is f64, not i64"},
		{block("v0 = const 1", "v1:f64 = fneg v0"), "operand A is i64, not a float"},
		{block("v0:f64 = freg xmm0", "v1:f32 = freg xmm0", "v2:f64 = fadd v0, v1"), "operand B is f32, but A is f64"},
		{block("v0:f64 = freg xmm0", "v1:f32 = fadd v0, v0"), "the result cannot be f32"},
		{block("v0:f64 = freg xmm0", "v1:f64 = ftof v0"), "the result cannot be f64"},
		{block("v0:f64 = freg xmm0", "v1:f64 = ftos v0"), "the result cannot be f64"},
		{block("count 4"), "there is no counter 4"},
		{block("v0 = count 1"), "Dst must be None"},
		{block("v0 = const 1", "v1 = streq v0, \"a\\x00\""), "Data holds a NUL"},
		{"map 0 words 30 slots 8 \"m\"\n" + block(), "map 0: 30 words of value"},
		{"map 0 words 1 slots 12 \"m\"\n" + block(), "map 0: 12 slots are no power of two up to 16777216"},
		{block("v0 = const 1", "v1 = mapslot 0, v0, v0"), "there is no map 0"},
		{aMap + block("v0 = const 1", "v1 = mapslot 0, v0, v0", "v2 = mapget 0, v1, 2"), "a value of map 0 has no word 2"},
		{aMap + block("v0 = const 1", "v2 = mapget 0, v0, 1"), "operand A is no slot of map 0"},
		{aMap + block("v0 = const 1", "v1 = mapslot 1, v0, v0", "mapshow 0, v1"), "operand A is no slot of map 0"},
		{aMap + block("v0 = const 1", "v1 = mapfind 0, v0, v0", "v2 = neg.8 v1"), "operand A is a slot of a map"},
		{aMap + block("v0 = const 1", "v1 = mapfind 0, v0, v0", "mapset 0, v1, 0, v1"), "operand B is a slot of a map"},
		{aMap + "b0:\nv0 = const 1\nv1 = mapfind 0, v0, v0\nbrif v1 -> b1 else b1\nb1:\nexit", "the condition is no i64 value"},
		{aMap + "b0:\nv0 = const 1\nv1 = mapfind 0, v0, v0\njump b1(v1)\nb1(v2):\nexit", "argument 0 of the edge to b1 is a slot of a map"},
		{aMap + block("v0 = const 1", "v1:f64 = mapfind 0, v0, v0"), "the result cannot be f64"},
		{block("v0 = const 1 fault b1") + "\nb1(v1):\nexit", "the operation has no fault edge"},

		// Edges.
		{"b0:\njump b0", "the edge to b0 does not lead forward"},
		{"b0:\njump b7", "there is no block b7"},
		{"b0:\nv0 = const 1\njump b1(v0)\nb1:\nexit", "the edge to b1 has 1 arguments for 0 parameters"},
		{"b0:\njump b1\nb1(v0):\nexit", "the edge to b1 has 0 arguments for 1 parameters"},
		{"b0:\nv0:f64 = freg xmm0\njump b1(v0)\nb1(v1):\nexit", "argument 0 of the edge to b1 is f64, not i64"},
		{"b0:\nv0:f64 = freg xmm0\nbrif v0 -> b1 else b1\nb1:\nexit", "the condition is no i64 value"},
		{block("v0 = const 1", "v1 = load.4 v0 fault b0"), "the edge to b0 does not lead forward"},
		{block("v0 = const 1", "v1 = load.4 v0 fault b9"), "there is no block b9"},
		{block("v0 = const 1", "v1 = load.4 v0 fault b1") + "\nb1:\nexit", "the fault block b1 must have exactly one i64 parameter"},
		{block("v0 = const 1", "v1 = load.4 v0 fault b1") + "\nb1(v2, v3):\nexit", "the fault block b1 must have exactly one i64 parameter"},
		{block("v0 = const 1", "v1 = load.4 v0 fault b1") + "\nb1(v2:f32):\nexit", "the fault block b1 must have exactly one i64 parameter"},

		// The record.
		{block("reserve 16"), "the size must be a multiple of 8 from 24 to 1048576"},
		{block("reserve 28"), "the size must be"},
		{block("reserve 1048584"), "the size must be"},
		{block("commit"), "there must be a reserved, uncommitted record on every path (none)"},
		{block("v0 = const 1", "put.4 @24, v0", "reserve 32", "commit"), "record on every path (none)"},
		{block("v0 = const 1", "reserve 32", "commit", "put.4 @24, v0"), "record on every path (committed)"},
		{block("reserve 32", "reserve 32", "commit"), "a record may be reserved already (reserved)"},
		{block("reserve 32", "commit", "reserve 32", "commit"), "a record may be reserved already (committed)"},
		{block("reserve 32"), "exit with a record that is not committed"},
		{"b0:\nv0 = reg rdi\nbrif v0 -> b1 else b2\nb1:\nreserve 32\njump b2\nb2:\ncommit\nexit", "record on every path (mixed)"},
		{"b0:\nv0 = reg rdi\nbrif v0 -> b1 else b2\nb1:\nreserve 24\njump b3\nb2:\nreserve 32\njump b3\nb3:\nput.8 @24, v0\ncommit\nexit", "the slot ends at 32, behind the 24 reserved bytes"},
		{"b0:\nv0 = reg rdi\nreserve 32\nv1 = load.4 v0 fault b1\ncommit\nexit\nb1(v2):\nexit", "b1: exit with a record"},
		{block("v0 = const 1", "reserve 32", "put.8 @25, v0", "commit"), "the slot ends at 33"},
		{block("v0 = const 1", "reserve 32", "put.8 @16, v0", "commit"), "the record offset 16 is out of range"},
		{block("v0 = const 1", "reserve 32", "put.8 @-8, v0", "commit"), "the record offset -8 is out of range"},
		{block("v0:f32 = freg xmm1", "reserve 32", "fput @29, v0", "commit"), "the slot ends at 33"},
		{block("reserve 32", "putreg.16 @24, xmm1", "commit"), "the slot ends at 40"},
		{block("v0 = const 1", "reserve 32", "copy @24, v0, 9", "commit"), "the slot ends at 33"},
		{block("v0 = const 1", "reserve 32", "copy @24, v0, -1", "commit"), "the size -1 is out of range"},
		{block("v0 = const 1", "reserve 32", "copystr.1 @24, v0, 1", "commit"), "the slot ends at 33"},
		{block("v0 = const 1", "reserve 64", "copystr.4 @24, v0, 6", "commit"), "6 bytes are no whole number of characters of 4"},
		{block("v0 = const 1", "reserve 32", "copyn @24, v0, v0, 1", "commit"), "the slot ends at 33"},
		{block("v0 = const 1", "reserve 32", "copymax @24, v0, 9223372036854775807", "commit"), "the size 9223372036854775807 is out of range"},
	} {
		p := parse(t, c.text)
		err := ir.Check(p)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got: %v\nwant: %s", c.text, err, c.want)
		}
	}
}

// TestCheckHandMade has what the text form cannot say.
func TestCheckHandMade(t *testing.T) {
	none := ir.Term{Cond: ir.None}
	one := func(i ir.Instr, classes ...ir.Class) *ir.Program {
		return &ir.Program{Classes: classes, Blocks: []*ir.Block{{Instrs: []ir.Instr{i}, Term: none}}}
	}
	for _, c := range []struct {
		p    *ir.Program
		want string
	}{
		{&ir.Program{}, "no blocks"},
		{&ir.Program{Blocks: []*ir.Block{nil}}, "nil block"},
		{&ir.Program{Blocks: []*ir.Block{{Term: none}}, Classes: []ir.Class{7}}, "v0 has unknown class 7"},
		{&ir.Program{Blocks: []*ir.Block{{Term: ir.Term{Kind: 9, Cond: ir.None}}}}, "unknown terminator 9"},
		{&ir.Program{Blocks: []*ir.Block{{Term: ir.Term{}}}}, "only a branch has a condition"},
		{&ir.Program{Blocks: []*ir.Block{{Term: none}, {Params: []ir.Value{3}, Term: none}}}, "v3 is not a value"},
		{one(ir.Instr{Op: 200, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock}), "unknown operation 200"},
		{one(ir.Instr{}), "unknown operation 0"},
		{one(ir.Instr{Op: ir.Const, Dst: 0, A: 0, B: ir.None, Fault: ir.NoBlock}, ir.I64), "operand A must be None"},
		{one(ir.Instr{Op: ir.Reg, Imm: 17, Dst: 0, A: ir.None, B: ir.None, Fault: ir.NoBlock}, ir.I64), "there is no register 17"},
		{one(ir.Instr{Op: ir.FReg, Imm: -1, Dst: 0, A: ir.None, B: ir.None, Fault: ir.NoBlock}, ir.F64), "there is no vector register -1"},
		{one(ir.Instr{Op: ir.Const, Dst: 0, A: ir.None, B: ir.None, Aux: 1, Fault: ir.NoBlock}, ir.I64), "Aux is not used"},
		{one(ir.Instr{Op: ir.Const, Dst: 0, A: ir.None, B: ir.None, Data: "x", Fault: ir.NoBlock}, ir.I64), "Data is not used"},
		{one(ir.Instr{Op: ir.Commit, Dst: ir.None, A: ir.None, B: ir.None, Imm: 1, Fault: ir.NoBlock}), "Imm is not used"},
		{one(ir.Instr{Op: ir.PutReg, W: 8, Dst: ir.None, A: ir.None, B: ir.None, Imm: 24, Aux: 34, Fault: ir.NoBlock}), "there is no register 34"},
		{one(ir.Instr{Op: ir.PutReg, W: 8, Dst: ir.None, A: ir.None, B: ir.None, Imm: 24, Aux: 16, Fault: ir.NoBlock}), "ymm0h has another width"},
		{one(ir.Instr{Op: ir.PutReg, W: 8, Dst: ir.None, A: ir.None, B: ir.None, Imm: 24, Aux: 32, Fault: ir.NoBlock}), "mxcsr has another width"},
		{one(ir.Instr{Op: ir.Neg, W: 4, Dst: 0, A: 5, B: ir.None, Fault: ir.NoBlock}, ir.I64), "operand A is missing"},
	} {
		err := ir.Check(c.p)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got: %v\nwant: %s", c.p, err, c.want)
		}
	}
}

// TestCheckSurvivesDamage damages programs at random. Check must not panic, and the passes must handle
// every program that Check accepts.
func TestCheckSurvivesDamage(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	accepted := 0
	for range 4000 {
		p := irgen.Random(r, irgen.Options{Floats: true, Maps: true})
		for range 1 + r.Intn(2) {
			damage(r, p)
		}
		if ir.Check(p) != nil {
			continue
		}
		accepted++
		if err := ir.Optimize(p); err != nil {
			t.Fatal(err)
		}
	}
	if accepted < 100 {
		t.Errorf("only %d programs survived; the damage is too large to test anything", accepted)
	}
}

func damage(r *rand.Rand, p *ir.Program) {
	b := p.Blocks[r.Intn(len(p.Blocks))]
	value := func() ir.Value { return ir.Value(r.Intn(len(p.Classes)+3) - 2) }
	id := func() ir.BlockID { return ir.BlockID(r.Intn(len(p.Blocks)+3) - 2) }
	if len(b.Instrs) == 0 || r.Intn(4) == 0 {
		t := &b.Term
		[]func(){
			func() { t.Kind = ir.TermKind(r.Intn(4)) },
			func() { t.Cond = value() },
			func() { t.Then.To = id() },
			func() { t.Else.To = id() },
			func() { t.Then.Args = append(t.Then.Args, value()) },
			func() { b.Params = append(b.Params, value()) },
		}[r.Intn(6)]()
		return
	}
	i := &b.Instrs[r.Intn(len(b.Instrs))]
	[]func(){
		func() { i.Op = ir.Op(r.Intn(int(ir.NumOps) + 2)) },
		func() { i.W = uint8(r.Intn(17)) },
		func() { i.Signed = !i.Signed },
		func() { i.Dst = value() },
		func() { i.A = value() },
		func() { i.B = value() },
		func() { i.Imm = int64(r.Intn(200) - 50) },
		func() { i.Aux = int64(r.Intn(200) - 50) },
		func() { i.Fault = id() },
		func() { i.Data = "x" },
	}[r.Intn(10)]()
}

// TestNumbersOfRing holds the numbers that ir repeats, because it imports
// nothing, equal to the ring's.
func TestNumbersOfRing(t *testing.T) {
	if ir.RecordHeader != ring.RecHeader || ir.Counters != ring.CountersPerSite || ir.CounterLost != ring.CounterLost {
		t.Error("ir and ring differ")
	}
}
