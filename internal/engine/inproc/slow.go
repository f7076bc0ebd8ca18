package session

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/kengine"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// An int3 of ours costs a stop of the thread at each hit, and two switches to jalon and
// back: 6 to 20 times what the kernel takes for a uprobe. A site that no jump can reach
// becomes a uprobe where that is permitted and the kernel engine can do what is asked
// there; where not, the user is told.

// stopCost is what is said of a hit at an int3: measured on metal, and where traps are
// dear (virtual machines).
const stopCost = "5 to 80 microseconds"

// hasten makes uprobes of the sites of plans with an int3, and returns the other plans.
// A Run has none, and a user who forbids tactics wants the int3.
func (s *Session) hasten(plans []*placed) []*placed {
	var list []*site
	for _, p := range plans {
		if s.mayHasten(p) {
			list = append(list, p.sites...)
		}
	}
	if len(list) == 0 {
		return plans
	}
	refused := map[*site]error{}
	for i, err := range s.asUprobes(list) {
		if err != nil {
			refused[list[i]] = err
		}
	}
	var kept []*placed
	for _, p := range plans {
		if !s.mayHasten(p) {
			kept = append(kept, p)
			continue
		}
		var errs []error
		for _, x := range p.sites {
			errs = append(errs, refused[x])
		}
		if err := errors.Join(errs...); err != nil {
			// One instruction has either: an int3 of ours, or the kernel's.
			for _, x := range p.sites {
				if refused[x] == nil {
					s.dropUprobe(x)
				}
				s.slow.AddText(firstLine(err))
			}
			kept = append(kept, p)
		}
	}
	return kept
}

func (s *Session) mayHasten(p *placed) bool {
	if p.plan.Tactic != patch.Trapping || s.opt.Avoid != 0 || s.opt.breakpoints != nil {
		return false
	}
	for _, x := range p.sites {
		if x.tp.program != nil || x.noUprobe {
			return false
		}
	}
	return true
}

// warnSlow tells of the sites that are reached by int3 since it was last called.
func (s *Session) warnSlow() {
	l := s.slow
	s.slow = tracepoint.LeftOut{}
	if l.N == 0 {
		return
	}
	all := 0
	for _, tp := range s.tps {
		all += tp.sites
	}
	s.warn(fmt.Sprintf("%d of %d addresses are reached by an int3, which stops the thread for %s at each hit; the kernel's uprobes are faster, but %s", l.N, all, stopCost, l.Reasons()))
}

// SlowTactic is how a site that no jump reaches is reached: by a uprobe where this user
// may have them and the kernel engine can do what is asked there.
func SlowTactic() string {
	if kengine.MayUprobe() == nil {
		return "uprobe, or int3 where the kernel engine cannot do what is asked"
	}
	return "int3 (uprobes are not permitted)"
}
