package runner

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/event"
)

// lost reports the events that the script did not get.
func (s *running) lost(sum *event.Summary) {
	var lost, missed, faults uint64
	for i := range sum.Sites {
		lost, missed, faults = lost+sum.Sites[i].Lost, missed+sum.Sites[i].Missed, faults+sum.Sites[i].Faults
	}
	lost += sum.Unshown + sum.Torn
	if lost > 0 && s.opt.JSON {
		fmt.Fprintf(s.opt.Out, "{\"type\": \"lost_events\", \"data\": {\"events\": %d}}\n", lost)
	} else if lost > 0 {
		fmt.Fprintf(s.opt.Err, "Lost %d events\n", lost)
	}
	if missed > 0 {
		s.warn(fmt.Sprintf("the kernel did not run probes at %d hits: they interrupted the same probes", missed))
	}
	if faults > 0 {
		s.warn(fmt.Sprintf("%d predicates or updates of maps could not be evaluated; they had no effect", faults))
	}
}

func (s *running) warn(text string) {
	if s.opt.Warn != nil {
		s.opt.Warn(text)
	}
}
