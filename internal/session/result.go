package session

import (
	"time"

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
	r := &Result{Sites: len(s.sites), Armed: s.armed}
	select {
	case <-s.p.Done():
		r.Status = s.p.Wait()
	default:
		r.Status.Detached = true // or our end will do it
	}
	sum := &r.Summary
	sum.Duration = time.Since(s.started)
	sum.Outcome = r.Status.String()
	sum.Pauses = len(s.pauses)
	for _, p := range s.pauses {
		sum.Pause += p
		sum.LongestPause = max(sum.LongestPause, p)
	}
	if s.drain != nil {
		st := s.drain.reader.Stats()
		sum.Torn, sum.Corrupt, sum.Late = st.Torn, st.Corrupt, s.drain.merger.Late
		sum.Sites = event.CountSites(s.shared.mem, s.drain.decoder.Schemas, s.drain.recorded)
		for i := range sum.Sites {
			sum.Sites[i].Tactic = s.tacticOf(sum.Sites[i].Schema.SiteID)
		}
	}
	return r
}

func (s *Session) tacticOf(id uint32) string {
	if int(id) < len(s.sites) {
		return s.sites[id].tactic
	}
	return ""
}
