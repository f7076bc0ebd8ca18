package session

import (
	"time"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
)

// Result is how a session ended.
type Result struct {
	Summary event.Summary
	Status  process.ExitStatus // of the traced program
	Sites   int
	Armed   time.Duration // from Options.Started to armed sites
}

func (s *Session) result() *Result {
	r := &Result{Sites: s.mine.Sites(), Armed: s.armed}
	if s.kern != nil {
		r.Sites += s.kern.Sites()
	}
	sum := &r.Summary
	sum.Duration = time.Since(s.started)
	r.Status.Detached = true // or our end will do it
	if s.p != nil {
		select {
		case <-s.p.Done():
			r.Status = s.p.Wait()
		default:
		}
		sum.Outcome = r.Status.String()
	}
	if s.watched != nil && s.watched.Ended() {
		sum.Outcome = "the process has ended"
	}
	if s.held != nil {
		r.Status = s.held.Status()
		sum.Outcome = r.Status.String()
	}
	sum.Pauses = len(s.pauses)
	for _, p := range s.pauses {
		sum.Pause += p
		sum.LongestPause = max(sum.LongestPause, p)
	}
	if s.drain == nil {
		return r
	}
	sum.Late = s.drain.Late()
	sum.Unshown = s.drain.Unshown()
	for _, src := range s.drain.Sources() {
		st := src.Stats()
		sum.Torn += st.Torn
		sum.Corrupt += st.Corrupt
		sum.Sites = append(sum.Sites, s.count(src)...)
	}
	return r
}

// count reads the counters of an engine's sites.
func (s *Session) count(src *drain.Source) []event.SiteSummary {
	sites := src.Sites()
	s.engineOf(src).Account(sites)
	return sites
}
