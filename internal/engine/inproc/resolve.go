package inproc

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/probe"
)

// Resolve implements engine.Engine: it finds the addresses of a place in the modules
// that Refresh has seen. A bare name or line is
// looked for in the executable first and in libraries only if it is not there.
// The error is a diagnostic.
func (e *Engine) Resolve(place *probe.Place) ([]engine.Site, error) {
	if place.Kind.RunTime {
		return e.resolveAddress(place)
	}
	var first error
	named := false
	for _, m := range e.mods {
		if !m.Meant(place.Path) {
			continue
		}
		named = true
		if err := m.open(); err != nil {
			if first == nil && (m.Exe || place.Path != "") {
				first = err
			}
			continue
		}
		sites, err := probe.Resolve(place, m.dw, e.interrupted)
		if err != nil {
			if first == nil || isWrong(first) && !isWrong(err) {
				first = err
			}
			continue
		}
		sort.Slice(sites, func(i, j int) bool { return sites[i].Addr < sites[j].Addr })
		return e.sitesIn(m, sites), nil
	}
	if place.Path != "" && named && place.Kind.Importing {
		if out := e.imported(place); out != nil {
			return out, nil
		}
	}
	if !named {
		first = fmt.Errorf("the process has no code of %s mapped", place.Path)
	}
	return nil, probe.Error(place, first)
}

// imported finds a function that the file named by the place does not contain but
// uses from a library: that is what `uprobe:/usr/bin/sqlite3:sqlite3_step` means
// where the program is linked dynamically.
func (e *Engine) imported(place *probe.Place) []engine.Site {
	uses := false
	for _, m := range e.mods {
		if m.Meant(place.Path) {
			uses = uses || imports(m, place.Func)
		}
	}
	if !uses {
		return nil
	}
	for _, m := range e.mods {
		if m.open() != nil {
			continue
		}
		if sites, err := probe.Resolve(place, m.dw, e.interrupted); err == nil && len(sites) > 0 {
			e.warn(fmt.Sprintf("%s: %s is not in that file, which takes it from %s", place.Text, place.Func, m.Path))
			return e.sitesIn(m, sites)
		}
	}
	return nil
}

func (e *Engine) sitesIn(m *module, list []probe.Site) (out []engine.Site) {
	for _, x := range list {
		out = append(out, &Site{e, m, x})
	}
	return out
}

func isWrong(err error) bool {
	var nf *debuginfo.NotFoundError
	return errors.As(err, &nf)
}

func (e *Engine) resolveAddress(p *probe.Place) ([]engine.Site, error) {
	for _, m := range e.mods {
		if !m.Contains(p.Off) {
			continue
		}
		if err := m.open(); err != nil {
			return nil, probe.Error(p, err)
		}
		sites, err := probe.ResolveAddress(m.dw, p.Off-m.bias)
		if err != nil {
			return nil, probe.Error(p, err)
		}
		return []engine.Site{&Site{e, m, sites}}, nil
	}
	return nil, probe.Error(p, fmt.Errorf("address %#x is not in the code of the program or of a library", p.Off))
}

// imports reports whether the file takes a function of that name from a library.
func imports(m *module, name string) bool {
	f, err := openfile.OpenELF(m.File())
	if err != nil {
		return false
	}
	defer f.Close()
	syms, err := f.ImportedSymbols()
	return err == nil && slices.ContainsFunc(syms, func(s elf.ImportedSymbol) bool { return s.Name == name })
}
