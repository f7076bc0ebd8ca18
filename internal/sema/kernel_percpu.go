package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// cpuOf returns the CPU for the operand of this_cpu (n nil) or per_cpu.
type cpuOf struct {
	n    expr
	used bool
}

func (c *checker) thisCPU(x *lang.Call) expr {
	c.kernelOnly("this_cpu", x.Span())
	if len(x.Args) != 1 {
		c.fail(x.Span(), "this_cpu needs a per-CPU variable", "this_cpu(x)")
	}
	return c.cpuOperand(x, &cpuOf{})
}

func (c *checker) perCPU(x *lang.Call) expr {
	c.kernelOnly("per_cpu", x.Span())
	if len(x.Args) != 2 {
		c.fail(x.Span(), "per_cpu needs a per-CPU variable and the number of a CPU", "per_cpu(x, 0)")
	}
	n := c.value(x.Args[1])
	if !isInt(n.Type()) {
		c.failOperand(n, "the number of a CPU must be an integer, this is %s")
	}
	return c.cpuOperand(x, &cpuOf{n: convert(promoted(n), ctype.LongT)})
}

// cpuOperand checks the first operand of x with its per-CPU variables on one CPU.
func (c *checker) cpuOperand(x *lang.Call, on *cpuOf) expr {
	before := c.cpu
	c.cpu = on
	e := c.expr(x.Args[0])
	c.cpu = before
	if !on.used || !isLvalue(e) {
		c.fail(x.Args[0].Span(), "this is not a per-CPU variable", "write other kernel variables without it")
	}
	return e
}

// perCPUAddr returns the address of a per-CPU variable: the CPU's base plus its offset.
func (vs *values) perCPUAddr(e *perCPU) sym {
	var cpu ir.Value
	reach := inPerCPU
	if e.n == nil {
		cpu = vs.env(ir.EnvCPU)
	} else { // whatever number the user gives is looked up
		cpu, reach = vs.wide(e.n), noTrust
	}
	at := sym{v: vs.b.Bin(ir.Shl, 8, cpu, vs.b.Const(3)), off: int64(vs.in.Kernel.PerCPU()), trust: reach}
	base := vs.loadWord(at, 8)
	off := vs.location(e.x.loc.Pieces[0].Expr)
	if off.isConst() {
		return sym{v: base, off: off.off, trust: reach}
	}
	return sym{v: vs.b.Bin(ir.Add, 8, base, off.v), off: off.off, trust: reach}
}

// kaddr is the address of a symbol of the kernel, a number as in bpftrace.
func (c *checker) kaddr(x *lang.Call) expr {
	c.kernelOnly("kaddr", x.Span())
	var lit *lang.StringLit
	if len(x.Args) == 1 {
		lit, _ = x.Args[0].(*lang.StringLit)
	}
	if lit == nil {
		c.fail(x.Span(), "kaddr needs the name of a symbol", `kaddr("jiffies")`)
	}
	if c.in.Kernel.Symbol == nil {
		c.fail(x.Span(), "the kernel's symbols are unknown", "root can read them in /proc/kallsyms")
	}
	addr, ok := c.in.Kernel.Symbol(lit.Value)
	if !ok {
		c.fail(lit.Span(), fmt.Sprintf("the kernel has no symbol %q", lit.Value), "/proc/kallsyms lists them")
	}
	return &intConst{typed: typed{ctype.ULongT, x.Span()}, v: int64(addr)}
}
