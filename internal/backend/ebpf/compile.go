package ebpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/ring"
)

// stackSize is what the kernel gives a program.
const stackSize = 512

// maxDirect is how many loads a program does itself. To the verifier each value that is an address of such a load is a state of its own (not
// 0, or 0 after a second look, or what a fault leaves), and it follows what comes after for each combination of those that are alive: eight
// times in a loop that follows pointers. What helpers read is the same to it on all ways.
const maxDirect = 64

// compile has programs with many loads do these by helpers, if the values that are alive behind a call have room on the stack.
func compile(p *ir.Program, c *Config) (asm.Instructions, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := supported(p, c); err != nil {
		return nil, err
	}
	if err := c.checkMaps(p); err != nil {
		return nil, err
	}
	if byHelper := *c; c.Space == Kernel && c.Features.RdonlyCast != 0 && countLoads(p) > maxDirect {
		byHelper.Features.RdonlyCast = 0
		if insns, err := generate(p, &byHelper); err == nil {
			return insns, nil
		}
	}
	return generate(p, c)
}

// countLoads is how many loads a program has.
func countLoads(p *ir.Program) (n int) {
	for in := range p.Instrs() {
		if in.Op == ir.Load {
			n++
		}
	}
	return n
}

// generate tries with all registers first, then with one kept for scratch use.
func generate(p *ir.Program, c *Config) (asm.Instructions, error) {
	an := analyse(p, c)
	if q := timeOnce(an); q != p {
		p, an = q, analyse(q, c)
	}
	l := computeLiveness(an)
	var behind map[*ir.Instr]valueSet
	if an.direct() {
		behind = liveBehindLoads(an)
	}
	for _, withheld := range []asm.Register{asm.R0, secondScratch} {
		g := newGen(&planner{an: an, l: l, c: c, p: p, al: allocate(l, withheld)}, behind, withheld == secondScratch)
		g.run()
		if g.lacking {
			continue
		}
		room := stackSize
		if len(g.searches) > 0 {
			room -= callFrame
		}
		if g.stack > room {
			return nil, fmt.Errorf("the program needs %d bytes of stack for values that it computes and uses much later; eBPF has %d", g.stack, room)
		}
		insns, err := g.code.link(c.Features.V4)
		if err == nil && len(g.searches) > 0 { // all functions have types, or none has
			insns[0] = typed(insns[0], "jalon_hit")
		}
		return insns, err
	}
	panic("BUG: ebpf: no scratch register for " + p.Name)
}

// check holds that every access that the layout leads to lies inside the map.
func (c *Config) check() error {
	l := &c.Layout
	cpus := uint64(l.CPUMask) + 1
	sites := uint64(1)
	if c.SiteFromCookie {
		sites = uint64(c.Sites)
	}
	const limit = 1 << 29 // BPF_MAX_VAR_OFF: the verifier follows offsets up to here
	switch {
	case cpus&(cpus-1) != 0:
		return fmt.Errorf("layout of the map: the mask of CPUs %#x is not a power of two minus one", l.CPUMask)
	case l.RingSize == 0 || l.RingSize&(l.RingSize-1) != 0:
		return fmt.Errorf("layout of the map: a ring of %d bytes is not a power of two", l.RingSize)
	case c.MapSize > limit:
		return fmt.Errorf("layout of the map: %d bytes are more than the %d that a program can address", c.MapSize, limit)
	case sites == 0 || l.Counters+(cpus-1)*l.CounterStride+sites*8*ring.CountersPerSite > c.MapSize:
		return fmt.Errorf("layout of the map: the counters do not fit %d bytes", c.MapSize)
	case l.Rings+(cpus-1)*l.RingStride+ring.RingData+l.RingSize+c.Slack > c.MapSize:
		return fmt.Errorf("layout of the map: the rings do not fit %d bytes", c.MapSize)
	case l.Given+(cpus-1)*l.CounterStride+sites*8 > c.MapSize || l.Recorded+(cpus-1)*l.CounterStride+sites*8 > c.MapSize:
		return fmt.Errorf("layout of the map: the words of sites do not fit %d bytes", c.MapSize)
	case l.Switch >= c.MapSize:
		return fmt.Errorf("layout of the map: the switches do not fit %d bytes", c.MapSize)
	case l.Variables+8*uint64(l.VariableCount) > c.MapSize:
		return fmt.Errorf("layout of the map: the variables do not fit %d bytes", c.MapSize)
	case l.Variables%8 != 0 || l.Counters%8 != 0 || l.CounterStride%8 != 0 || l.Rings%8 != 0 || l.RingStride%8 != 0:
		return fmt.Errorf("layout of the map: not in units of 8 bytes")
	}
	return nil
}

