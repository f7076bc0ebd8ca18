package session

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/process"
)

// enableInProcess enables or disables a tracepoint in a running process:
//
//  1. Disabling restores the program's own bytes, with the world stopped. Nobody
//     enters the trampolines any more; threads within leave them by themselves, and
//     they stay where they are.
//  2. Enabling writes the jumps again. Threads that stand between the instructions
//     that a jump replaces are moved, as when the sites were made.
//
// A tracepoint that was never armed is armed now.
func (s *Session) enableInProcess(tp *tracked, on bool) error {
	if tp.Disabled == !on {
		return nil
	}
	if s.p == nil || s.state.replaced {
		return fmt.Errorf("tracepoint %d: the program that it was in is gone", tp.Number)
	}
	mine, err := s.placedFor(tp)
	if err != nil {
		return err
	}
	uprobes := s.hasUprobes(tp)
	var trapping []*site // whose uprobe cannot be had again
	if uprobes {
		if trapping, err = s.enableUprobes(tp, on); err != nil {
			return err
		}
	}
	if len(mine) == 0 && on && !uprobes {
		tp.Disabled, tp.refused = false, false
		_, err := s.arm()
		if err == nil && tp.pending != nil {
			err = tp.pending
		}
		if err != nil {
			tp.Disabled = true
		}
		return err
	}
	if on {
		err = s.stopped(func(st *process.Stopped) error { return jumpAgain(st, tp, mine) })
	} else {
		err = s.stopped(func(st *process.Stopped) error { return putBack(st, mine) })
	}
	if err == nil {
		tp.Disabled = !on
	}
	if err == nil && len(trapping) > 0 {
		err = s.install(trapping)
	}
	return err
}

// placedFor lists the patches that serve the tracepoint's sites, and no others.
func (s *Session) placedFor(tp *tracked) ([]*placed, error) {
	var mine []*placed
	for _, p := range s.placed {
		n := 0
		for _, x := range p.sites {
			if x.tp == tp {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if n < len(p.sites) {
			return nil, fmt.Errorf("tracepoint %d shares its jump at %#x with another tracepoint: they are disabled together only when both end", tp.Number, p.plan.Addr)
		}
		mine = append(mine, p)
	}
	return mine, nil
}

// putBack restores the program's own bytes.
func putBack(st *process.Stopped, list []*placed) error {
	for _, p := range list {
		for _, e := range p.edits {
			if !ours(st, e.Addr, e.New) {
				continue
			}
			if err := st.WriteMem(e.Addr, e.Old); err != nil {
				return err
			}
		}
	}
	return nil
}

// jumpAgain writes the jumps to trampolines that are still there.
func jumpAgain(st *process.Stopped, tp *tracked, list []*placed) error {
	mv, err := threadMoves(st, list)
	if err != nil {
		return err
	}
	for _, p := range list {
		if mv.blocked[p] {
			return fmt.Errorf("tracepoint %d: a signal handler will return into the instructions at %#x: try again", tp.Number, p.plan.Addr)
		}
		for _, e := range p.edits {
			if !ours(st, e.Addr, e.Old) {
				return fmt.Errorf("tracepoint %d: the code at %#x has changed", tp.Number, e.Addr)
			}
		}
	}
	for _, p := range list {
		for _, e := range p.edits {
			if err := st.WriteMem(e.Addr, e.New); err != nil {
				return err
			}
		}
	}
	return nil
}
