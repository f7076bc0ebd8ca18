package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// The lowerings of words of the kernel engine; builtins.go has the table.

func atReturn(st *site) bool { return st.in.Exit != nil || st.in.Kernel != nil && st.in.Kernel.Return }

func (w *EnvWord) expr(name string, t *ctype.Type, span lang.Span) expr {
	p := debuginfo.Piece{
		Kind: debuginfo.IsValue, BitOffset: w.Shift, BitSize: t.Size * 8,
		Expr: []debuginfo.Op{{Code: debuginfo.OpEnv, Arg: w.Number}},
	}
	return &varRef{typed{t, span}, name, debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
}

// task is $task: a pointer to the struct task_struct of the current thread.
func (c *checker) task(span lang.Span) expr {
	if v, err := c.in.Scope.Lookup("curtask"); err == nil {
		return c.variable(v, span)
	}
	t := c.in.Kernel.Task
	if t == nil {
		var err error
		if t, err = c.in.Scope.Type(ctype.Struct, "task_struct"); err != nil {
			t = &ctype.Type{Kind: ctype.Struct, Name: "task_struct", Incomplete: true}
		}
	}
	return taskWord.expr("$task", ctype.PointerTo(t), span)
}

// comm is the name of the current thread, as an operand.
func (c *checker) comm(span lang.Span) expr {
	p := c.rvalue(c.task(span))
	if isPointer(p.Type()) && isRecord(elemOf(p.Type())) {
		if _, ok := findField(elemOf(p.Type()), "comm"); ok {
			return c.memberOf(c.pointee(p, span), "comm", span, span)
		}
	}
	c.fail(span, "the name of the thread can only be collected here: struct task_struct is unknown", "a kernel with BTF (/sys/kernel/btf/vmlinux) describes it")
	return nil
}

// otherHas reports whether only the place's other scope has a field or argument of that name: its meaning
// must not depend on which scope is tried first.
func (c *checker) otherHas(name string) bool {
	o := c.in.Kernel.Other
	return o != nil && has(o, name)
}
