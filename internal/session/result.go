package session

import (
	"time"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
)

// Result describes how a session ended.
type Result struct {
	Summary event.Summary
	Status  process.ExitStatus // of the traced program
	Sites   int
	Armed   time.Duration // from Options.Started to armed sites
	// PauseToArmed is for how long the program was stopped in that time.
	PauseToArmed time.Duration
}

// Sites returns how many sites the session has had. It is called on the session's goroutine.
func (s *Session) Sites() int {
	n := s.mine.Engine.Sites()
	if s.kern.Engine != nil {
		n += s.kern.Engine.Sites()
	}
	return n
}

func (s *Session) result() *Result {
	r := &Result{Sites: s.Sites(), Armed: s.armed}
	sum := &r.Summary
	sum.Duration = time.Since(s.started)
	r.Status, sum.Outcome = s.subject.outcome()
	sum.Pauses = len(s.pauses)
	for i, p := range s.pauses {
		if i < s.pausesToArmed {
			r.PauseToArmed += p
		}
		sum.Pause += p
		sum.LongestPause = max(sum.LongestPause, p)
	}
	if d := s.records.Drain; d != nil {
		sum.Late, sum.Unshown = d.Late(), d.Unshown()
	}
	if s.coarse != nil {
		sum.ClockError = time.Duration(float64(s.coarse.Longest()) / float64(s.records.Clock.Ticks(time.Second)) * float64(time.Second))
	}
	for _, src := range s.records.Sources() {
		st := src.Stats()
		sum.Torn += st.Torn
		sum.TornParts += st.TornSubs
		sum.Corrupt += st.Corrupt
		sum.StacksFull += src.StacksFull()
		sum.Sites = append(sum.Sites, s.count(src)...)
	}
	return r
}

// count reads the counters of the sites of an engine.
func (s *Session) count(src *drain.Source) []event.SiteSummary {
	sites := src.Sites()
	if src.Kernel {
		s.kern.Engine.Account(sites)
	} else {
		s.mine.Engine.Account(sites)
	}
	return sites
}
