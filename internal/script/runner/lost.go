package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/script/interp"
)

// lost reports the events that the script did not get, at its end.
func (s *running) lost(sum *event.Summary) {
	var lost, missed, faults uint64
	for i := range sum.Sites {
		lost, missed, faults = lost+sum.Sites[i].Lost, missed+sum.Sites[i].Missed, faults+sum.Sites[i].Faults
	}
	s.reportLost(lost + sum.Unshown + sum.Torn)
	if missed > 0 {
		s.warn(fmt.Sprintf("the kernel did not run probes at %d hits: they interrupted the same probes", missed))
	}
	if sum.Pointers > 0 {
		s.warn(fmt.Sprintf("%d stacks in keys are by frame pointers, which may leave frames out: there was no call frame information of their processes yet", sum.Pointers))
	}
	if faults > 0 {
		s.warn(fmt.Sprintf("%d predicates or updates of maps could not be evaluated; they had no effect", faults))
	}
}

// reportLost reports the events that were lost since the last report, of those lost so far.
func (s *running) reportLost(sofar uint64) {
	n := sofar - min(s.lostBefore, sofar)
	s.lostBefore = max(s.lostBefore, sofar)
	switch {
	case n == 0:
	case s.opt.JSON:
		fmt.Fprintf(s.opt.Out, "{\"type\": \"lost_events\", \"data\": {\"events\": %d}}\n", n)
	default:
		fmt.Fprintf(s.opt.Err, "Lost %d events\n", n)
	}
}

// lostEvery is the time between two reports of lost events.
const lostEvery = time.Second

// watchLost reports lost events while the script runs.
func (s *running) watchLost(ctx context.Context) {
	clock := time.NewTicker(lostEvery)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
		list, err := s.sess.Status(ctx)
		if err != nil {
			continue // the session is about to end
		}
		lost := uint64(0)
		for i := range list {
			lost += list[i].Lost
		}
		full := map[string]bool{}
		if s.sess.Look(ctx, func() { s.fullMaps(full) }) != nil {
			continue
		}
		s.machine.Exclusive(func() { s.reportLost(lost); s.reportFull(full) })
	}
}

// fullMaps finds the maps at the sites that had no room for a key.
func (s *running) fullMaps(full map[string]bool) {
	if len(s.maps.list) == 0 {
		return
	}
	_ = s.sess.Maps(func(name string, r *maps.Reader, _ bool) { // without maps none is full
		full[name] = full[name] || r.NoRoom() > 0
	})
}

// reportFull reports the maps that are full, once each.
func (s *running) reportFull(full map[string]bool) {
	for _, k := range s.maps.list {
		if full[k.Name] && !s.maps.reported[k.Name] {
			s.maps.reported[k.Name] = true
			d := s.maps.decls[k.Name]
			most := d.Limit
			if most == 0 {
				most = d.Slots
			}
			interp.Full(s.machine, k, most)
		}
	}
}

func (s *running) warn(text string) {
	if s.opt.Warn != nil {
		s.opt.Warn(text)
	}
}
