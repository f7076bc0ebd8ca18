package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/plan"
)

// started plans the sites again that depend on the number of the program that has been started.
func (s *running) started() error {
	if !slices.ContainsFunc(s.list, func(k *plan.Site) bool { return k.Child }) {
		return nil
	}
	again, _, err := plan.Sites(s.program, s.planned)
	if err == nil {
		s.replan(again)
	}
	return err
}

// replan gives the tracepoints what the sites are now.
func (s *running) replan(again []*plan.Site) {
	for tp, old := range s.sites {
		site := again[slices.Index(s.list, old)]
		s.sites[tp] = site
		tp.Cond, tp.Collect, tp.Actions, tp.Maps, tp.NoRecord = site.Cond, site.Collect, nil, nil, false
		s.maps.actions(tp, site)
	}
	s.list = again
}

// unshared plans the sites again: the process cannot have memory in common with the kernel.
func (s *running) unshared(why error) error {
	s.planned.Apart = true
	again, list, err := plan.Sites(s.program, s.planned)
	if err == nil {
		err = interp.Refuse(s.program, again, s.opt.Kernel != nil)
	}
	if err != nil {
		return errors.Join(err, why)
	}
	var names []string
	for _, k := range s.maps.list {
		if k.Both {
			names = append(names, k.Name)
		}
	}
	s.warn(fmt.Sprintf("%s: jalon has the map itself, from a record of each hit, since the process and the kernel cannot have it in common: %v", strings.Join(names, ", "), why))
	now := newSiteMaps(list, s.program.Config.Int("max_map_keys"))
	s.maps.list, s.maps.decls = now.list, now.decls
	s.replan(again)
	s.whereMaps(again, list, s.planned.Process)
	return nil
}
