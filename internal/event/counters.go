package event

import (
	"time"

	"github.com/jalon-trace/jalon/internal/ring"
)

// maxRate is an upper limit of hits per nanosecond on a CPU.
const maxRate = 5

// Counters reads the counters of sites, which are in memory that a traced program can write. If a counter
// falls, or rises faster than possible, it was overwritten.
type Counters struct {
	mem   *ring.Shared
	since time.Time
	sites []siteCounts // by site id
	rings []ringCount  // by ring
}

// ringCount is how many hits have found a ring full.
type ringCount struct {
	lost        uint64
	overwritten bool
}

// siteCounts has the last values of a site's counters.
type siteCounts struct {
	values      [counterKinds]uint64
	overwritten bool
}

// The counters of a site: CounterFalse, CounterCondFault, CounterLost, CounterRecorded.
const counterKinds = 4

// NewCounters starts reading the counters of mem, which are zero.
func NewCounters(mem *ring.Shared) *Counters {
	return &Counters{mem: mem, since: time.Now(), sites: make([]siteCounts, mem.Sites())}
}

// Dropped is how many hits have found a ring full, and whether the program has overwritten that count: it is then the last that was
// possible.
func (c *Counters) Dropped(ring int) (lost uint64, overwritten bool) {
	for len(c.rings) <= ring {
		c.rings = append(c.rings, ringCount{})
	}
	x, now := &c.rings[ring], c.mem.Dropped(ring)
	if now < x.lost || now > c.mostHits() {
		x.overwritten = true
	} else {
		x.lost = now
	}
	return x.lost, x.overwritten
}

// mostHits is how many hits a CPU can have had.
func (c *Counters) mostHits() uint64 { return uint64(time.Since(c.since)+time.Second) * maxRate }

// Sample reads the counters of the sites of schemas (by site id; nil entries are skipped).
func (c *Counters) Sample(schemas []*Schema) {
	perCPU := c.mostHits()
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

// Sites returns the counts of the sites of schemas; recorded has the numbers of records read, by site id.
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
		switch {
		case site.overwritten:
		case schema.NoRecord:
			sum.Computed, sum.Lost = site.values[ring.CounterComputed], 0
		case c.mem.Overwrites():
			sum.Replaced = site.values[ring.CounterRecorded] - min(site.values[ring.CounterRecorded], sum.Recorded)
		}
		out = append(out, sum)
	}
	return out
}

// StampSlack is the maximum difference between the time stamp counters of CPUs.
const StampSlack = time.Millisecond

// Span is a range of valid stamps. The zero value means no limit.
type Span struct{ From, To uint64 }

// Holds reports whether a stamp is in the span.
func (s Span) Holds(stamp uint64) bool { return s.To == 0 || s.From <= stamp && stamp <= s.To }
