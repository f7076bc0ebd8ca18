package runner

import (
	"context"

	"github.com/jalon-trace/jalon/internal/maps"
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
	// noStack are the maps with stacks that were not kept.
	noStack map[string]bool
}

// kinds are the kinds of maps by the function that updates them.
var kinds = map[string]sema.MapKind{
	"count": sema.MapCount, "sum": sema.MapAvg, "avg": sema.MapAvg, "stats": sema.MapStats, "min": sema.MapMin, "max": sema.MapMax,
	"hist": sema.MapHist, "lhist": sema.MapLinear,
}

func newSiteMaps(list []*plan.SiteMap, limit int64) *siteMaps {
	m := &siteMaps{list: list, decls: map[string]*sema.Map{}, full: map[string]uint64{}, noStack: map[string]bool{}}
	for _, k := range list {
		d := &sema.Map{Name: k.Name, Kind: kinds[k.Fn], Unsigned: !k.Value.Signed, Bits: k.K, Low: k.Low, High: k.High, Step: k.Step, Slots: 1}
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
		m.decls[k.Name] = d
	}
	return m
}

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

// kernelStack returns the frames of a stack in a key.
func (s *running) kernelStack(number uint64) (frames []printf.Frame) {
	if s.sess == nil || number == 0 {
		return nil
	}
	return shownFrames(s.sess.KernelStack(number), s.program.Config.Bool("show_debug_info"))
}

// actions gives a tracepoint the updates of its site.
func (m *siteMaps) actions(tp *tracepoint.Tracepoint, list []plan.Update) {
	for _, u := range list {
		tp.Actions = append(tp.Actions, sema.Action{Map: m.decls[u.Map.Name], Do: sema.Update, Key: u.Key, Value: u.Value, If: u.If, From: u.From})
	}
	if len(list) > 0 {
		tp.NoRecord, tp.Collect = true, nil
	}
}

// load reads the maps of the sites into the machine's. It is called before a probe that runs in jalon itself.
func (s *running) load() {
	if len(s.maps.list) == 0 || s.sess == nil || !s.known {
		return
	}
	read := map[string]maps.Merged{}
	f := func() {
		clear(s.maps.full)
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
	}
	if s.sess.Look(context.Background(), f) != nil {
		select {
		case <-s.over:
			f()
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
