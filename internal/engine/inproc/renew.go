package session

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/process"
)

// Renew arms a program again where its code has been loaded anew since: a library
// that was unloaded and now lies where it did. Nothing happens where what was put
// there still is.
func (r *Run) Renew(x *Program) error {
	if x.tp == nil || x.tp.Disabled {
		return nil
	}
	s := r.s
	maps, err := process.Maps(s.p.Pid())
	if err != nil {
		return err
	}
	s.updateModules(maps)
	list := []*tracked{x.tp}
	if i := slices.IndexFunc(s.placed, func(p *placed) bool { return slices.ContainsFunc(p.sites, func(y *site) bool { return y.tp == x.tp }) }); i >= 0 {
		p := s.placed[i]
		there := true
		err := s.stopped(func(st *process.Stopped) error {
			for _, e := range p.edits {
				there = there && ours(st, e.Addr, e.New)
			}
			return nil
		})
		if err != nil || there {
			return err
		}
		old, err := r.takeOut(p)
		if err != nil {
			return err
		}
		list = nil
		for _, y := range old {
			s.logf("site %d: its code was loaded anew", y.id)
			list = append(list, y.tp)
		}
		s.retired = append(s.retired, old...)
	}
	var fresh []*site
	for _, tp := range list {
		sites, err := s.sitesOf(tp)
		if err == nil {
			err = tp.pending
		}
		if err != nil {
			return plain(err)
		}
		fresh = append(fresh, sites...)
	}
	if err := r.insert(fresh); err != nil {
		return err
	}
	if x.tp.sites == 0 {
		return r.whyNot(x)
	}
	return nil
}
