package inproc

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Site is an instruction of the process; it implements engine.Site.
type Site struct {
	e     *Engine
	mod   *module
	site  probe.Site
	exit  *patch.Exit // set at returns and tail calls
	fn    *dwarf.Function
	again []uint64 // the function's jumps to its own start
	// unsure is why the returns of the function are not known. The site is its entry, and nothing runs there.
	unsure error
}

// Addr implements engine.Site.
func (w *Site) Addr() uint64 { return w.site.Addr + w.mod.bias }

// String returns the run-time address.
func (w *Site) String() string { return fmt.Sprintf("%#x", w.Addr()) }

// Function returns the function around the site.
func (w *Site) Function() string { return w.site.Func }

// File returns the site in its file: the debug information, a path that opens the file, and the site in it.
func (w *Site) File() (m *dwarf.Module, path string, at probe.Site) {
	return w.mod.dw, w.mod.File(), w.site
}

// Same reports whether two sites are one instruction of one file, at any mapping.
func (w *Site) Same(v *Site) bool { return w.mod.Path == v.mod.Path && w.site.Addr == v.site.Addr }

// Loaded reports whether the site's file was mapped at the last Refresh.
func (w *Site) Loaded() bool {
	for _, m := range w.e.mods.list {
		if m == w.mod {
			return true
		}
	}
	return false
}

// private returns an error if the code is mapped shared: a change would reach the file, and other processes.
func (w *Site) private() error {
	for _, m := range w.mod.Maps {
		if m.Shared && w.Addr() < m.End && w.Addr()+jumpSpan > m.Start {
			return fmt.Errorf("the code at %#x is mapped shared (MAP_SHARED): a change would reach the file, and other processes", w.Addr())
		}
	}
	return nil
}

// Warning implements engine.Site.
func (w *Site) Warning() string {
	if !w.site.IFunc {
		return ""
	}
	return indirect(w)
}

// Parts implements engine.Site.
func (w *Site) Parts(tp *tracepoint.Tracepoint) ([]engine.Part, error) {
	if w.unsure != nil {
		return nil, w.unsure
	}
	scope, err := w.mod.dw.ScopeForSite(w.site)
	if err != nil {
		return nil, err
	}
	in := w.input(scope)
	in.Cond, in.Collect = tp.Cond, tp.Collect
	part := engine.Part{Site: w, Input: in, Moved: w.site.Moved()}
	if list := tp.OwnList(); list != nil && scope.HasDebugInfo() {
		in.Collect, in.Own = list, true
	}
	if in.Exit = w.Exit(); in.Exit != nil {
		part.Entry, in.Exit.Pair, in.Exit.NoPair = w.pair()
	}
	return []engine.Part{part}, nil
}

// input describes the site for sema.
func (w *Site) input(scope debuginfo.Scope) *sema.Input {
	m := w.mod
	in := &sema.Input{
		Scope: scope, Bias: m.bias, TLSOffset: m.TLSOffset,
		LineOf: func(vaddr uint64) (string, int) {
			_, _, file, line, _ := m.dw.Symbolize(vaddr)
			return file, line
		},
		Others: sema.Others{
			Replaces: func(symbol string) string { return w.e.mods.space.Replaces(m.Module, symbol) },
			Variable: w.Other,
		},
		Readable: m.Readable, AtEntry: w.atEntry(), GoCode: m.dw.GoCode(w.site.Addr), Pid: w.e.target.p.Pid(),
		Function: w.site.Func, File: w.site.File, Line: w.site.Line,
	}
	return in
}

// Other is sema.Others.Variable.
func (w *Site) Other(symbol string, known *debuginfo.Variable) (*debuginfo.Variable, error) {
	return w.e.mods.space.Object(w.mod.Module, symbol, known)
}

// Facts returns information about the site for lowering bytecode.
func (w *Site) Facts() engine.Facts {
	var f *frameSpace
	if scope, err := w.mod.dw.ScopeForSite(w.site); err == nil {
		f = frameSpaceOf(scope)
	}
	return engine.Facts{
		Function: w.site.Func, InFrame: f.has, GSBase: host.X86().FSGSBASE, AVX: host.X86().AVX, XGETBV1: host.X86().XGETBV1,
		Readable: func(addr, n uint64) bool { return w.mod.Readable(addr-w.mod.bias, n) },
	}
}

// atEntry reports whether a site is at the first instruction of its function, or after an endbr64 there.
// There the argument registers of the ABI still have the arguments.
func (w *Site) atEntry() bool {
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
