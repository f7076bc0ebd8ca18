package inproc

import "github.com/jalon-trace/jalon/internal/process"

// Outside stops all threads and adds those to seen that are outside of hit programs. If each thread has been since seen
// was empty, it calls f meanwhile: none of them completes a record any more that was begun before. quiet: none of them
// is in a hit program at this moment.
func (r *reclaimer) Outside(seen map[int]bool, f func(quiet bool) error) (all bool, err error) {
	err = r.target.stopped(func(st *process.Stopped) error {
		threads, err := st.Threads()
		if err != nil {
			return err
		}
		all = true
		quiet, tab, stacks := true, r.tables.get(), st.Stacks()
		for _, t := range threads {
			if inHit(tab, r.patches, t.Regs.PC()) || tab.returnsToCode(stacks.WithRedZone(t.Regs.SP())) {
				quiet = false
				all = all && seen[t.TID]
				continue
			}
			seen[t.TID] = true
		}
		if all {
			return f(quiet)
		}
		return nil
	})
	return all, err
}

// inHit reports whether a pc is in a hit program: in generated code, and not at the copy of a displaced instruction.
func inHit(tab *tables, p *patches, pc uint64) bool { return tab.inCode(pc) && !p.where(pc).Boundary }

// LearnThreads stops all threads, so that those are reported whose thread pointers have changed (OnThread).
func (e *Engine) LearnThreads() error {
	return e.target.stopped(func(st *process.Stopped) error {
		_, err := st.Threads()
		return err
	})
}
