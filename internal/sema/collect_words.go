package sema

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// takeDynamic takes as much of a dynamic array as the limits allow.
func (co *collector) takeDynamic(x *dynamic) *plan {
	p := plain(asDynamic, x, x.t)
	elem := elemOf(x.t)
	size := co.elemSize(x.span, elem)
	if size == 0 || isVoid(elem) {
		co.fail(x.span, fmt.Sprintf("an array of %s cannot be collected", typeString(elem)), "")
	}
	p.Kind, p.limit = event.Counted, int64(co.in.RepeatLimit)
	if isChar(elem) {
		p.limit = int64(co.in.StringLimit)
	}
	p.limit = max(1, min(p.limit, maxDynamic/size))
	return p
}

// itemWord returns the function that plans item $name, or nil.
func (co *collector) itemWord(name string) func(*collector, lang.Collect) []*plan {
	if _, ok := co.in.Variables[name]; ok {
		return nil
	}
	if how := dollarWord(name).here(co.site); how != nil {
		return how.item
	}
	return nil
}

// bareItem plans an item that is a bare word with its value in the record's head; nil for other items.
func (co *collector) bareItem(it lang.Collect) []*plan {
	x, ok := it.X.(*lang.Ident)
	if !ok || it.Format.Letter != 0 {
		return nil
	}
	b := co.bareWord(x.Name)
	if b == nil || !b.header {
		return nil
	}
	if _, err := co.in.Scope.Lookup(x.Name); err == nil {
		return nil
	}
	if _, _, ok := co.in.Scope.Enumerator(x.Name); ok {
		return nil
	}
	it.Text = x.Name
	return special(it, event.Header, asNothing)
}

// processStack is $bt in a process.
func (co *collector) processStack(it lang.Collect) []*plan {
	if co.in.StackFrames > 0 {
		return special(it, event.UserFrames, asWalk)
	}
	return special(it, event.Stack, asStack)
}

// maxWalked is how many frames the kernel's programs follow at most.
const maxWalked = 128

func (co *collector) stackItem(it lang.Collect) []*plan {
	if co.walks() {
		return special(it, event.UserFrames, asWalk)
	}
	switch {
	case co.in.Kernel.User && co.follows():
		return special(it, event.UserFrames, asTables)
	case co.in.Kernel.User:
		return special(it, event.Stack, asStack) // unwound by the reader
	}
	return special(it, event.KernelFrames, asFrames)
}

// walks reports whether a program of the kernel follows the stack of its process.
func (co *collector) walks() bool {
	return co.in.Kernel.User && co.in.Kernel.Walk && co.in.StackFrames > 0 && co.in.StackFrames <= maxWalked
}

// follows reports whether a program of the kernel follows the stack of a process that has tables.
func (co *collector) follows() bool {
	k := co.in.Kernel
	return co.in.StackFrames > 0 && co.in.StackFrames <= maxWalked && k.Tables != nil && k.Tables()
}

func (co *collector) userStackItem(it lang.Collect) []*plan {
	if co.in.Kernel.User {
		return co.stackItem(it)
	}
	if r := co.in.Kernel.UserRegs; r != nil && !co.in.FramePointers && r() != nil {
		if co.follows() {
			return special(it, event.UserFrames, asTables)
		}
		return special(it, event.Stack, asUserStack) // unwound by the reader
	}
	return special(it, event.UserFrames, asFrames)
}

func (co *collector) regsItem(it lang.Collect) []*plan {
	if co.noRegisters() != "" {
		co.fail(it.Span, "$regs: "+noRegistersHere, withRegisters)
	}
	return special(it, event.Regs, asRegs)
}

// sdata is $_sdata: the tracepoint's own record.
func (co *collector) sdata(it lang.Collect) []*plan {
	sd := co.in.Kernel.SData
	if sd == nil || co.in.Kernel.Context != ContextRecord {
		co.fail(it.Span, it.Text+": this kind of place has no record of the kernel's", "tracepoint: places have one")
	}
	p := &plan{mode: asSData, span: it.Span}
	p.Name, p.Kind, p.Type, p.Text = it.Text, event.SData, sd.Type, sd.Text
	return append([]*plan{p}, co.callStrings(it, sd)...)
}

// callStrings plans the strings at the arguments of a system call. What may not be text, such as the bytes of write, is
// left out.
func (co *collector) callStrings(it lang.Collect, sd *SData) (plans []*plan) {
	if sd.Text == nil || sd.Text.Call == "" || sd.Text.Return || sd.Type == nil {
		return nil
	}
	for i := range sd.Type.Strip().Fields() {
		f := &sd.Type.Strip().Fields()[i]
		if !isCharPointer(f.Type) || slices.Contains(notText, f.Name) {
			continue
		}
		list, err := lang.ParseCollect("args->" + f.Name)
		if err != nil {
			continue // the name is a word of C
		}
		var p *plan
		if b := co.try(func() { p = co.field(co.expr(list[0].X), list[0].Format) }); b != nil || p.mode != asPointer {
			continue
		}
		p.Name, p.Group, p.span = f.Name, event.CallStrings, it.Span
		plans = append(plans, p)
	}
	return plans
}

// notText are pointers to characters in system calls at which there are bytes, or which the call fills.
var notText = []string{"buf", "ubuf", "list", "optval", "msg_ptr"}
