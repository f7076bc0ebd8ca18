package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/plan"
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
		full := map[string]fullMap{}
		if s.sess.Look(ctx, func() { s.fullMaps(full) }) != nil {
			continue
		}
		s.machine.Exclusive(func() { s.reportLost(lost); s.reportFull(full) })
	}
}

// fullMap is a map at the sites of which updates had no effect.
type fullMap struct {
	updates  uint64
	elements int  // that a table of them has, or may have
	room     bool // there is room for many more
}

// add takes a table of the map into account.
func (f fullMap) add(r *maps.Reader) fullMap {
	n := r.NoRoom()
	if n == 0 {
		return f
	}
	f.updates += n
	elements := r.Shape().Limit
	if elements == 0 {
		elements = int(r.Shown())
	}
	if f.elements = max(f.elements, elements); r.Shape().Limit > 0 {
		f.room = r.Left() > int64(elements/8) // a little is given back late: see session's rooms
	}
	return f
}

// fullMaps finds these maps.
func (s *running) fullMaps(full map[string]fullMap) {
	if len(s.maps.list) == 0 {
		return
	}
	_ = s.sess.Maps(func(name string, r *maps.Reader, _ bool) { // without maps none is full
		full[name] = full[name].add(r)
	})
}

// smallMaps reports the maps that have less room than the script asks for: their tables would be too large. It is called on the session's goroutine.
func (s *running) smallMaps() {
	_ = s.sess.Maps(func(name string, r *maps.Reader, _ bool) { // an error: the process has ended, and has no maps
		shape, asked, d := r.Shape(), s.maps.asked[name], s.maps.decls[name]
		if d == nil || shape.Single || !s.maps.chosen[name] {
			return
		}
		most := asked
		switch {
		case shape.Limit > 0:
			most = shape.Limit
		case shape.Slots < d.Slots:
			most = shape.Slots / 4
		}
		if most < asked {
			s.warn(fmt.Sprintf("the map %s has room for %d elements, not %d: its table has %d MB already", name, most, asked, shape.Bytes()>>20))
		}
	})
}

// reportFull reports the maps that are full, once each.
func (s *running) reportFull(full map[string]fullMap) {
	for _, k := range s.maps.list {
		if f := full[k.Name]; f.updates > 0 && !s.maps.reported[k.Name] {
			if why := s.maps.why(k, f); why != interp.Together { // these are reported at the end
				s.maps.reported[k.Name] = true
				interp.Full(s.machine, k, f.elements, why)
			}
		}
	}
}

// why is the reason why updates had no effect.
func (m *siteMaps) why(k *plan.SiteMap, f fullMap) interp.NoRoom {
	switch {
	case k.Scalar || f.room:
		return interp.Together
	case k.Deletes && f.elements < m.asked[k.Name]:
		return interp.Deleted
	}
	return interp.AllTaken
}

// lostTexts say why updates are lost.
var lostTexts = map[interp.NoRoom]string{
	interp.AllTaken: "the map %s was full: %d updates are lost; config = { max_map_keys = N } makes room",
	interp.Deleted:  "the map %s was full of deleted elements: %d updates are lost; config = { max_map_keys = N } makes room",
	interp.Together: "the map %s: %d updates are lost, of elements that other hits entered or changed at the same moment",
}

// lostUpdates is what is reported at the end about these maps.
func (m *siteMaps) lostUpdates(k *plan.SiteMap, f fullMap) string {
	return fmt.Sprintf(lostTexts[m.why(k, f)], k.Name, f.updates)
}

func (s *running) warn(text string) {
	if s.opt.Warn != nil {
		s.opt.Warn(text)
	}
}
