package kernel

import (
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
)

// argumentRegisters are GDB's numbers of the registers that functions get their
// arguments in, in order.
var argumentRegisters = func() (numbers []int) {
	for _, r := range host.Processor.Args {
		numbers = append(numbers, host.Processor.GDB(r))
	}
	return numbers
}()

// registers are what a program can read.
type registers map[int]func(*ir.Builder) ir.Value

// argumentsAsCalled are the registers at the first instruction of __traceiter_EVENT, which is called with a
// pointer of the probe's own and then the tracepoint's arguments: for the former, which no two probes have in
// common, there is 0. Arguments on the stack are not available.
func argumentsAsCalled(m *kernel.Marker) registers {
	list := registers{argumentRegisters[0]: func(b *ir.Builder) ir.Value { return b.Const(0) }}
	for i := range m.Params {
		if i+1 == len(argumentRegisters) {
			break
		}
		list[argumentRegisters[i+1]] = func(b *ir.Builder) ir.Value {
			return b.Def(ir.I64, ir.Instr{Op: ir.Ctx, W: 8, Imm: 8 * int64(i)})
		}
	}
	return list
}

// recordAsArgument is for tracepoints that have their record only: as if a function
// were called with a pointer to it.
func recordAsArgument() registers {
	return registers{argumentRegisters[0]: func(b *ir.Builder) ir.Value {
		return b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: ir.EnvContext})
	}}
}

// uses reports whether a tracepoint's program asks for one of the registers.
func (r registers) uses(s *agentexpr.Site) bool {
	asked := func(e *agentexpr.Expr) bool {
		if e == nil {
			return false
		}
		for i := range e.Insns {
			if in := &e.Insns[i]; in.Op == agentexpr.OpReg && r[int(in.Arg)] != nil {
				return true
			}
		}
		return false
	}
	if asked(s.Cond) {
		return true
	}
	for i := range s.Actions {
		a := &s.Actions[i]
		if asked(a.Expr) || a.Kind == agentexpr.CollectMemory && r[a.Base] != nil {
			return true
		}
		for _, n := range a.Regs {
			if a.Kind == agentexpr.CollectRegs && r[n] != nil {
				return true
			}
		}
	}
	return false
}

// wantsOwn reports whether a tracepoint collects the kernel's own record.
func wantsOwn(s *agentexpr.Site) bool {
	for i := range s.Actions {
		if s.Actions[i].Kind == agentexpr.CollectStatic {
			return true
		}
	}
	return false
}
