// Package axgen makes random valid agent expressions and tracepoints, for the tests
// that compare the executors of package agentexpr's programs.
//
// Import rule: axgen imports agentexpr, ir, eval, irgen and ring only, and only
// tests import axgen.
package axgen

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ir/x86"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Options narrow what is made.
type Options struct {
	// Kernel leaves out what only a process has: vector, x87 and segment registers.
	Kernel bool
	// Steps bounds the number of instructions, about; 0: 30.
	Steps int
}

// Vars is how many trace state variables are used, with the numbers from 1 on:
// as many as irgen.State has.
const Vars = irgen.Vars

// Lowering is how sites made here are lowered.
func Lowering(opt Options) *agentexpr.Options {
	return &agentexpr.Options{
		Kernel: opt.Kernel, PtRegs: opt.Kernel, GSBase: !opt.Kernel, AVX: !opt.Kernel, InUse: !opt.Kernel,
		Trusted: func(base, off, size int64) bool {
			return !opt.Kernel && base == rsp && off >= 0 && off+size <= irgen.StackRoom
		},
		Var: func(n int) (agentexpr.Variable, bool) {
			return agentexpr.Variable{Index: int64(n - 1)}, n >= 1 && n <= Vars
		},
		Limits: limits,
	}
}

var limits = agentexpr.Limits{Block: 48, String: 24, Record: 7168}

// Machine is the state s for the interpreter.
func Machine(s *eval.Machine) *agentexpr.Machine {
	m := &agentexpr.Machine{Mem: s.Mem, Vars: map[int]uint64{}, Limits: limits}
	m.Register = func(n int) []byte { return register(s.Wide.(*x86.State), n) }
	for n, r := range agentexpr.Registers {
		for d := int64(0); d <= int64(amd64.DwarfGSBase); d++ {
			if r.Name == ir.RegName(d) || r.Name == "eflags" && d == ir.RegFlags {
				m.Regs[n] = s.Regs[d]
			}
		}
		switch r.Name {
		case "cs":
			m.Regs[n] = 0x33
		case "ss":
			m.Regs[n] = 0x2b
		case "orig_rax":
			m.Regs[n] = ^uint64(0)
		}
	}
	for n, v := range s.Vars {
		m.Vars[n+1] = v
	}
	return m
}

// fields are the registers of the x87 that are numbers: offset in FXSAVE's layout and
// size.
var fields = map[string][2]int{
	"fctrl": {0, 2}, "fstat": {2, 2}, "fioff": {8, 4}, "fiseg": {12, 2}, "fooff": {16, 4}, "foseg": {20, 2},
}

// register gives a register that is no number for expressions; nil: there is none.
func register(s *x86.State, n int) []byte {
	if n >= len(agentexpr.Registers) {
		return nil
	}
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	name := agentexpr.Registers[n].Name
	var i int
	if scan(name, "xmm%d", &i) {
		return slices.Clone(s.XMM[i][:])
	}
	if scan(name, "ymm%dh", &i) {
		return slices.Clone(s.YMMH[i][:])
	}
	if scan(name, "st%d", &i) {
		return slices.Clone(s.X87[32+16*i:][:10])
	}
	switch name {
	case "mxcsr":
		return word(s.MXCSR)
	case "ftag":
		return word(uint32(agentexpr.FullTag(s.X87[4], binary.LittleEndian.Uint16(s.X87[2:]), s.X87[32:])))
	case "fop":
		return word(uint32(binary.LittleEndian.Uint16(s.X87[6:]) & 0x7ff))
	}
	b := make([]byte, 4)
	copy(b, s.X87[fields[name][0]:][:fields[name][1]])
	return b
}

func scan(name, format string, i *int) bool {
	n, err := fmt.Sscanf(name, format, i)
	return n == 1 && err == nil
}

// Diff describes the first difference between what the interpreter left and what a
// program lowered from the same site did; "" when there is none.
func Diff(want *agentexpr.Outcome, m *agentexpr.Machine, lay *agentexpr.Layout, rec []byte, counters [ir.Counters]uint64, vars []uint64) string {
	var count [ir.Counters]uint64
	switch {
	case want.CondFail != nil:
		count[ring.CounterCondFault] = 1
	case want.Frame == nil:
		count[ring.CounterFalse] = 1
	}
	if count != counters {
		return fmt.Sprintf("counters %v, want %v", counters, count)
	}
	for n, v := range vars {
		if w := m.Vars[n+1]; v != w {
			return fmt.Sprintf("variable %d is %#x, want %#x", n+1, v, w)
		}
	}
	if rec == nil || want.Frame == nil {
		if (rec != nil) != (want.Frame != nil) {
			return fmt.Sprintf("record: %v, want %v", rec != nil, want.Frame != nil)
		}
		return ""
	}
	if len(rec) != lay.RecordSize && (lay.ShortSize == 0 || len(rec) != lay.ShortSize) {
		return fmt.Sprintf("record of %d bytes, want %d", len(rec), lay.RecordSize)
	}
	got, all := show(lay.Frame(rec)), show(want.Frame)
	for i := range max(len(got), len(all)) {
		switch {
		case i >= len(got):
			return "missing: " + all[i]
		case i >= len(all):
			return "not wanted: " + got[i]
		case got[i] != all[i]:
			return fmt.Sprintf("got %s, want %s", got[i], all[i])
		}
	}
	return ""
}

