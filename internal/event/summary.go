package event

import "time"

// SiteSummary is what happened at one site.
type SiteSummary struct {
	Schema   *Schema
	Tactic   string // how the site is reached; "" if unknown
	Recorded uint64 // records read
	False    uint64 // the condition was false
	Faults   uint64 // the condition could not be evaluated and was taken as false
	Lost     uint64 // the ring was full
	// Missed counts the hits for which the kernel did not run our program, because
	// it was running on that CPU already; which would have passed is not known.
	Missed uint64
	// Overwritten: counters had values that the code at the site cannot have written;
	// those are given as zero.
	Overwritten bool
	// Cost is the mean time of a hit in our program, when it was measured.
	Cost time.Duration
}

// Hits is how often the site was reached.
func (s *SiteSummary) Hits() uint64 { return s.Recorded + s.False + s.Faults + s.Lost + s.Missed }

// Summary is what happened in a whole trace.
type Summary struct {
	Sites []SiteSummary
	// Torn counts records whose thread was killed while it wrote them; which
	// site's they were is not known. Corrupt counts the times that the traced
	// program overwrote a ring. Late counts the events shown after a younger one.
	Torn, Corrupt, Late uint64
	// Unshown counts the events that were recorded and not shown, because the user
	// waited for the end.
	Unshown      uint64
	Pause        time.Duration // for how long the program was stopped in all
	Pauses       int           // in so many stops
	LongestPause time.Duration
	Duration     time.Duration // of the trace
	// Outcome is the end of the program or trace: "exited with status 0", "killed by SIGKILL", "detached"; ""
	// if unknown.
	Outcome string
}
