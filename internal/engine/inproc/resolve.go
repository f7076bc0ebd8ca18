package session

import (
	"errors"
	"fmt"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/probe"
)

// where is one address that a place means.
type where struct {
	mod  *module
	site probe.Site
}

func (w where) addr() uint64 { return w.site.Addr + w.mod.bias }

// resolve finds the addresses of a place in the modules. A bare name or line is
// looked for in the executable first and in libraries only if it is not there.
// The error is a diagnostic.
func (s *Session) resolve(tp *tracked, mods []*module) ([]where, error) {
	if tp.Place.Kind == probe.Address {
		return s.resolveAddress(tp.Place, mods)
	}
	var first error
	named := false
	for _, m := range mods {
		if !m.meant(tp.Place.Path) {
			continue
		}
		named = true
		if err := s.open(m); err != nil {
			if first == nil && (m.exe || tp.Place.Path != "") {
				first = err
			}
			continue
		}
		sites, err := probe.Resolve(tp.Place, m.dw, s.interrupted)
		if err != nil {
			if first == nil || isWrong(first) && !isWrong(err) {
				first = err
			}
			continue
		}
		var out []where
		for _, x := range sites {
			out = append(out, where{m, x})
		}
		sort.Slice(out, func(i, j int) bool { return out[i].site.Addr < out[j].site.Addr })
		return out, nil
	}
	if tp.Place.Path != "" && named && tp.Place.Kind == probe.Entry {
		if out := s.imported(tp, mods); out != nil {
			return out, nil
		}
	}
	if !named {
		first = fmt.Errorf("the process has no code of %s mapped", tp.Place.Path)
	}
	return nil, probe.Error(tp.Place, first)
}

// imported finds a function that the file named by the place does not contain but
// uses from a library: that is what `uprobe:/usr/bin/sqlite3:sqlite3_step` means
// where the program is linked dynamically.
func (s *Session) imported(tp *tracked, mods []*module) []where {
	uses := false
	for _, m := range mods {
		if m.meant(tp.Place.Path) {
			uses = uses || m.imports(tp.Place.Func)
		}
	}
	if !uses {
		return nil
	}
	for _, m := range mods {
		if s.open(m) != nil {
			continue
		}
		if sites, err := probe.Resolve(tp.Place, m.dw, s.interrupted); err == nil && len(sites) > 0 {
			s.warn(fmt.Sprintf("%s: %s is not in that file, which takes it from %s", tp.Place.Text, tp.Place.Func, m.path))
			var out []where
			for _, x := range sites {
				out = append(out, where{m, x})
			}
			return out
		}
	}
	return nil
}

func isWrong(err error) bool {
	var nf *debuginfo.NotFoundError
	return errors.As(err, &nf)
}

func (s *Session) resolveAddress(p *probe.Place, mods []*module) ([]where, error) {
	for _, m := range mods {
		if !m.contains(p.Off) {
			continue
		}
		if err := s.open(m); err != nil {
			return nil, probe.Error(p, err)
		}
		sites, err := probe.ResolveAddress(m.dw, p.Off-m.bias)
		if err != nil {
			return nil, probe.Error(p, err)
		}
		return []where{{m, sites}}, nil
	}
	return nil, probe.Error(p, fmt.Errorf("address %#x is not in the code of the program or of a library", p.Off))
}

func (s *Session) dwarfOptions() dwarf.Options {
	return dwarf.Options{DebugDirs: s.opt.DebugDirs, Root: s.root(), Warn: func(m string) { s.logf("%s", m) }}
}
