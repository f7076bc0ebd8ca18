package event

import "time"

// SiteSummary has the numbers of one site.
type SiteSummary struct {
	Schema   *Schema
	Tactic   string // how the site is patched or attached; "" if unknown
	Reached  string // how the kernel comes to a kprobe: "by ftrace", "by a jump", ...; "" if unknown, and for other sites
	Recorded uint64 // records read
	False    uint64 // the condition was false
	Faults   uint64 // the condition could not be evaluated and was taken as false
	Lost     uint64 // the ring was full
	// Replaced counts the records that were not read: newer ones have replaced them, or the rings that are overwritten still
	// have them.
	Replaced uint64
	// Computed counts the hits that left no record and changed maps.
	Computed uint64
	// Unpaired counts the returns whose entry was not seen, where it was needed. Left counts the calls that were left
	// without a return, as far as later calls have shown it.
	Unpaired, Left uint64
	// Missed counts the hits at which the kernel did not run jalon's program, because it was already
	// running on that CPU. How many of them would have met the condition is not known.
	Missed uint64
	// Overwritten: counters had values that the code at the site cannot have written. They are reported as
	// zero.
	Overwritten bool
	// Cost is the mean time of a hit in jalon's program, if it was measured.
	Cost time.Duration
}

// Hits returns how often the site was reached.
func (s *SiteSummary) Hits() uint64 {
	return s.Recorded + s.False + s.Faults + s.Lost + s.Missed + s.Replaced + s.Computed
}

// Summary has the numbers of a whole trace.
type Summary struct {
	Sites []SiteSummary
	// Torn counts records whose thread was killed while it wrote them, or left the hit by siglongjmp; their
	// sites are not known. Corrupt counts how often the traced program overwrote a ring. Late counts the
	// events that were shown after a younger one.
	Torn, Corrupt, Late uint64
	// TornParts counts the parts of rings that are overwritten which could not be read.
	TornParts uint64
	// CompleteFrom is from which time on all events of rings that are overwritten were shown, CLOCK_MONOTONIC in nanoseconds; 0: all that came.
	CompleteFrom int64
	// Waits counts the times that hits have waited for room in a ring.
	Waits uint64
	// StacksFull counts the stacks that found no place in the table of stacks, so that their records have the frames.
	StacksFull uint64
	// KeysFull counts the stacks in keys that found no place, Pointers the hits whose stacks in keys are by frame pointers because there
	// was no call frame information of the process yet.
	KeysFull, Pointers uint64
	// Printed counts the events that were shown.
	Printed uint64
	// Unshown counts recorded events that were not shown because the user waited for the end.
	Unshown      uint64
	Pause        time.Duration // total time for which the program was stopped
	Pauses       int           // number of stops
	LongestPause time.Duration
	Duration     time.Duration // of the trace
	// Outcome is the end of the program or trace: "exited with status 0", "killed by SIGKILL", "detached"; ""
	// if unknown.
	Outcome string
	// ClockError is the time by which stamps may be earlier than their hits (ring.ClockCoarse).
	ClockError time.Duration
}
