package session

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/sema"
)

// site is one address with its hit program, before and after it is installed.
type site struct {
	id     uint32
	tp     *Tracepoint
	where  where
	addr   uint64 // run-time address
	prog   *ir.Program
	code   *patch.Code // the function around it
	schema *event.Schema
	tactic string
	// numbered: id is the site's own. A site that is planned anew keeps it.
	numbered bool
}

// compile makes the hit program of a tracepoint at one address. The error is a
// diagnostic of the user's texts.
func (s *Session) compile(tp *Tracepoint, w where) (*site, error) {
	m := w.mod
	scope, err := m.dw.ScopeForSite(w.site)
	if err != nil {
		return nil, placeError(tp.Place, err)
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
	if tp.Cond.text != "" {
		x, err := lang.ParseExpr(tp.Cond.text, isType)
		if err != nil {
			return nil, tp.Cond.within(lang.Named(err, tp.Cond.source))
		}
		in.Cond = &sema.CondInput{Text: tp.Cond.text, X: x}
		in.CondSource = tp.Cond.source
	}
	list, err := s.joinLists(tp, isType)
	if err != nil {
		return nil, err
	}
	in.Collect, in.CollectText, in.CollectSource = list.items, list.text, "collect"
	out, err := sema.Compile(in)
	if err != nil {
		return nil, list.place(tp, err)
	}
	if s.opt.NoOptimise {
		err = ir.Check(out.Program)
	} else {
		err = ir.Optimize(out.Program)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: the program made for it is not valid: %v\n%s", tp.Place.Text, err, out.Program.String()))
	}
	schema := out.Schema
	schema.PC = w.addr()
	for _, warn := range out.Warnings {
		s.warn(warn.Render("warning"))
	}
	return &site{tp: tp, where: w, addr: w.addr(), prog: out.Program, schema: &schema}, nil
}

// lists are all collect lists of a tracepoint as one text, since a record has
// one list of fields.
type lists struct {
	text  string
	items []lang.Collect
	parts []part
}

type part struct {
	from text
	lo   int // where it starts in the joined text
}

func (s *Session) joinLists(tp *Tracepoint, isType func(string) bool) (*lists, error) {
	l := &lists{}
	var bad lang.Diagnostics
	for _, t := range tp.Lists {
		if l.text != "" {
			l.text += ", "
		}
		lo := len(l.text)
		// Each list by itself first: what is wrong in it is shown in it.
		if _, err := lang.ParseCollect(t.text, isType); err != nil {
			bad = appendDiagnostic(bad, t.within(lang.Named(err, t.source)))
			continue
		}
		l.text += t.text
		l.parts = append(l.parts, part{t, lo})
	}
	if len(bad) > 0 {
		return nil, bad.Err()
	}
	if l.text == "" {
		return l, nil
	}
	items, err := lang.ParseCollect(l.text, isType)
	if err != nil {
		return nil, lang.Named(err, "collect")
	}
	l.items = items
	return l, nil
}

func (l *lists) partAt(pos int) *part {
	for i := len(l.parts) - 1; i >= 0; i-- {
		if l.parts[i].lo <= pos {
			return &l.parts[i]
		}
	}
	return nil
}

// place moves diagnostics about the joined lists to the list or file they are
// about; those about the condition go to where the condition stands.
func (l *lists) place(tp *Tracepoint, err error) error {
	var out lang.Diagnostics
	for _, d := range appendDiagnostic(nil, err) {
		if d.Source != "collect" {
			out = appendDiagnostic(out, tp.Cond.within(d))
			continue
		}
		p := l.partAt(d.Span.Lo)
		if p == nil {
			out = append(out, d)
			continue
		}
		moved := *d
		moved.Text, moved.Source = p.from.text, p.from.source
		moved.Span = lang.Span{Lo: d.Span.Lo - p.lo, Hi: min(d.Span.Hi-p.lo, len(p.from.text))}
		out = appendDiagnostic(out, p.from.within(&moved))
	}
	return out.Err()
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
