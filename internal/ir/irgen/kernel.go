package irgen

import (
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ir"
)

const (
	// ContextSize is that of struct pt_regs on x86-64, which the context block is.
	ContextSize = 168
	// HighSize is that of State.High.
	HighSize = 2 * PageSize
	// contextAt is where eval finds the context block: an address that no program
	// makes in another way.
	contextAt = 0xffffabcdef010000
)

// ptRegs are the offsets in struct pt_regs by DWARF number.
var ptRegs = map[int64]int64{
	0: 80, 1: 96, 2: 88, 3: 40, 4: 104, 5: 112, 6: 32, 7: 152,
	8: 72, 9: 64, 10: 56, 11: 48, 12: 24, 13: 16, 14: 8, 15: 0,
	ir.RegPC: 128, ir.RegFlags: 144,
}

// surroundings fills what only the kernel engine sees.
func (s *State) surroundings(r *rand.Rand, opt Options) {
	s.HighAt = opt.High
	for page := 0; page < HighSize; page += PageSize {
		s.fill(r, s.High[page:page+PageSize])
	}
	for n := range s.Env[:ir.EnvTables] { // there are no tables of the process
		s.Env[n] = uint64(r.Int63())
	}
	s.Env[ir.EnvContext] = contextAt
	s.Env[ir.EnvCPU] = uint64(r.Intn(8))
	copy(s.Comm[:ir.CommSize-1], randomText(r))
	s.Given = s.word(r)
	for off := range s.Context { // what is no register: orig_ax, cs, ss
		s.Context[off] = byte(r.Intn(256))
	}
}

// reg reads register n. The first word of the block, r15, is left alone when
// it is read as a context, see ctx.
func (vs *values) reg(n int64) ir.Value {
	if off, ok := ptRegs[n]; ok && vs.opt.NoRegs {
		off = max(off, 8)
		return vs.def(ir.I64, ir.Instr{Op: ir.Ctx, W: 8, Imm: off})
	}
	return vs.def(ir.I64, ir.Instr{Op: ir.Reg, Imm: n})
}

// high is an address in the high memory.
func (vs *values) high(off int64, withImm bool) access {
	if vs.r.Intn(2) == 0 {
		return access{a: vs.constant(int64(vs.opt.High) + off), fault: ir.NoBlock}
	}
	return vs.offset(vs.constant(int64(vs.opt.High)), off, withImm)
}

// ctx reads a word of the context block behind its first 8 bytes, which
// a tracepoint's record does not give.
func (vs *values) ctx() ir.Value {
	w := vs.width(ir.Ctx.Info().Widths)
	off := 8 + vs.r.Int63n((ContextSize-8)/int64(w))*int64(w)
	return vs.def(ir.I64, ir.Instr{Op: ir.Ctx, W: w, Signed: w < 8 && vs.r.Intn(2) == 0, Imm: off})
}

// env reads a word of the environment. Of an address and of the time only some
// bits are used further on.
func (vs *values) env() ir.Value {
	n := ir.EnvCPU + int64(vs.r.Intn(ir.EnvTime)) // not EnvJiffies, which changes like the time
	if n == ir.EnvCPU && len(vs.avail)%2 == 0 {
		n = ir.EnvSite
	}
	if n != ir.EnvTask && n != ir.EnvTime {
		return vs.def(ir.I64, ir.Instr{Op: ir.Env, Imm: n})
	}
	v := vs.hidden(ir.Instr{Op: ir.Env, Imm: n})
	if n == ir.EnvTime {
		return vs.def(ir.I64, ir.Instr{Op: ir.Shr, W: 8, A: v, B: vs.constant(63)})
	}
	return vs.def(ir.I64, ir.Instr{Op: ir.And, W: 8, A: v, B: vs.constant(0xfffffff)})
}

// count counts; the last counter is where a given word may be kept.
func (g *gen) count() {
	n := ir.Counters
	if g.opt.Kernel {
		n--
	}
	g.emit(ir.Instr{Op: ir.Count, Imm: int64(g.r.Intn(n))})
}

// hand gives, takes or sets the result.
func (g *gen) hand() {
	switch g.r.Intn(4) {
	case 0:
		g.emit(ir.Instr{Op: ir.Give, A: g.int()})
	case 1:
		g.def(ir.I64, ir.Instr{Op: ir.Take})
	default:
		g.emit(ir.Instr{Op: ir.Result, A: g.int()})
	}
}
