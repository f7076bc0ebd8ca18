package kernel

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// named finds the functions that a place names in the symbols of the kernel.
func (e *functions) named(p *probe.Place) ([]kallsyms.Symbol, error) {
	syms, err := e.facts.kernel.Symbols()
	if err != nil {
		return nil, err
	}
	var out []kallsyms.Symbol
	seen := map[string]bool{}
	elsewhere := "" // a module that has it, where the place names another
	add := func(s kallsyms.Symbol) {
		if p.Module != "" && p.Module != moduleOf(s) {
			elsewhere = moduleOf(s)
			return
		}
		if seen[s.Module+":"+s.Name] {
			return
		}
		seen[s.Module+":"+s.Name] = true
		out = append(out, s)
	}
	if p.Glob() {
		list, err := syms.Functions(p.Func)
		if err != nil {
			return nil, err
		}
		may := e.facts.traceable()
		for _, s := range list {
			if may == nil || may[s.Name] {
				add(s)
			}
		}
	} else {
		for _, s := range syms.Lookup(p.Func) {
			if s.IsText() {
				add(s)
			}
		}
	}
	switch {
	case len(out) > maxSites:
		return nil, tooMany(p)
	case len(out) == 0 && elsewhere != "":
		return nil, &debuginfo.NotFoundError{What: "function", Name: p.Module + ":" + p.Func, Hint: elsewhere + " has it"}
	case len(out) == 0:
		return nil, syms.NotFound(p.Func)
	}
	return out, nil
}

// moduleOf is what a place names to mean a symbol: its module, or vmlinux.
func moduleOf(s kallsyms.Symbol) string {
	if s.Module == "" {
		return image.Vmlinux
	}
	return s.Module
}

// kprobes finds functions, instructions and lines of the kernel.
func (e *functions) kprobes(p *probe.Place) ([]candidate, error) {
	if p.File != "" {
		return e.lines(p)
	}
	if p.Func == "" {
		c, err := e.instruction(p, p.Off)
		return []candidate{c}, err
	}
	fns, err := e.named(p)
	if err != nil {
		return nil, err
	}
	return e.several(p, len(fns), func(i int) (candidate, error) { return e.kprobe(p, fns[i]) })
}

// kprobe is an instruction of a function, the first one if the place names no other.
func (e *functions) kprobe(p *probe.Place, f kallsyms.Symbol) (candidate, error) {
	if p.Off == 0 && (e.opt.Vmlinux == "" || f.Module != "") {
		return e.functionCandidate(p, "kprobe", f, variant{
			how: "kprobe", target: bpf.Target{Kind: bpf.Kprobe, Symbol: f.Name, Module: f.Module},
			context: ebpf.Regs, scope: e.facts.entryScope(f), kernel: sema.KernelInput{Context: sema.ContextRegs}, atEntry: true, at: f.Addr,
		}), nil
	}
	c, err := e.instruction(p, f.Addr+p.Off)
	if err != nil {
		return c, err
	}
	if p.Glob() {
		c.place = "kprobe:" + f.Name
	}
	c.variants[0].atEntry = p.Off == 0
	return c, nil
}

// functionCandidate is a candidate with one variant; place shows the one function
// of a pattern.
func (e *functions) functionCandidate(p *probe.Place, kind string, f kallsyms.Symbol, v variant) candidate {
	place := p.Text
	if p.Glob() {
		place = kind + ":" + f.Name
	}
	return candidate{place: place, function: f.Name, variants: []variant{v}}
}

// kprobeAt is a kprobe at an address. It has no scope yet.
func (s *facts) kprobeAt(addr uint64) (variant, error) {
	syms, err := s.kernel.Symbols()
	if err != nil {
		return variant{}, err
	}
	t := bpf.Target{Kind: bpf.Kprobe, Addr: addr}
	if at, ok := syms.At(addr); ok { // the kernel checks a symbol better than an address
		t = bpf.Target{Kind: bpf.Kprobe, Symbol: at.Name, Module: at.Module, Offset: at.Offset}
	}
	return variant{how: "kprobe", target: t, context: ebpf.Regs, kernel: sema.KernelInput{Context: sema.ContextRegs}, at: addr}, nil
}

