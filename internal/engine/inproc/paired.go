package inproc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/sema"
)

// A program at a return may need values of the function's entry (engine.Program.Entry). All returns of a function that
// belong to one tracepoint have one program at its entry, which is installed with them, and removed with the last one.

// pair describes the entry of the function, for a site at one of its returns. why is the reason if it is nil.
func (w *Site) pair() (entry engine.Site, p *sema.Pair, why string) {
	if w.fn.Assembler && w.mod.dw.IsGo() {
		return nil, nil, "the function is written in assembly, where Go has no register for the goroutine"
	}
	at := w.site
	if at.Addr, why = w.entered(); why != "" {
		return nil, nil, why
	}
	_, _, at.File, at.Line, _ = w.mod.dw.Symbolize(at.Addr)
	e := &Site{e: w.e, mod: w.mod, site: at}
	scope, err := w.mod.dw.ScopeForSite(at)
	if err != nil {
		return nil, nil, err.Error()
	}
	in := e.input(scope)
	return e, &sema.Pair{Entry: in, Function: e.Addr(), Go: in.GoCode}, ""
}

// ofGo reports whether the site is in code of Go.
func (w *Site) ofGo() bool { return w.mod.dw.GoCode(w.site.Addr) }

// entered returns the address that each call of the function passes once, where the stack pointer still is that of the
// entry: the first instruction, or the one behind the check of Go's stack. why is not empty if there is none.
func (w *Site) entered() (addr uint64, why string) {
	if len(w.again) == 0 {
		return w.fn.Lo, ""
	}
	if w.mod.dw.GoCode(w.fn.Lo) {
		code, err := w.mod.fromFile(w.fn.Lo+w.mod.bias, goCheckMax)
		if err != nil {
			return 0, err.Error()
		}
		n, to := goCheck(code)
		more := w.fn.Lo + w.mod.bias + uint64(to)
		if n > 0 && len(w.again) == 1 && w.again[0] >= more && w.again[0] < more+goMoreMax {
			return w.fn.Lo + uint64(n), ""
		}
	}
	return 0, fmt.Sprintf("the jump at %#x leads to the function's start, so what passes there need not be a call", w.again[0])
}

// Go's functions check at their start that the stack has room (stacksplit in cmd/internal/obj/x86/obj6.go). If not,
// they call runtime.morestack at their end, which may move the stack, and jump to their start again:
//
//	frame up to 128 bytes  cmp 16(r14), rsp                                   jbe more
//	larger                 lea -n(rsp), r12; cmp 16(r14), r12                 jbe more
//	very large             mov rsp, r12; sub n, r12; jb more; cmp 16(r14), r12; jbe more
const (
	goCheckMax = 40  // bytes of the check
	goMoreMax  = 160 // bytes from more to the jump back: registers are saved and restored around the call
)

// goCheck returns the length of the check at the start of a function, 0 if there is none, and the offset that it jumps to.
func goCheck(code []byte) (n, to int) {
	skip := func(b ...byte) bool {
		if n >= 0 && bytes.HasPrefix(code[n:], b) {
			n += len(b)
			return true
		}
		return false
	}
	// branch passes a conditional jump.
	branch := func(short byte) bool {
		at := n
		switch {
		case skip(short) && n < len(code):
			n++
			to = n + int(int8(code[at+1]))
		case skip(0x0f, short+0x10) && n+4 <= len(code):
			n += 4
			to = n + int(int32(binary.LittleEndian.Uint32(code[at+2:])))
		default:
			return false
		}
		return true
	}
	const jb, jbe = 0x72, 0x76
	if skip(0x49, 0x3b, 0x66, 0x10) {
		if branch(jbe) {
			return n, to
		}
		return 0, 0
	}
	switch {
	case skip(0x4c, 0x8d, 0x64, 0x24): // lea with 8 bits
		n++
	case skip(0x4c, 0x8d, 0xa4, 0x24):
		n += 4
	case skip(0x49, 0x89, 0xe4, 0x49, 0x81, 0xec):
		n += 4
		if n > len(code) || !branch(jb) {
			return 0, 0
		}
	default:
		return 0, 0
	}
	first := to
	if n > len(code) || !skip(0x4d, 0x3b, 0x66, 0x10) || !branch(jbe) || first != 0 && first != to {
		return 0, 0
	}
	return n, to
}

