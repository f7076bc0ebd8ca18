package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// cpuOf says whose per-CPU data the operand of this_cpu (n nil) or per_cpu means.
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

// onCPU is per-CPU variable v where an operand of this_cpu or per_cpu is checked.
func (c *checker) onCPU(v *varRef) expr {
	switch {
	case c.uneval > 0:
		if c.cpu != nil {
			c.cpu.used = true
		}
		return v
	case c.cpu == nil:
		c.fail(v.span, fmt.Sprintf("%q is a per-CPU variable: every CPU has its own", v.name),
			fmt.Sprintf("write this_cpu(%s) for the CPU of the hit, per_cpu(%s, n) for CPU n", v.name, v.name))
	case c.in.Kernel == nil || c.in.Kernel.PerCPU == nil || c.in.Kernel.PerCPU() == 0:
		c.fail(v.span, "the address of this kernel's per-CPU data is unknown", "root can read the address of __per_cpu_offset in /proc/kallsyms")
	case v.loc.Unavailable != "" || len(v.loc.Pieces) != 1 || v.loc.Pieces[0].Kind != debuginfo.InMemory:
		c.failUnavailable(v, v, v.loc.Unavailable)
	}
	c.needExpr(v, v, v.loc.Pieces[0].Expr, false)
	c.cpu.used = true
	return &perCPU{v.typed, v, c.cpu.n}
}

// perCPUAddr is the address of a per-CPU variable: its offset behind the CPU's base.
func (l *lowerer) perCPUAddr(e *perCPU) sym {
	var cpu ir.Value
	reach := inPerCPU
	if e.n == nil {
		cpu = l.env(ir.EnvCPU)
	} else { // whatever number the user gives is looked up
		cpu, reach = l.wide(e.n), noTrust
	}
	at := sym{v: l.b.Bin(ir.Shl, 8, cpu, l.b.Const(3)), off: int64(l.in.Kernel.PerCPU()), trust: reach}
	base := l.loadWord(at, 8)
	off := l.location(e.x.loc.Pieces[0].Expr)
	if off.isConst() {
		return sym{v: base, off: off.off, trust: reach}
	}
	return sym{v: l.b.Bin(ir.Add, 8, base, off.v), off: off.off, trust: reach}
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
