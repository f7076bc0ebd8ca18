package event

import (
	"time"

	"github.com/jalon-trace/jalon/internal/ring"
)

// maxRate is more hits than a CPU can have in a nanosecond.
const maxRate = 5

// Counters reads the counters of sites. They lie in memory that a traced program can
// write to. A counter that falls, or that is larger than what could be reached since
// the counters were made, was overwritten.
type Counters struct {
	mem   *ring.Shared
	since time.Time
	sites []siteCounts // by site id
}

// siteCounts is what was read of a site's counters so far.
type siteCounts struct {
	values      [counterKinds]uint64
	overwritten bool
}

// The counters of a site: CounterFalse, CounterCondFault, CounterLost.
const counterKinds = 3

// NewCounters starts to watch the counters of mem, which are zero.
func NewCounters(mem *ring.Shared) *Counters {
	return &Counters{mem: mem, since: time.Now(), sites: make([]siteCounts, mem.Sites())}
}

// Sample reads the counters of the sites of schemas (by site id; nil ones are left out).
func (c *Counters) Sample(schemas []*Schema) {
	perCPU := uint64(time.Since(c.since)+time.Second) * maxRate
	for id, schema := range schemas {
		if schema == nil || id >= len(c.sites) {
			continue
		}
		site := &c.sites[id]
		for kind := range site.values {
			now, largest := c.mem.Counters(uint32(id), kind)
			if largest > perCPU || now < site.values[kind] {
				site.overwritten = true
				continue
			}
			site.values[kind] = now
		}
	}
}

// Sites are the counts of the sites of schemas; recorded holds the numbers of records
// read, by site id.
func (c *Counters) Sites(schemas []*Schema, recorded []uint64) []SiteSummary {
	c.Sample(schemas)
	var out []SiteSummary
	for id, schema := range schemas {
		if schema == nil || id >= len(c.sites) {
			continue
		}
		site := &c.sites[id]
		sum := SiteSummary{Schema: schema, Overwritten: site.overwritten}
		if !site.overwritten {
			sum.False, sum.Faults, sum.Lost = site.values[ring.CounterFalse], site.values[ring.CounterCondFault], site.values[ring.CounterLost]
		}
		if id < len(recorded) {
			sum.Recorded = recorded[id]
		}
		out = append(out, sum)
	}
	return out
}

// StampSlack is how far the time stamp counters of CPUs may differ.
const StampSlack = time.Millisecond

// Span bounds stamps; the zero value bounds nothing.
type Span struct{ From, To uint64 }

// Holds reports whether a stamp lies in the span.
func (s Span) Holds(stamp uint64) bool { return s.To == 0 || s.From <= stamp && stamp <= s.To }
