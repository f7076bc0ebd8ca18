package jalon

import (
	"syscall"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/session"
)

// Count is what happened at one site. Numbers that the traced program has overwritten are 0,
// and Overwritten is set.
type Count struct {
	Tracepoint int  // its number, from 1; 0 in a Result
	Enabled    bool // false in a Result
	Site       *Schema
	Tactic     string // how the site is reached

	Recorded uint64 // hits whose record was read
	False    uint64 // hits whose condition was false
	Faults   uint64 // hits whose condition could not be evaluated: it counts as false
	Lost     uint64 // hits that had no room in the ring
	Missed   uint64 // hits for which the kernel did not run the hit program

	Cost        time.Duration // mean time of a hit in the hit program, where it was measured
	Overwritten bool
}

// Hits is how often the site was reached.
func (c *Count) Hits() uint64 { return c.Recorded + c.False + c.Faults + c.Lost + c.Missed }

func newCount(s *event.SiteSummary) Count {
	return Count{
		Site: newSchema(s.Schema), Tactic: s.Tactic,
		Recorded: s.Recorded, False: s.False, Faults: s.Faults, Lost: s.Lost, Missed: s.Missed,
		Cost: s.Cost, Overwritten: s.Overwritten,
	}
}

// Result is how a trace ended.
type Result struct {
	Sites   []Count
	Armed   int           // how many sites were armed
	ToArmed time.Duration // from the start to armed sites
	Time    time.Duration // of the whole trace

	// Torn counts records whose thread was killed while it wrote them, Corrupt how often the
	// program overwrote a ring, Late the events that were shown after a younger one, Unshown those
	// that were recorded and not shown because the end was waited for, Dropped those that Events
	// did not take in time.
	Torn, Corrupt, Late, Unshown, Dropped uint64

	Pause, LongestPause time.Duration // for how long the program was stopped
	Pauses              int

	// Outcome is the end of the process in words. Ended is false where it runs on; else it ended
	// with ExitCode, or by Signal if that is not 0.
	Outcome  string
	Ended    bool
	ExitCode int
	Signal   syscall.Signal

	summary event.Summary
}

// Text is the result as "jalon trace" shows it.
func (r *Result) Text() string { return format.SummaryText(&r.summary) }

func newResult(res *session.Result) *Result {
	sum := &res.Summary
	r := &Result{
		Armed: res.Sites, ToArmed: res.Armed, Time: sum.Duration,
		Torn: sum.Torn, Corrupt: sum.Corrupt, Late: sum.Late, Unshown: sum.Unshown,
		Pause: sum.Pause, LongestPause: sum.LongestPause, Pauses: sum.Pauses,
		Outcome: sum.Outcome, Ended: !res.Status.Detached, ExitCode: res.Status.Code, Signal: res.Status.Signal,
		summary: *sum,
	}
	for i := range sum.Sites {
		r.Sites = append(r.Sites, newCount(&sum.Sites[i]))
	}
	return r
}