// show writes a frame as lines.
func show(f *agentexpr.Frame) []string {
	var list []string
	for _, r := range f.Regs {
		list = append(list, fmt.Sprintf("register %d: %x", r.Num, r.Data))
	}
	for _, b := range f.Blocks {
		text := ""
		if b.Printed != nil {
			text = fmt.Sprintf("%q %v", b.Printed, b.Printed.Args)
			b.Printed = nil
		}
		list = append(list, fmt.Sprintf("%+v %s", b, text))
	}
	for _, x := range f.Failures {
		list = append(list, fmt.Sprintf("%+v", x))
	}
	return list
}

// Site makes a tracepoint: mostly with a condition, and with a few actions.
func Site(r *rand.Rand, opt Options) *agentexpr.Site {
	s := &agentexpr.Site{Name: "random"}
	if r.Intn(4) != 0 {
		s.Cond = Expr(r, opt, agentexpr.ForCondition)
	}
	for range r.Intn(4) {
		s.Actions = append(s.Actions, action(r, opt))
	}
	return s
}

func action(r *rand.Rand, opt Options) agentexpr.Action {
	g := &gen{r: r, opt: opt}
	switch r.Intn(6) {
	case 0:
		var regs []int
		for range r.Intn(6) {
			n := r.Intn(len(agentexpr.Registers))
			if !opt.Kernel || n < 18 {
				regs = append(regs, n)
			}
		}
		return agentexpr.Action{Kind: agentexpr.CollectRegs, Regs: regs}
	case 1:
		a := agentexpr.Action{Kind: agentexpr.CollectMemory, Base: -1, Offset: int64(g.address()), Len: int64(g.size(40))}
		if r.Intn(2) == 0 {
			a.Base, a.Offset = rsp, int64(r.Intn(1500))
		}
		return a
	}
	return agentexpr.Action{Kind: agentexpr.Evaluate, Expr: Expr(r, opt, agentexpr.ForAction), Value: r.Intn(2) == 0}
}

const rsp = 7

// Count is how many expressions s has.
func Count(s *agentexpr.Site) int {
	n := 0
	if s.Cond != nil {
		n++
	}
	for i := range s.Actions {
		if s.Actions[i].Expr != nil {
			n++
		}
	}
	return n
}

// Expr makes a valid expression.
func Expr(r *rand.Rand, opt Options, use agentexpr.Use) *agentexpr.Expr {
	if opt.Steps == 0 {
		opt.Steps = 30
	}
	g := &gen{r: r, opt: opt, use: use}
	for range 1 + r.Intn(opt.Steps) {
		g.step()
	}
	for len(g.labels) > 0 {
		g.place(len(g.labels) - 1)
	}
	g.finish()
	e, err := agentexpr.Validate(g.code(), use)
	if err != nil {
		panic(fmt.Sprintf("BUG: axgen: %v\n%s", err, agentexpr.Text(g.list)))
	}
	return e
}

// gen makes one expression from its start to its end. Jumps lead to labels that are
// placed later, at a point with the depth that the jump was made with.
type gen struct {
	r      *rand.Rand
	opt    Options
	use    agentexpr.Use
	list   []agentexpr.Insn
	depth  int
	labels []label // not placed yet
	fixed  []label
}

type label struct {
	depth int
	jumps []int // indices of the jumps to it
	at    int   // index of the instruction after it
}

func (g *gen) emit(op agentexpr.Op, arg uint64) { g.add(agentexpr.Insn{Op: op, Arg: arg}) }

// add appends an instruction; the table of operations has what it does to the stack.
func (g *gen) add(in agentexpr.Insn) {
	g.list = append(g.list, in)
	g.depth += in.Pushes() - in.Pops()
}

// code gives the jumps their targets and encodes.
func (g *gen) code() []byte {
	pc := 0
	for i := range g.list {
		g.list[i].PC = pc
		pc += g.list[i].Len()
	}
	for _, l := range g.fixed {
		for _, j := range l.jumps {
			g.list[j].Arg = uint64(g.list[l.at].PC)
		}
	}
	return agentexpr.Encode(g.list)
}

// jump makes a jump to a new label or to one of the same depth.
func (g *gen) jump(op agentexpr.Op) {
	i := len(g.list)
	g.emit(op, 0)
	for k := range g.labels {
		if g.labels[k].depth == g.depth && g.r.Intn(2) == 0 {
			g.labels[k].jumps = append(g.labels[k].jumps, i)
			return
		}
	}
	g.labels = append(g.labels, label{depth: g.depth, jumps: []int{i}})
}

// place puts label k here, with the stack made as deep as it needs.
func (g *gen) place(k int) {
	l := g.labels[k]
	for g.depth < l.depth {
		g.source()
	}
	for g.depth > l.depth {
		g.emit(agentexpr.OpPop, 0)
	}
	l.at = len(g.list)
	g.fixed = append(g.fixed, l)
	g.labels = append(g.labels[:k], g.labels[k+1:]...)
}

// finish ends the way.
func (g *gen) finish() {
	if g.use == agentexpr.ForCondition && g.depth == 0 {
		g.source()
	}
	g.emit(agentexpr.OpEnd, 0)
}

// leave ends the way here, or jumps away, when a label can follow.
func (g *gen) leave() {
	if len(g.labels) == 0 {
		return
	}
	if g.r.Intn(3) == 0 {
		g.finish()
	} else {
		g.jump(agentexpr.OpGoto)
	}
	k := g.r.Intn(len(g.labels)) // reached by jumps only
	g.depth = g.labels[k].depth
	g.place(k)
}
