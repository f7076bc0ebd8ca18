package jalon

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/session"
)

// Count has the numbers of one site. Numbers that the traced program has overwritten are 0, and Overwritten
// is set.
type Count struct {
	Tracepoint int  // its number, from 1; 0 in a Result
	Enabled    bool // false in a Result
	Site       *Schema
	Tactic     string // how the site is patched or attached

	Recorded uint64 // hits whose record was read
	False    uint64 // hits whose condition was false
	Faults   uint64 // hits whose condition could not be evaluated and counts as false
	Lost     uint64 // hits that had no room in the ring
	Replaced uint64 // with Options.Overwrite: records that were not read: newer ones have replaced them, or the ring still has them
	Computed uint64 // hits that left no record: Options.Aggregate
	Unpaired uint64 // returns whose entry was not seen, where $elapsed or @entry needed it
	Left     uint64 // calls that were left without a return, as far as later calls have shown it
	Missed   uint64 // hits at which the kernel did not run the hit program

	Cost        time.Duration // mean time of the hit program per hit, if measured
	Overwritten bool
}

// Hits returns how often the site was reached.
func (c *Count) Hits() uint64 {
	return c.Recorded + c.False + c.Faults + c.Lost + c.Missed + c.Replaced + c.Computed
}

func newCount(s *event.SiteSummary) Count {
	return Count{
		Site: newSchema(s.Schema), Tactic: s.Tactic,
		Recorded: s.Recorded, False: s.False, Faults: s.Faults, Lost: s.Lost, Replaced: s.Replaced, Computed: s.Computed, Missed: s.Missed, Unpaired: s.Unpaired, Left: s.Left,
		Cost: s.Cost, Overwritten: s.Overwritten,
	}
}

// Result describes a trace that has ended.
type Result struct {
	Sites   []Count
	Armed   int           // how many sites were armed
	ToArmed time.Duration // from the start until the sites were armed
	Time    time.Duration // of the whole trace

	// Torn counts records whose thread was killed while it wrote them, or left the hit by siglongjmp; Corrupt
	// counts how often the program overwrote a ring; Late counts events shown after a younger one; Unshown counts recorded events that
	// the output had not taken when the trace ended; Dropped counts events that were not read from Events
	// in time.
	Torn, Corrupt, Late, Unshown, Dropped uint64
	Printed                               uint64 // events that the output has taken
	// TornParts counts the parts of rings that could not be read with Options.Overwrite: threads were writing to them.
	TornParts uint64
	// CompleteFrom is from which time on all events are there with Options.Overwrite, CLOCK_MONOTONIC in nanoseconds as in Event.Time: of the
	// older ones, threads that moved between CPUs may miss some. 0: nothing was overwritten.
	CompleteFrom int64
	// Waits counts the times that hits have waited for room in a ring, with Options.Wait.
	Waits uint64

	Pause, LongestPause time.Duration // time for which the program was stopped
	Pauses              int
	PauseToArmed        time.Duration // that until the sites were armed

	ClockError time.Duration // by which times may be too early with [Coarse]

	// Outcome describes the end of the process in words. Ended is false if the process still runs;
	// otherwise it ended with ExitCode, or by Signal if that is not 0.
	Outcome  string
	Ended    bool
	ExitCode int
	Signal   syscall.Signal

	// Variables are the trace state variables of files that were read ([ReadFile]), and Failed counts the expressions of teval that
	// could not be evaluated.
	Variables []Variable
	Failed    uint64

	summary event.Summary
	maps    []session.MapResult
}

// Variable is a trace state variable at the end of a trace.
type Variable struct {
	Name           string // without the dollar
	Initial, Value int64
}

// Text returns the summary that "jalon trace" prints.
func (r *Result) Text() string {
	sum := r.summary
	sum.Printed = r.Printed
	return r.variablesText() + format.SummaryText(&sum)
}

// variablesText is the table of trace state variables, as GDB's "info tvariables" shows it.
func (r *Result) variablesText() string {
	if len(r.Variables) == 0 {
		return ""
	}
	rows := [][]string{{"variable", "initial", "current"}}
	for _, v := range r.Variables {
		rows = append(rows, []string{"$" + v.Name, strconv.FormatInt(v.Initial, 10), strconv.FormatInt(v.Value, 10)})
	}
	text := string(format.Table(rows, func(column int) bool { return column > 0 }))
	if r.Failed > 0 {
		text += fmt.Sprintf("%d times an expression of teval could not be evaluated\n", r.Failed)
	}
	return text
}

func newResult(res *session.Result) *Result {
	sum := &res.Summary
	r := &Result{
		Armed: res.Sites, ToArmed: res.Armed, Time: sum.Duration,
		Torn: sum.Torn, TornParts: sum.TornParts, CompleteFrom: sum.CompleteFrom, Waits: sum.Waits, Corrupt: sum.Corrupt, Late: sum.Late, Unshown: sum.Unshown, Printed: sum.Printed,
		Pause: sum.Pause, LongestPause: sum.LongestPause, Pauses: sum.Pauses, PauseToArmed: res.PauseToArmed, ClockError: sum.ClockError,
		Outcome: sum.Outcome, Ended: !res.Status.Detached, ExitCode: res.Status.Code, Signal: res.Status.Signal,
		summary: *sum, maps: res.Maps, Failed: res.Failed,
	}
	for _, v := range res.Variables {
		r.Variables = append(r.Variables, Variable(v))
	}
	for i := range sum.Sites {
		r.Sites = append(r.Sites, newCount(&sum.Sites[i]))
	}
	return r
}
