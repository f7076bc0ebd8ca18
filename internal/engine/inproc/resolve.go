package inproc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

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
	list, err := find(place)
	var all []probe.Site
	for _, f := range list {
		all = append(all, f.sites...)
		for _, x := range f.sites {
			if place.Kind.Returns {
				for _, w := range f.mod.exits(x) {
					w.e = e
					out = append(out, w)
				}
				continue
			}
			out = append(out, &Site{e: e, mod: f.mod, site: x})
		}
	}
	if text := probe.Moved(all); text != "" {
		e.mods.warn(place.Text + ": " + text)
	}
	if err == nil && len(out) == 0 {
		err = probe.Error(place, errNoReturn)
	}
	return out, err
}

// found are sites in a module.
type found struct {
	mod   *module
	sites []probe.Site
}

// resolve searches the executable for a name or line without a file, and the libraries only if it is not
// found there. Of several libraries that have it, the one counts from which the program takes the function, or else the
// first in the dynamic linker's order; the others are printed. If the file is loaded several times (dlmopen), all loads
// count.
func (l *modules) resolve(place *probe.Place) ([]found, error) {
	var first error
	var list []found
	named := false
	for _, m := range l.list {
		if !m.Meant(place.Path) {
			continue
		}
		named = true
		sites, err := l.sitesIn(place, m)
		if err == nil {
			list = append(list, found{m, sites})
			if m.Exe {
				break
			}
			continue
		}
		if err := l.interrupted(); err != nil {
			return nil, err
		}
		var bad *openError
		switch {
		case errors.As(err, &bad):
			if first == nil && (m.Exe || place.Path != "") {
				first = bad.error
			}
		case first == nil || isWrong(first) && !isWrong(err):
			first = err
		}
	}
	if len(list) > 1 {
		list = l.preferred(place, list)
	}
	if len(list) == 0 && place.Path != "" && named && place.Kind.Importing {
		from, err := l.imported(place)
		if len(from) > 0 {
			return from, nil
		}
		if err != nil {
			first = err
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	switch {
	case named:
	case place.Path == "":
		first = errors.New("no file that the process has mapped has code")
	default:
		first = fmt.Errorf("the process has no code of %s mapped (--pending of jalon trace waits for a library that it loads later; jalon run without -c and -p has uprobes in all processes)", place.Path)
	}
	return nil, probe.Error(place, first)
}

// openError is the error of a module that cannot be opened.
type openError struct{ error }

func (l *modules) sitesIn(place *probe.Place, m *module) ([]probe.Site, error) {
	if err := m.open(); err != nil {
		return nil, &openError{err}
	}
	sites, err := probe.Resolve(place, m.dw, l.interrupted)
	sort.Slice(sites, func(i, j int) bool { return sites[i].Addr < sites[j].Addr })
	return sites, err
}

// preferred are the loads of one file among those of several files in which a place was found.
func (l *modules) preferred(place *probe.Place, list []found) []found {
	rank := l.space.Rank()
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(rank(a.mod.Module), rank(b.mod.Module)) })
	chosen := list[0].mod
	if place.Func != "" && l.list[0].Exe {
		from, err := l.space.Provider(l.list[0].Module, place.Func)
		if i := slices.IndexFunc(list, func(f found) bool { return f.mod.Module == from }); err == nil && i >= 0 {
			chosen = list[i].mod
		}
	}
	var same []found
	var others []string
	for _, f := range list {
		if f.mod.SameFile(chosen.Module) {
			same = append(same, f)
		} else if !slices.Contains(others, f.mod.Path) {
			others = append(others, f.mod.Path)
		}
	}
	if len(others) > 0 {
		l.warn(fmt.Sprintf("%s is in %s, and also in %s, which is not traced: name the file that is meant", place.Text, chosen.Path, strings.Join(others, ", ")))
	}
	return same
}

// imported finds a function that is not in the file of the place but is imported from a library. This is
// the meaning of `uprobe:/usr/bin/sqlite3:sqlite3_step` for a dynamically linked program. image.Provider
// has the rule.
func (l *modules) imported(place *probe.Place) (_ []found, unsure error) {
	for _, m := range l.list {
		if !m.Meant(place.Path) {
			continue
		}
		provider, err := l.space.Provider(m.Module, place.Func)
		if err != nil {
			unsure = err
		}
		i := slices.IndexFunc(l.list, func(x *module) bool { return x.Module == provider })
		if i < 0 {
			continue
		}
		from := l.list[i]
		if sites, err := l.sitesIn(place, from); err == nil && len(sites) > 0 {
			l.warn(fmt.Sprintf("%s: %s is not in that file, which imports it from %s", place.Text, place.Func, from.Path))
			return []found{{from, sites}}, nil
		}
	}
	return nil, unsure
}

func isWrong(err error) bool {
	var nf *debuginfo.NotFoundError
	return errors.As(err, &nf)
}

// resolveAddress resolves a run-time address.
func (l *modules) resolveAddress(p *probe.Place) ([]found, error) {
	for _, m := range l.list {
		if !m.Contains(p.Off) {
			continue
		}
		if err := m.open(); err != nil {
			return nil, probe.Error(p, err)
		}
		site, err := probe.ResolveAddress(m.dw, p.Off-m.bias)
		if err != nil {
			return nil, probe.Error(p, err)
		}
		return []found{{m, []probe.Site{site}}}, nil
	}
	msg, hint := fmt.Sprintf("address %#x is not in the code of the program or of a library", p.Off), ""
	if i := slices.IndexFunc(l.list, func(m *module) bool { return m.Exe && m.open() == nil && m.bias != 0 && m.dw.IsCode(p.Off) }); i >= 0 {
		hint = fmt.Sprintf("the program is loaded at %#x; an address as in its file is uprobe:%s:%#x", l.list[i].bias, l.list[i].Path, p.Off)
	}
	return nil, probe.Diagnose(p, msg, hint)
}