// checkMaps holds that the tables have the forms of the program's maps, except that they may have fewer slots, keys and sets.
func (c *Config) checkMaps(p *ir.Program) error {
	for n, m := range p.Maps {
		if n >= len(c.Maps) { // not used: see supports
			break
		}
		got, want := c.Maps[n].Shape, maps.Shape{Limit: min(c.Maps[n].Limit, m.Limit), Words: m.Words, More: m.More, Single: m.Single, Reuse: m.Deletes && !m.Single}
		if want.Slots = got.Slots; m.Cells {
			want.Sets = got.Sets
		}
		if got != want || (got.Limit > 0) != (m.Limit > 0) || (got.Sets > 0) != m.Cells || got.Sets&(got.Sets-1) != 0 || got.Slots < 1 || got.Slots > m.Slots || got.Slots&(got.Slots-1) != 0 || got.Bytes() > 1<<29 {
			return fmt.Errorf("the table of map %d has the form %+v, not %+v", n, got, want)
		}
	}
	return nil
}

// supported returns what eBPF does not support, in words.
func supported(p *ir.Program, c *Config) error {
	for _, cl := range p.Classes {
		if cl != ir.I64 {
			return fmt.Errorf("floating point: the kernel's programs cannot compute with it")
		}
	}
	for _, b := range p.Blocks {
		for k := range b.Instrs {
			in := &b.Instrs[k]
			if err := c.supports(in); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Config) supports(in *ir.Instr) error {
	switch {
	case in.Op.OnMap() && in.Aux >= int64(len(c.Maps)):
		return errors.New("maps: the kernel's programs have no table for this one")
	case in.Op == ir.Ticks:
		return errors.New("the time stamp counter: the kernel's programs have a clock in nanoseconds")
	}
	switch in.Op {
	case ir.FReg:
		return fmt.Errorf("register %s: the kernel's programs cannot read it", ir.WideName(in.Imm))
	case ir.PutReg:
		return fmt.Errorf("register %s: the kernel's programs cannot read it", ir.WideName(in.Aux))
	case ir.Walk:
		return c.walks(in)
	case ir.Env:
		if in.Imm == ir.EnvTables {
			return c.Tables.check()
		}
	case ir.Intern:
		return errors.New("the stack: the kernel's programs give it no number")
	case ir.UserStack:
		return c.userStacks(in)
	case ir.StackID:
		if c.stacks(in) == nil {
			return errors.New("the stack: the kernel's programs have no table of stacks")
		}
	case ir.Reg:
		switch {
		case in.Imm == ir.RegThread && c.Features.FSBase < 0:
			return fmt.Errorf("register %s: its place in struct task_struct is not known on this kernel", ir.RegName(in.Imm))
		case in.Imm == ir.RegThread:
		case !inPtRegs(c.processor(), in.Imm):
			return fmt.Errorf("register %s: the kernel's programs cannot read it", ir.RegName(in.Imm))
		case c.Context != Regs:
			return fmt.Errorf("register %s: there are no registers at this place", ir.RegName(in.Imm))
		}
	case ir.Ctx:
		if in.Imm < c.firstContext() {
			return fmt.Errorf("the first %d bytes of a tracepoint's record cannot be read by a program", c.firstContext())
		}
	case ir.CopyStr:
		if in.W > 1 && in.Aux/int64(in.W) > maxWideChars {
			return fmt.Errorf("a string of %d wide characters: the kernel's programs read at most %d", in.Aux/int64(in.W), maxWideChars)
		}
	case ir.GetVar, ir.SetVar, ir.AddVar, ir.FetchAddVar:
		if in.Imm >= int64(c.Layout.VariableCount) {
			return fmt.Errorf("there is no variable %d among %d", in.Imm, c.Layout.VariableCount)
		}
	case ir.Reserve:
		room, most := ring.LargestEvent(uint64(in.Imm)), c.Layout.RingSize-ring.SubSize(c.Layout.RingSize)
		if c.Layout.Overwrite {
			most = ring.SubSize(c.Layout.RingSize)
		}
		if most = min(most, c.Slack); room > most {
			return fmt.Errorf("a record of %d bytes takes %d, more than the buffers allow (%d)", in.Imm, room, most)
		}
	}
	return nil
}

// firstContext is the offset of the first byte of the context that can be read.
func (c *Config) firstContext() int64 {
	if c.Context == Record {
		return 8
	}
	return 0
}

// processor is that of the kernel that loads the program.
func (c *Config) processor() *arch.Processor {
	if c.Processor != nil {
		return c.Processor
	}
	return host.Processor
}

func inPtRegs(p *arch.Processor, reg int64) bool {
	_, ok := p.PtRegs(arch.Reg(reg))
	return ok
}
