package runner

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/session"
)

// whereMaps reports where each map of the script is, and why. process: places of programs are code in the process.
func (s *running) whereMaps(sites []*plan.Site, list []*plan.SiteMap, process bool) {
	if s.opt.Maps == nil {
		return
	}
	for _, m := range s.program.Maps {
		i := slices.IndexFunc(list, func(k *plan.SiteMap) bool { return k.Name == m.Name })
		if i < 0 {
			s.opt.Maps(m.Name + " in jalon: " + whyInJalon(sites, m.Name, !session.GivesBack()))
			continue
		}
		inProcess, inKernel := 0, 0
		for _, site := range sites {
			if !slices.ContainsFunc(site.Updates, func(u plan.Update) bool { return u.Map != nil && u.Map.Name == m.Name }) {
				continue
			}
			if process && site.Point.Provider.User && !site.Kernel {
				inProcess++
			} else {
				inKernel++
			}
		}
		if list[i].Both {
			s.opt.Maps(fmt.Sprintf("%s in memory that the process and the kernel have in common: %d and %d places change it at their hits", m.Name, inProcess, inKernel))
			continue
		}
		where := fmt.Sprintf("in the memory that the process has in common with jalon: %d places update it at their hits", inProcess)
		switch {
		case inProcess == 0:
			where = fmt.Sprintf("in the kernel: %d places update it at their hits", inKernel)
		case inKernel > 0:
			where = fmt.Sprintf("in the process and in the kernel, whose parts jalon adds up: %d and %d places update them at their hits", inProcess, inKernel)
		}
		s.opt.Maps(m.Name + " " + where)
	}
}

// whyInJalon is why the sites do not update a map. keeps: plan.Options.Keeps.
func whyInJalon(sites []*plan.Site, name string, keeps bool) string {
	used := false
	for _, site := range sites {
		script.Walk(site.Probe.Body, func(n script.Node) bool {
			m, ok := n.(*script.Map)
			used = used || ok && m.Name == name
			return !used
		})
	}
	if !used {
		return "only probes that run in jalon use it"
	}
	why := "a probe that uses it does more than sites do with maps: it prints or walks the whole map, needs a value, key or condition that only jalon has, or changes what depends on the value before"
	if keeps {
		why += ", or deletes elements in the kernel, which needs CAP_SYS_ADMIN"
	}
	return why
}
