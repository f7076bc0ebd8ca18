package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// word is a name that the kernel engine knows: $pid, and bare, as bpftrace, pid.
type word struct {
	bare   bool // known without the dollar too, where no variable hides it
	header bool // collected by itself it is in every record already
	make   func(c *checker, span lang.Span) expr
}

// kernelWords are the words by their names.
var kernelWords = map[string]*word{
	"pid":     {true, true, fromEnv("$pid", ctype.IntT, ir.EnvPidTgid, 32)},
	"tid":     {true, true, fromEnv("$tid", ctype.IntT, ir.EnvPidTgid, 0)},
	"cpu":     {true, true, fromEnv("$cpu", ctype.UIntT, ir.EnvCPU, 0)},
	"nsecs":   {true, true, fromEnv("nsecs", ctype.ULongT, ir.EnvTime, 0)},
	"time":    {false, true, fromEnv("$time", ctype.ULongT, ir.EnvTime, 0)},
	"uid":     {true, false, fromEnv("$uid", ctype.UIntT, ir.EnvUidGid, 0)},
	"gid":     {true, false, fromEnv("$gid", ctype.UIntT, ir.EnvUidGid, 32)},
	"cgroup":  {true, false, fromEnv("$cgroup", ctype.ULongT, ir.EnvCgroup, 0)},
	"comm":    {true, true, (*checker).comm},
	"task":    {false, false, (*checker).task},
	"curtask": {true, false, (*checker).task},
}

// kernelItems are the words that are items of their own, beside itemWords.
var kernelItems = map[string]func(*checker, lang.Collect) []*plan{
	"bt": func(c *checker, it lang.Collect) []*plan {
		if c.in.Kernel.User {
			return special(it, event.Stack, asStack) // unwound by the reader
		}
		return special(it, event.KernelFrames, asFrames)
	},
	"ubt":    func(_ *checker, it lang.Collect) []*plan { return special(it, event.UserFrames, asFrames) },
	"_sdata": (*checker).sdata,
	"sdata":  (*checker).sdata,
	"regs": func(c *checker, it lang.Collect) []*plan {
		if c.noRegisters() != "" {
			c.fail(it.Span, "$regs: "+noRegistersHere, withRegisters)
		}
		return special(it, event.Regs, asRegs)
	},
}

// fromEnv is the part of a word of the hit's environment from bit shift on.
func fromEnv(name string, t *ctype.Type, number, shift int64) func(*checker, lang.Span) expr {
	p := debuginfo.Piece{
		Kind: debuginfo.IsValue, BitOffset: shift, BitSize: t.Size * 8,
		Expr: []debuginfo.Op{{Code: debuginfo.OpEnv, Arg: number}},
	}
	return func(_ *checker, span lang.Span) expr {
		return &varRef{typed{t, span}, name, debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
	}
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
	return fromEnv("$task", ctype.PointerTo(t), ir.EnvTask, 0)(c, span)
}

// comm is the name of the current thread, where it is computed with.
func (c *checker) comm(span lang.Span) expr {
	p := c.rvalue(c.task(span))
	if isPointer(p.Type()) && isRecord(elemOf(p.Type())) {
		if _, ok := findField(elemOf(p.Type()), "comm"); ok {
			return c.memberOf(c.pointee(p, span), "comm", span, span)
		}
	}
	c.fail(span, "the name of the thread can only be collected here: struct task_struct is not known", "a kernel with BTF (/sys/kernel/btf/vmlinux) tells it")
	return nil
}

// kernelWord is $name in an expression; nil when the kernel engine has no such word.
func (c *checker) kernelWord(x *lang.Reg) expr {
	w, item := kernelWords[x.Name], kernelItems[x.Name] != nil
	switch {
	case w == nil && !item && x.Name != "retval", c.in.Kernel == nil && listWords[x.Name]:
		return nil
	case x.Name == "retval":
		if c.in.Kernel == nil {
			return nil
		}
		return c.returned(x.Span())
	case c.in.Kernel == nil:
		c.kernelOnly("$"+x.Name, x.Span())
	case w != nil:
		return w.make(c, x.Span())
	case c.inCond:
		c.fail(x.Span(), fmt.Sprintf("$%s cannot be used in a condition", x.Name), "it can be collected")
	}
	c.fail(x.Span(), fmt.Sprintf("$%s is an item of its own, not a part of an expression", x.Name),
		fmt.Sprintf("collect it beside the expression: ..., $%s", x.Name))
	return nil
}

// bareWord is the word that a name without a dollar means, or nil.
func (c *checker) bareWord(name string) *word {
	switch w := kernelWords[name]; {
	case c.in.Kernel == nil:
	case name == "retval" && c.in.Kernel.Return:
		return &word{make: (*checker).returned}
	case w != nil && w.bare && !c.otherHas(name):
		return w
	}
	return nil
}

// otherHas reports whether a name is that of a field or argument which only the place's
// other scope has: what it means must not hang on the scope that is tried first.
func (c *checker) otherHas(name string) bool {
	o := c.in.Kernel.Other
	return o != nil && has(o, name)
}

// bareItem is an item that is a bare word whose value is in the record's head; nil for all others.
func (c *checker) bareItem(it lang.Collect) []*plan {
	x, ok := it.X.(*lang.Ident)
	if !ok || it.Format.Letter != 0 {
		return nil
	}
	w := c.bareWord(x.Name)
	if w == nil || !w.header {
		return nil
	}
	if _, err := c.in.Scope.Lookup(x.Name); err == nil {
		return nil
	}
	if _, _, ok := c.in.Scope.Enumerator(x.Name); ok {
		return nil
	}
	it.Text = x.Name
	return special(it, event.Header, asNothing)
}

// itemWord is what makes the plans of item $name, or nil.
func (c *checker) itemWord(name string) func(*checker, lang.Collect) []*plan {
	if c.in.Kernel != nil {
		if f := kernelItems[name]; f != nil {
			return f
		}
	}
	return itemWords[name]
}

// sdata is $_sdata: the tracepoint's own record.
func (c *checker) sdata(it lang.Collect) []*plan {
	sd := c.in.Kernel.SData
	if sd == nil || c.in.Kernel.Context != ContextRecord {
		c.fail(it.Span, it.Text+": this kind of place has no record of the kernel's", "tracepoint: places have one")
	}
	p := &plan{mode: asSData, span: it.Span}
	p.Name, p.Kind, p.Type, p.Render = it.Text, event.SData, sd.Type, sd.Render
	return []*plan{p}
}

// bareNames are the words that may stand without a dollar.
func bareNames() []string {
	var names []string
	for n, w := range kernelWords {
		if w.bare {
			names = append(names, n)
		}
	}
	return names
}

// kernelNames are all words of the kernel engine.
func kernelNames() []string {
	var names []string
	for n := range kernelWords {
		names = append(names, n)
	}
	for n := range kernelItems {
		names = append(names, n)
	}
	return append(names, "retval")
}
