package experiment

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// base is what all parts of an experiment use.
type base struct {
	engine Engine
	opt    Options
	regs   agentexpr.RegisterBlock
	// rip is the number of that register, ripOffset its place in R blocks.
	rip, ripOffset int
}

func newBase(engine Engine, opt Options) *base {
	x := &base{engine: engine, opt: opt, regs: agentexpr.RegisterBlock{Size: opt.Target.Size}}
	for _, r := range opt.Target.Registers {
		x.regs.Offsets = append(x.regs.Offsets, r.Offset)
		if r.Name == host.Processor.Register(host.Processor.PC).Name {
			x.rip, x.ripOffset = r.Number, r.Offset
		}
	}
	return x
}

func (x *base) log(format string, args ...any) {
	if x.opt.Log != nil {
		x.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (x *base) print(p *agentexpr.Printed) {
	if x.opt.Print != nil {
		x.opt.Print(p.String())
	}
}
