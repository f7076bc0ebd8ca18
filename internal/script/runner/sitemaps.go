package runner

import (
	"context"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// siteMaps are the maps that sites update, in the memory that jalon has in common with the process.
type siteMaps struct {
	list  []*plan.SiteMap
	decls map[string]*sema.Map
	full  map[string]uint64 // updates that found no room
	// noStack are the maps with stacks that were not kept, frames those that were.
	noStack map[string]bool
	frames  map[uint64][]printf.Frame
	last    bool // they were loaded when nothing could change any more

	mu      sync.Mutex
	retired map[string]maps.Merged // of threads that have ended
}

// kinds are the kinds of maps by the function that updates them.
var kinds = map[string]sema.MapKind{
	"count": sema.MapCount, "sum": sema.MapAvg, "avg": sema.MapAvg, "stats": sema.MapStats, "min": sema.MapMin, "max": sema.MapMax,
	"hist": sema.MapHist, "lhist": sema.MapLinear,
}

func newSiteMaps(list []*plan.SiteMap, limit int64) *siteMaps {
	m := &siteMaps{list: list, decls: map[string]*sema.Map{}, full: map[string]uint64{}, noStack: map[string]bool{}, retired: map[string]maps.Merged{}}
	for _, k := range list {
		d := &sema.Map{Name: k.Name, Kind: kinds[k.Fn], Unsigned: !k.Value.Signed, Bits: k.K, Low: k.Low, High: k.High, Step: k.Step, Slots: 1, SetOnly: !k.Adds}
		for int64(d.Slots) < limit {
			d.Slots *= 2
		}
		switch {
		case k.Scalar:
		case k.Key.Kind == types.Tuple:
			for _, f := range k.Key.Fields {
				d.Key = append(d.Key, keyPart(f.Type))
			}
		default:
			d.Key = []sema.KeyPart{keyPart(k.Key)}
		}
		for i := range d.Key {
			d.Key[i].Kind = partKinds[k.Parts[i]]
		}
		m.decls[k.Name] = d
	}
	return m
}

// partKinds are the kinds of parts of keys.
var partKinds = map[byte]sema.KeyKind{plan.PartNumber: sema.KeyNumber, plan.PartText: sema.KeyText, plan.PartThread: sema.KeyThread, plan.PartStack: sema.KeyStack}

// keyPart declares a part of a key.
func keyPart(t *types.Type) sema.KeyPart {
	switch t.Kind {
	case types.String:
		return sema.KeyPart{Kind: sema.KeyText, Bytes: 8 * interp.KeyWords(t)}
	case types.KStack:
		return sema.KeyPart{Kind: sema.KeyStack, Frames: int(t.Stack.Limit) + tracingFrames}
	}
	return sema.KeyPart{}
}

// tracingFrames is how many frames of tracing itself a stack may begin with; they are not shown.
const tracingFrames = 8

// does are the actions of updates.
var does = map[plan.Do]sema.Do{plan.Add: sema.Update, plan.Set: sema.Set, plan.Delete: sema.Delete, plan.Keep: sema.Keep, plan.Leave: sema.Leave}

// actions gives a tracepoint what its site does.
func (m *siteMaps) actions(tp *tracepoint.Tracepoint, site *plan.Site) {
	for _, u := range site.Updates {
		a := sema.Action{Do: does[u.Do], Local: u.Local, Key: u.Key, Value: u.Value, If: u.If, From: u.From}
		if u.Map != nil {
			a.Map = m.decls[u.Map.Name]
		}
		tp.Actions = append(tp.Actions, a)
	}
	for _, k := range m.list {
		tp.Maps = append(tp.Maps, m.decls[k.Name])
	}
	if site.NoRecord {
		tp.NoRecord, tp.Collect = true, nil
	}
}

// ended takes what a thread has in a map out of it: another one may get its thread pointer.
func (m *siteMaps) ended(tid int, thread uint64, name string, r *maps.Reader) {
	d := m.decls[name]
	if d == nil {
		return
	}
	first, _ := d.Layout()
	for i, part := range d.Key {
		if part.Kind != sema.KeyThread {
			continue
		}
		for e := range r.Entries() {
			if e.Key[first[i]] != thread {
				continue
			}
			m.mu.Lock()
			if m.retired[name] == nil {
				m.retired[name] = maps.Merged{}
			}
			shown := e.Shown
			value := r.Take(&e, d.Sums())
			e.Key[first[i]] = uint64(tid)
			m.retired[name].Put(e.Key, value, shown, d.Sums(), d.Kind != sema.MapNumber)
			m.mu.Unlock()
		}
	}
}

// threads is a map in whose keys threads have their numbers.
func (s *running) threads(d *sema.Map, all maps.Merged) maps.Merged {
	s.maps.mu.Lock()
	defer s.maps.mu.Unlock()
	out := maps.Merged{}
	first, _ := d.Layout()
	for _, list := range []maps.Merged{s.maps.retired[d.Name], all} {
		for _, t := range list {
			key := slices.Clone(t.Key)
			for i, part := range d.Key {
				if w := &key[first[i]]; part.Kind == sema.KeyThread && *w >= sema.LeastThread {
					*w = uint64(s.sess.Thread(*w))
				}
			}
			out.Put(key, t.Value, t.Shown, d.Sums(), d.Kind != sema.MapNumber)
		}
	}
	return out
}

// clear clears a map of numbers.
func (s *running) clear(name string) {
	if !s.traced {
		return
	}
	d := s.maps.decls[name]
	f := func() {
		s.maps.mu.Lock()
		delete(s.maps.retired, name)
		s.maps.mu.Unlock()
		_ = s.sess.Maps(func(n string, r *maps.Reader) { // without maps there are no elements
			if n == name {
				r.Clear(!d.SetOnly)
			}
		})
	}
	_ = s.sess.Look(context.Background(), f) // an error: the session has ended, and jalon's elements are those of the map
}

// stack is a stack in a key.
func (m *siteMaps) stack(number uint64) []printf.Frame { return m.frames[number] }

// stacks reads the stacks in the keys of a map.
func (s *running) stacks(d *sema.Map, all maps.Merged) {
	lines := s.program.Config.Bool("show_debug_info")
	first, _ := d.Layout()
	for i, part := range d.Key {
		if part.Kind != sema.KeyStack {
			continue
		}
		for _, t := range all {
			switch number := t.Key[first[i]]; {
			case number == 0 || s.maps.frames[number] != nil:
			case number&ring.StackKnown != 0:
				s.maps.frames[number] = shownFrames(s.sess.Stack(number), lines)
			default:
				s.maps.frames[number] = shownFrames(s.sess.KernelStack(number), lines)
			}
		}
	}
}

// load reads the maps of the sites into the machine's. It is called before a probe that runs in jalon itself.
func (s *running) load() {
	if len(s.maps.list) == 0 || !s.traced || !s.known || s.maps.last {
		return
	}
	read := map[string]maps.Merged{}
	f := func() {
		clear(s.maps.full)
		s.maps.frames = map[uint64][]printf.Frame{}
		clear(read)
		_ = s.sess.Maps(func(name string, r *maps.Reader) { // without maps there are no elements
			d := s.maps.decls[name]
			if d == nil {
				return
			}
			if read[name] == nil {
				read[name] = maps.Merged{}
			}
			read[name].Add(r, d.Sums())
			s.maps.full[name] += r.NoRoom()
		})
		for name, d := range s.maps.decls {
			read[name] = s.threads(d, read[name])
			s.stacks(d, read[name])
		}
	}
	if s.sess.Look(context.Background(), f) != nil {
		select {
		case <-s.over:
			f()
			s.maps.last = true
		default: // the session is about to end: the maps are as they were last
			return
		}
	}
	for _, k := range s.maps.list {
		s.machine.Load(k, s.maps.elements(k.Name, read[k.Name]))
	}
}

// elements are the elements of a map: what all engines, CPUs and slots of a key have together.
func (m *siteMaps) elements(name string, all maps.Merged) (out []interp.SiteElem) {
	d := m.decls[name]
	first, _ := d.Layout()
	for _, t := range all {
		if d.Shows() && !t.Shown {
			continue
		}
		x := interp.SiteElem{Words: t.Value}
		for i, at := range first {
			x.Key = append(x.Key, t.Key[at:at+max(1, d.Key[i].Bytes/8)]...)
			if d.Key[i].Kind == sema.KeyStack && t.Key[at] == 0 {
				m.noStack[name] = true
			}
		}
		if d.Kind == sema.MapMin || d.Kind == sema.MapMax {
			x.Words[1] = d.Extreme(x.Words[1])
		}
		out = append(out, x)
	}
	return out
}