// instruction is any address of the kernel's code, with the local variables there
// when its debug information is at hand.
func (e *functions) instruction(p *probe.Place, addr uint64) (candidate, error) {
	c := candidate{place: p.Text, function: e.facts.kernel.Symbol(addr)}
	v, err := e.facts.kprobeAt(addr)
	if err != nil {
		return c, err
	}
	v.scope = e.facts.plainScope()
	if e.opt.Vmlinux != "" && v.target.Module == "" {
		img, err := e.facts.kernelFile()
		if err != nil {
			return c, err
		}
		site, err := probe.ResolveAddress(img.Info, addr-img.Slide)
		if err != nil {
			return c, err
		}
		if err := e.describe(&v, img, site); err != nil {
			return c, err
		}
		c.file, c.line = site.File, site.Line
		if site.Func != "" {
			c.function = site.Func
		}
	}
	c.variants = []variant{v}
	return c, nil
}

// describe gives v the names at a site of the kernel's file.
func (e *functions) describe(v *variant, img *image.KernelFile, site probe.Site) error {
	scope, err := img.Info.ScopeForSite(site)
	if err != nil {
		return err
	}
	v.scope, v.bias = scope, img.Slide
	v.lineOf = img.LineOf
	return nil
}

// lines finds a source line of the kernel: FILE:LINE, kprobe:FILE:LINE.
func (e *functions) lines(p *probe.Place) ([]candidate, error) {
	if p.Path != "" || e.opt.Program != "" && e.opt.Vmlinux == "" && p.Kind.AnySource {
		return e.programs.uprobes(p)
	}
	img, err := e.facts.kernelFile()
	if err != nil {
		return nil, err
	}
	sites, err := probe.SitesOfLine(img.Info, p.File, p.Line)
	if err != nil {
		return nil, err
	}
	e.warnMoved(p, sites)
	return e.kernelSites(p, img, sites)
}

// kernelSites makes a kprobe of each site of the kernel's file.
func (e *functions) kernelSites(p *probe.Place, img *image.KernelFile, sites []probe.Site) ([]candidate, error) {
	var out []candidate
	for _, s := range sites {
		v, err := e.facts.kprobeAt(s.Addr + img.Slide)
		if err != nil {
			return nil, err
		}
		if err := e.describe(&v, img, s); err != nil {
			return nil, err
		}
		out = append(out, candidate{place: p.Text, function: s.Func, file: s.File, line: s.Line, moved: s.Moved(), variants: []variant{v}})
	}
	return out, nil
}

// kretprobes are returns of kernel functions.
func (e *functions) kretprobes(p *probe.Place) ([]candidate, error) {
	fns, err := e.named(p)
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, f := range fns {
		out = append(out, e.functionCandidate(p, "kretprobe", f, variant{
			how: "kretprobe", target: bpf.Target{Kind: bpf.Kretprobe, Symbol: f.Name, Module: f.Module},
			context: ebpf.Regs, scope: e.facts.returnScope(f), kernel: sema.KernelInput{Context: sema.ContextRegs, Return: true},
		}))
	}
	return out, nil
}

// typed are the entries and returns of kernel functions that BTF describes.
func (e *functions) typed(p *probe.Place) ([]candidate, error) {
	kind := attachment(p)
	b, err := e.facts.btf()
	if err != nil {
		return nil, err
	}
	fns, err := e.named(p)
	if err != nil {
		return nil, err
	}
	return e.several(p, len(fns), func(i int) (candidate, error) {
		f, scopeOf := fns[i], b.FentryScope
		if kind == bpf.Fexit {
			scopeOf = b.FexitScope
		}
		scope, err := scopeOf(f.Name, f.Module)
		if err != nil {
			return candidate{}, fmt.Errorf("%w (kprobe: needs no types)", err)
		}
		return e.functionCandidate(p, kind.String(), f, variant{
			how: kind.String(), target: bpf.Target{Kind: kind, Symbol: f.Name, Module: f.Module},
			context: ebpf.Args, scope: scope, kernel: sema.KernelInput{Context: sema.ContextArgs, Return: kind == bpf.Fexit},
		}), nil
	})
}
