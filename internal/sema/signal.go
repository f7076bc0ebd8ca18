package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// signalCall is @signal(n, thread, number): sends signal n to the process, or if thread is 1 to the thread, that executes the site. Its value
// is 0, or the kernel's error code. The number makes equal signals of a site different items.
func signalCall(c *checker, x *lang.Call) expr {
	if len(x.Args) == 3 {
		if thread, ok := x.Args[1].(*lang.IntLit); ok {
			n := c.value(c.decide(x.Args[0]))
			if isInt(n.Type()) {
				return &signalExpr{typed{ctype.LongT, x.Span()}, n, thread.Value == 1}
			}
		}
	}
	c.fail(x.Span(), "@signal needs the number of a signal, and whether it is for the thread", "")
	return nil
}

func sendSignal(vs *values, e *signalExpr) ir.Value {
	thread := int64(0)
	if e.thread {
		thread = 1
	}
	return vs.b.Def(ir.I64, ir.Instr{Op: ir.Signal, A: vs.wide(e.n), B: ir.None, Imm: thread, Fault: ir.NoBlock})
}