// entries are the programs at entries.
type entries struct {
	list []*entry
}

// entry is a program at the entry of a function.
type entry struct {
	*engine.Program
	users  []*engine.Program // at returns
	loaded bool
}

// of returns the entry that a program needs, nil if it needs none.
func (en *entries) of(x *engine.Program) *entry {
	if x.Entry == nil {
		return nil
	}
	for _, e := range en.list {
		if e.Key == x.Key && e.Site.(*Site).Same(x.Entry.Site.(*Site)) && e.Site.Addr() == x.Entry.Site.Addr() {
			return e
		}
	}
	return nil
}

// load adds the entries that programs need and that are not loaded yet, before the programs.
func (en *entries) load(list []*engine.Program) []*engine.Program {
	var add []*engine.Program
	for _, x := range list {
		if x.Entry == nil {
			continue
		}
		e := en.of(x)
		if e == nil {
			e = &entry{Program: x.Entry}
			en.list = append(en.list, e)
		}
		if !slices.Contains(e.users, x) {
			e.users = append(e.users, x)
		}
		if !e.loaded {
			e.loaded = true
			add = append(add, e.Program)
		}
	}
	return append(add, list...)
}

// with adds the entries that the programs need.
func (en *entries) with(list []*engine.Program) []*engine.Program {
	var add []*engine.Program
	for _, x := range list {
		if e := en.of(x); e != nil && !slices.Contains(add, e.Program) {
			add = append(add, e.Program)
		}
	}
	return append(add, list...)
}

// only adds the entries that no other programs need.
func (en *entries) only(list []*engine.Program) []*engine.Program {
	if len(en.list) == 0 {
		return slices.Clone(list)
	}
	var add []*engine.Program
	of := map[*engine.Program]bool{}
	for _, x := range list {
		of[x] = true
	}
	other := func(x *engine.Program) bool { return !of[x] }
	for _, e := range en.list {
		if len(e.users) > 0 && !slices.ContainsFunc(e.users, other) {
			add = append(add, e.Program)
		}
	}
	return append(add, list...)
}

// forget drops removed programs. Entries among them are dropped with their users.
func (en *entries) forget(gone []*engine.Program) {
	en.list = slices.DeleteFunc(en.list, func(e *entry) bool {
		e.users = slices.DeleteFunc(e.users, func(x *engine.Program) bool { return slices.Contains(gone, x) })
		return len(e.users) == 0 || slices.Contains(gone, e.Program)
	})
}

// errors are those of the programs; one whose entry is refused is refused too.
func (e *Engine) errors(list []*engine.Program) []error {
	errs := e.sites.errors(list)
	for i, x := range list {
		en := e.entries.of(x)
		if en == nil || errs[i] != nil {
			continue
		}
		if err := e.sites.refused[e.sites.of(en.Program)]; err != nil {
			errs[i], en.loaded = fmt.Errorf("%s cannot be traced: %w", en.Label, err), false
		}
	}
	return errs
}

// pairs adds the counts of calls whose entry or return was not seen. Those of an entry go to the first return of the function.
func (e *Engine) pairs(sums []event.SiteSummary) {
	if e.buffers.mem == nil {
		return
	}
	counted := map[*entry]bool{}
	for i := range sums {
		id := sums[i].Schema.SiteID
		if int(id) >= len(e.sites.list) {
			continue
		}
		en := e.entries.of(e.sites.list[id].Program)
		if en == nil {
			continue
		}
		sums[i].Unpaired = e.buffers.mem.Counter(id, counterUnpaired)
		if !counted[en] {
			counted[en] = true
			sums[i].Left = e.buffers.mem.Counter(e.sites.of(en.Program).id, counterUnpaired)
		}
	}
}

// counterUnpaired is the counter that sema uses for such calls.
const counterUnpaired = 3
