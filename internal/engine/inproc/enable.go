package inproc

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// Enable implements engine.Engine:
//
//  1. Disabling restores the program's own bytes, with the world stopped. No thread
//     enters the trampolines any more; threads within leave them by themselves, and
//     they stay where they are.
//  2. Enabling writes the jumps again. Threads that are stopped between the instructions
//     that a jump replaces are moved, as when the sites were made.
//
// A patch that also serves programs which are not in the list is left as it is, which
// is an error.
func (e *Engine) Enable(list []*engine.Program, on bool) error {
	mine, err := e.placedFor(list)
	if err != nil || len(mine) == 0 {
		return err
	}
	if on {
		return e.stopped(func(st *process.Stopped) error { return jumpAgain(st, mine) })
	}
	return e.stopped(func(st *process.Stopped) error { return putBack(st, mine) })
}

// placedFor lists the patches that serve the programs, and no others.
func (e *Engine) placedFor(list []*engine.Program) ([]*placed, error) {
	wanted := map[*site]bool{}
	for _, x := range list {
		wanted[e.siteOf(x)] = true
	}
	var mine []*placed
	for _, p := range e.placed {
		n := 0
		number := 0
		for _, x := range p.sites {
			if wanted[x] {
				n++
				number = x.Number
			}
		}
		if n == 0 {
			continue
		}
		if n < len(p.sites) {
			return nil, fmt.Errorf("tracepoint %d shares its jump at %#x with another tracepoint: they are disabled together only when both end", number, p.plan.Addr)
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
func jumpAgain(st *process.Stopped, list []*placed) error {
	mv, err := threadMoves(st, list)
	if err != nil {
		return err
	}
	for _, p := range list {
		if mv.blocked[p] {
			return fmt.Errorf("tracepoint %d: a signal handler will return into the instructions at %#x: try again", p.sites[0].Number, p.plan.Addr)
		}
		for _, e := range p.edits {
			if !ours(st, e.Addr, e.Old) {
				return fmt.Errorf("tracepoint %d: the code at %#x has changed", p.sites[0].Number, e.Addr)
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
