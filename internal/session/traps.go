package session

import (
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// installTraps makes int3 sites survive jalon: while it lives it answers their
// traps itself; should it be killed, a handler of SIGTRAP inside the process sends
// the threads to the trampolines.
//
// fresh are the plans that are about to be written.
func (s *Session) installTraps(st *process.Stopped, fresh []*placed) error {
	var sites []process.TrapSite
	for _, list := range [][]*placed{s.placed, fresh} {
		for _, p := range list {
			if p.plan.Tactic == patch.Trapping {
				sites = append(sites, process.TrapSite{Addr: p.plan.Addr, To: p.at})
			}
		}
	}
	if len(sites) == 0 {
		return nil
	}
	s.trapping = true
	return st.InstallTrapHandler(sites)
}

// removeTraps gives SIGTRAP its own action back, in the process or a forked child.
func (s *Session) removeTraps(st *process.Stopped) error {
	if !s.trapping {
		return nil
	}
	return st.RemoveTrapHandler()
}
