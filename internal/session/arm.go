package session

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// arm resolves what has no site yet and installs it. It returns how many
// tracepoints still have no site, and the diagnostics: those of places that are
// not there (unless they may come later), and of expressions.
func (s *Session) arm() (pending int, err error) {
	pending, err = s.armAll()
	if err != nil && s.p.Ended() {
		err = process.ErrGone // whatever could not be read of it
	}
	return pending, err
}

func (s *Session) armAll() (pending int, err error) {
	select {
	case <-s.p.Done():
		return 0, nil
	default:
	}
	s.image = s.execs.Load()
	first := s.state.phase == starting
	maps, err := process.Maps(s.p.Pid())
	if err != nil {
		return 0, err
	}
	s.updateModules(maps)
	s.forgetGone()
	var fresh []*site
	var bad lang.Diagnostics
	for _, tp := range s.tps {
		if tp.sites > 0 || tp.Disabled || tp.refused {
			continue
		}
		sites, perr := s.sitesOf(tp)
		if err := s.interrupted(); err != nil {
			return pending, err
		}
		if tp.pending != nil {
			pending++
			if first && !s.opt.Pending {
				bad = tracepoint.Append(bad, tp.pending)
			}
			continue
		}
		if perr != nil {
			tp.refused = true
			bad = tracepoint.Append(bad, perr)
			continue
		}
		fresh = append(fresh, sites...)
	}
	if len(bad) > 0 && first {
		return pending, bad.Err()
	}
	if err := s.install(fresh); isEnd(err) {
		return pending, err
	} else if err != nil {
		bad = tracepoint.Append(bad, err)
	}
	return pending, bad.Err()
}

// sitesOf resolves and compiles one tracepoint. A place that is not found leaves
// tp.pending set. When a place has several addresses, those where the
// expressions mean nothing are left out with a warning; the error is that none
// is left.
func (s *Session) sitesOf(tp *tracked) ([]*site, error) {
	tp.pending = nil
	at, err := s.resolve(tp, s.mods)
	if err != nil {
		tp.pending = err
		return nil, nil
	}
	for _, w := range at {
		if w.site.IFunc {
			s.warn(fmt.Sprintf("%s: %s is an indirect function: the site at %#x is the resolver, which runs once, not the function that it chooses", tp.Place.Text, w.site.Func, w.addr()))
		}
	}
	var out []*site
	var left tracepoint.LeftOut
	for i, w := range at {
		if err := s.step("compiling", i, len(at)); err != nil {
			return nil, err
		}
		x, err := s.compile(tp, w)
		if err != nil {
			left.Add(err)
			s.logf("%s at %#x: left out: %v", tp.Place.Text, w.addr(), err)
			continue
		}
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil, left.First
	}
	if left.N > 0 {
		s.warn(tp.Place.Text + ": " + left.Text(len(at)))
	}
	return out, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}

// updateModules keeps the modules that are already open.
func (s *Session) updateModules(maps []process.Mapping) {
	old := map[mapped]*module{}
	for _, m := range s.mods {
		old[mappedFile(&m.maps[0])] = m
	}
	s.mods = modules(s.p.Pid(), s.withCovered(maps))
	s.calls = uprobeCalls(maps)
	for i, m := range s.mods {
		if o := old[mappedFile(&m.maps[0])]; o != nil && o.maps[0].Start == m.maps[0].Start {
			o.maps = m.maps
			s.mods[i] = o
		}
		s.mods[i].running = !s.launched || s.state.phase != starting
	}
}

// root is the process's root directory when it is another than ours.
func (s *Session) root() string {
	theirs := procdir.Link(s.p.Pid(), "root")
	if openfile.Same(theirs, "/") {
		return ""
	}
	return theirs
}
