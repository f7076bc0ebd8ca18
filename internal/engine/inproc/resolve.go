package inproc

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/engine"
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
// takes from a library: that is what `uprobe:/usr/bin/sqlite3:sqlite3_step` means
// where the program is linked dynamically. The rule is image.Provider's.
func (e *Engine) imported(place *probe.Place) []engine.Site {
	for _, m := range e.mods {
		if !m.Meant(place.Path) {
			continue
		}
		provider := e.space.Provider(m.Module, place.Func)
		i := slices.IndexFunc(e.mods, func(x *module) bool { return x.Module == provider })
		if i < 0 || e.mods[i].open() != nil {
			continue
		}
		from := e.mods[i]
		if sites, err := probe.Resolve(place, from.dw, e.interrupted); err == nil && len(sites) > 0 {
			e.warn(fmt.Sprintf("%s: %s is not in that file, which takes it from %s", place.Text, place.Func, from.Path))
			return e.sitesIn(from, sites)
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
