package amd64

import (
	"errors"
	"fmt"

	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Config describes the site and the addresses for which code is generated.
type Config struct {
	Addr   uint64      // where the code will be placed
	PC     uint64      // the site: what Reg rip reads
	Layout ring.Layout // addresses of the shared memory
	// DeadGPR are the general registers that are dead at the site: free to destroy. DeadXMM likewise; DeadFlags for the
	// arithmetic flags.
	DeadGPR   x86.RegSet
	DeadFlags bool
	DeadXMM   uint32
	// Maps are the tables of the program's maps, by number.
	Maps []maps.Table
	// Walk is the address of the area by which stacks are followed (unwind.AreaSize), for ir.Walk and ir.Intern.
	Walk uint64
	// ColdAddr, when not 0, is where the code that is rarely run, or slow anyhow,
	// will be placed (Code.Cold), within 2 GiB of Addr. The code of a false
	// condition is then a straight line.
	ColdAddr uint64
	// Constants are in memory near the code, which the code of many sites shares: at 10,000 sites each constant in a cache
	// line of its own costs a hit 5 ns on an Intel Xeon.
	Constants []Constant
	// NoTSC: threads of the program may not read the time stamp counter
	// (prctl PR_SET_TSC, strict seccomp). Then rdtsc is guarded like a load that may fault.
	NoTSC bool
	// Clock is the source of the time stamps of records.
	Clock ring.Clock
}

// Constant is a value in 8 bytes of memory at At, within 2 GiB of the code.
type Constant struct {
	Value, At uint64
}

// constant finds the constant from which an address is at the smallest offset.
func (c *Config) constant(addr uint64) (best Constant, off int32, ok bool) {
	for _, k := range c.Constants {
		if d := addr - k.Value; addr >= k.Value && d < 1<<31 && (!ok || d < uint64(off)) {
			best, off, ok = k, int32(d), true
		}
	}
	return best, off, ok
}

// faultingClock reports whether reading the time may raise a signal.
func (c *Config) faultingClock() bool { return c.NoTSC && c.Clock == ring.ClockTSC }

// Fault is an instruction that may fail to read memory, and where the thread then continues. Absolute
// addresses, ascending by PC.
type Fault struct {
	PC, Fixup uint64
}

// Code is the result of Compile. It is entered at its first byte and left at its
// end with the registers, flags, stack and memory of the program as they were.
type Code struct {
	Bytes  []byte
	Cold   []byte // for Config.ColdAddr; nil without it
	Faults []Fault
	// Edges are the stores that find out whether the stack has room for what the code
	// saves. Where it has none, the code from Fixup on leaves the hit with nothing done.
	Edges []Fault
	// Stack is how far below rsp the code stores, the red zone included; 0: it stores nothing.
	Stack int
	// Clocks are the instructions that read the time stamp counter, where a thread that
	// may not gets a signal. They are two bytes long, and rax and rdx are free there.
	Clocks  []uint64
	program *ir.Program
	cfg     Config
	tune    tuning
	asm     *asm
	linked  *linked
	reached []reached
	based   []based
	// guarded: starts with the dead man's switch.
	guarded bool
}

// withheld are the registers kept from values, for scratch use: none at first,
// more when an attempt had too few.
var withheld = [...]regSet{
	0,
	setOf(item(R10), item(R11), item(R12), item(R13), itemXMM+13, itemXMM+14, itemXMM+15),
	setOf(item(RBX), item(RBP), item(R9), item(R10), item(R11), item(R12), item(R13), item(R14), item(R15),
		itemXMM+11, itemXMM+12, itemXMM+13, itemXMM+14, itemXMM+15),
}

// Compile translates p, which ir.Check accepts, for one site. The error names what in p or cfg this machine
// does not support.
func Compile(p *ir.Program, cfg Config) (*Code, error) {
	return compile(p, cfg, tuning{follow: 8})
}

// tuning is set by tests to reach rare cases: additional registers withheld from values, and how many
// rounds of settle follow the last emission.
type tuning struct {
	exclude regSet
	follow  int
	list    bool // keep the instructions
}

func compile(p *ir.Program, cfg Config, tune tuning) (*Code, error) {
	if err := checkConfig(p, &cfg); err != nil {
		return nil, err
	}
	an := analyse(splitExits(reloadAfterReserve(p)))
	l := computeLiveness(an)
	for _, exclude := range withheld {
		g := newGen(an, l, cfg, exclude|tune.exclude)
		g.follow = tune.follow
		if g.settle() {
			g.moveSavesToRegisters()
			c, err := g.finish(tune.list)
			if c != nil {
				c.program, c.tune = p, tune
			}
			return c, err
		}
	}
	panic("BUG: amd64: no registers left for " + p.Name)
}

func checkConfig(p *ir.Program, cfg *Config) error {
	pow2 := func(name string, v uint64) error {
		if v == 0 || v&(v-1) != 0 {
			return fmt.Errorf("%s is %d, not a power of two", name, v)
		}
		return nil
	}
	l := &cfg.Layout
	for _, err := range []error{
		pow2("counter stride", l.CounterStride), pow2("ring stride", l.RingStride),
		pow2("ring size", l.RingSize), pow2("number of rings", uint64(l.CPUMask)+1),
	} {
		if err != nil {
			return fmt.Errorf("layout of the shared memory: %w", err)
		}
	}
	if l.RingSize > 1<<31 {
		return fmt.Errorf("layout of the shared memory: a ring of %d bytes is larger than 2 GiB", l.RingSize)
	}
	if err := checkMaps(p, cfg); err != nil {
		return err
	}
	for _, b := range p.Blocks {
		for _, in := range b.Instrs {
			switch in.Op {
			case ir.GetVar, ir.SetVar, ir.AddVar, ir.FetchAddVar:
				if in.Imm >= int64(l.VariableCount) {
					return fmt.Errorf("layout of the shared memory: there is no variable %d among %d", in.Imm, l.VariableCount)
				}
			}
			if in.Op == ir.Intern && (l.Stacks == 0 || cfg.PC>>ring.StackPCBits != 0) {
				return errors.New("layout of the shared memory: there is no table for stacks of this place")
			}
			if in.Op == ir.Reg && in.Imm == int64(x86.DwarfGSBase) && !l.FSGSBASE {
				return fmt.Errorf("gs_base cannot be read on this machine (no rdgsbase)")
			}
			if in.Op == ir.Reg && in.Imm == int64(x86.InUse) && !l.XGETBV1 {
				return fmt.Errorf("in_use cannot be read on this machine (no xgetbv1)")
			}
			if in.Op == ir.PutReg && in.Aux >= x86.UpperYMM && in.Aux < x86.MXCSR && !l.AVX {
				return fmt.Errorf("%s cannot be read on this machine (no AVX)", ir.WideName(in.Aux))
			}
		}
	}
	return nil
}

// checkMaps holds that the tables have the forms of the program's maps, except that they may have fewer slots and keys.
func checkMaps(p *ir.Program, cfg *Config) error {
	if len(cfg.Maps) < len(p.Maps) {
		return fmt.Errorf("there are tables for %d of %d maps", len(cfg.Maps), len(p.Maps))
	}
	for n, m := range p.Maps {
		got, want := cfg.Maps[n].Shape, maps.Shape{Limit: min(cfg.Maps[n].Limit, m.Limit), Words: m.Words, More: m.More, Single: m.Single}
		want.Reuse = got.Reuse && m.Deletes && !m.Single // where it is the kernel's too
		if want.Slots = got.Slots; m.Cells {
			want.Sets = max(got.Sets, 2*(int(cfg.Layout.CPUMask)+1))
		}
		if got != want || (got.Limit > 0) != (m.Limit > 0) || got.Slots < 1 || got.Slots > m.Slots || got.Slots&(got.Slots-1) != 0 || got.Bytes() >= 1<<31 {
			return fmt.Errorf("the table of map %d has the form %+v, not %+v", n, got, want)
		}
	}
	return nil
}
