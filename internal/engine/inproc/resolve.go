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

// Resolve implements engine.Engine: it finds the addresses of a place in the modules of the last Refresh.
// The error is a diagnostic.
func (e *Engine) Resolve(place *probe.Place) (out []engine.Site, err error) {
	find := e.mods.resolve
	if place.Kind.RunTime {
		find = e.mods.resolveAddress
	}
	m, list, err := find(place)
	for _, x := range list {
		if place.Kind.Returns {
			for _, w := range m.exits(x) {
				w.e = e
				out = append(out, w)
			}
			continue
		}
		out = append(out, &Site{e: e, mod: m, site: x})
	}
	if err == nil && len(out) == 0 {
		err = probe.Error(place, errNoReturn)
	}
	return out, err
}

// resolve searches the executable for a name or line without a file, and the libraries only if it is not
// found there.
func (l *modules) resolve(place *probe.Place) (*module, []probe.Site, error) {
	var first error
	named := false
	for _, m := range l.list {
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
		sites, err := probe.Resolve(place, m.dw, l.interrupted)
		if err != nil {
			if first == nil || isWrong(first) && !isWrong(err) {
				first = err
			}
			continue
		}
		sort.Slice(sites, func(i, j int) bool { return sites[i].Addr < sites[j].Addr })
		return m, sites, nil
	}
	if place.Path != "" && named && place.Kind.Importing {
		if m, sites := l.imported(place); m != nil {
			return m, sites, nil
		}
	}
	switch {
	case named:
	case place.Path == "":
		first = errors.New("no file that the process has mapped has code")
	default:
		first = fmt.Errorf("the process has no code of %s mapped", place.Path)
	}
	return nil, nil, probe.Error(place, first)
}

// imported finds a function that is not in the file of the place but is imported from a library. This is
// the meaning of `uprobe:/usr/bin/sqlite3:sqlite3_step` for a dynamically linked program. image.Provider
// has the rule.
func (l *modules) imported(place *probe.Place) (*module, []probe.Site) {
	for _, m := range l.list {
		if !m.Meant(place.Path) {
			continue
		}
		provider := l.space.Provider(m.Module, place.Func)
		i := slices.IndexFunc(l.list, func(x *module) bool { return x.Module == provider })
		if i < 0 || l.list[i].open() != nil {
			continue
		}
		from := l.list[i]
		if sites, err := probe.Resolve(place, from.dw, l.interrupted); err == nil && len(sites) > 0 {
			l.warn(fmt.Sprintf("%s: %s is not in that file, which imports it from %s", place.Text, place.Func, from.Path))
			return from, sites
		}
	}
	return nil, nil
}

func isWrong(err error) bool {
	var nf *debuginfo.NotFoundError
	return errors.As(err, &nf)
}

// resolveAddress resolves a run-time address.
func (l *modules) resolveAddress(p *probe.Place) (*module, []probe.Site, error) {
	for _, m := range l.list {
		if !m.Contains(p.Off) {
			continue
		}
		if err := m.open(); err != nil {
			return nil, nil, probe.Error(p, err)
		}
		site, err := probe.ResolveAddress(m.dw, p.Off-m.bias)
		if err != nil {
			return nil, nil, probe.Error(p, err)
		}
		return m, []probe.Site{site}, nil
	}
	return nil, nil, probe.Error(p, fmt.Errorf("address %#x is not in the code of the program or of a library", p.Off))
}
