package session

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// site is one address with its hit program, before and after it is installed.
type site struct {
	id     uint32
	tp     *tracked
	where  where
	addr   uint64 // run-time address
	prog   *ir.Program
	code   *patch.Code // the function around it
	schema *event.Schema
	tactic string
	// numbered: id is the site's own. A site that is planned anew keeps it.
	numbered bool
	noUprobe bool // the kernel cannot put a uprobe there any more
}

// compile makes the hit program of a tracepoint at one address. The error is a
// diagnostic of the user's texts.
func (s *Session) compile(tp *tracked, w where) (*site, error) {
	if tp.program != nil {
		return s.compileProgram(tp, w)
	}
	m := w.mod
	scope, err := m.dw.ScopeForSite(w.site)
	if err != nil {
		return nil, probe.Error(tp.Place, err)
	}
	isType := sema.IsType(scope)
	in := &sema.Input{
		Scope: scope, Bias: m.bias, TLSOffset: func() (int64, error) { return s.tlsOffset(m) },
		LineOf: func(vaddr uint64) (string, int) {
			_, _, file, line, _ := m.dw.Symbolize(vaddr)
			return file, line
		},
		Readable:    m.readable,
		AtEntry:     s.atEntry(w),
		StringLimit: s.opt.StringLimit, RepeatLimit: s.opt.RepeatLimit, StackLimit: s.opt.StackLimit,
		Pid: s.p.Pid(), Place: tp.Place.Text, Function: w.site.Func, File: w.site.File, Line: w.site.Line,
	}
	if tp.Cond.Text != "" {
		x, err := lang.ParseExpr(tp.Cond.Text, isType)
		if err != nil {
			return nil, tp.Cond.Within(lang.Named(err, tp.Cond.Source))
		}
		in.Cond = &sema.CondInput{Text: tp.Cond.Text, X: x}
		in.CondSource = tp.Cond.Source
	}
	list, err := tp.Join(isType)
	if err != nil {
		return nil, err
	}
	in.Collect, in.CollectText, in.CollectSource = list.Items, list.Text, "collect"
	out, err := sema.Compile(in)
	if err != nil {
		return nil, list.Within(tp.Tracepoint, err)
	}
	s.finishIR(out.Program, tp.Place.Text)
	schema := out.Schema
	schema.PC = w.addr()
	for _, warn := range out.Warnings {
		s.warn(warn.Render("warning"))
	}
	return &site{tp: tp, where: w, addr: w.addr(), prog: out.Program, schema: &schema}, nil
}

// finishIR makes a program ready for the code generator.
func (s *Session) finishIR(p *ir.Program, place string) {
	var err error
	if s.opt.NoOptimise {
		err = ir.Check(p)
	} else {
		err = ir.Optimize(p)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: the program made for it is not valid: %v\n%s", place, err, p.String()))
	}
}

// atEntry reports whether a site is at the first instruction of its function, or
// behind an endbr64 there: where the ABI's argument registers still hold them.
func (s *Session) atEntry(w where) bool {
	fn, ok := w.mod.dw.FunctionAt(w.site.Addr)
	if !ok {
		return false
	}
	if w.site.Addr == fn.Lo {
		return true
	}
	b, err := w.mod.dw.Text(fn.Lo, 4)
	return err == nil && w.site.Addr == fn.Lo+4 && string(b) == "\xf3\x0f\x1e\xfa"
}

// tlsOffset is the offset of a module's thread-local block from the thread
// pointer: fixed by the ABI for the executable (variant II of ELF TLS).
func (s *Session) tlsOffset(m *module) (int64, error) {
	memsz, align, ok := m.dw.TLS()
	if !ok {
		return 0, errors.New("the module has no thread-local storage")
	}
	if m.exe {
		if align == 0 {
			align = 1
		}
		return -int64((memsz + align - 1) / align * align), nil
	}
	return s.libraryTLS(m)
}
