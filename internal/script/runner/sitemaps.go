package runner

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/event"
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
	full  map[string]fullMap
	asked map[string]int // elements that a map may have
	// chosen are the maps for which the script says so.
	chosen map[string]bool
	// reported are the maps of which it was reported that they are full.
	reported map[string]bool
	// noStack are the maps with stacks that were not kept, frames those that were.
	noStack map[string]bool
	frames  map[uint64][]printf.Frame
	owners  map[uint64]int // the processes of stacks in keys of the kernel
	names   []string       // of sites, by the numbers that keys have
	last    bool           // they were loaded when nothing could change any more
	// before has what maps of numbers had when they were loaded last, by the engine.
	before map[bool]map[string]maps.Merged
	// uncleared clear maps for which that was not possible, since the session was about to end.
	uncleared []func()

	mu      sync.Mutex
	retired map[string]maps.Merged // of threads that have ended
	cells   cellMaps
}

// kinds are the kinds of maps by the function that updates them.
var kinds = map[string]sema.MapKind{
	"count": sema.MapCount, "sum": sema.MapAvg, "avg": sema.MapAvg, "stats": sema.MapStats, "min": sema.MapMin, "max": sema.MapMax,
	"hist": sema.MapHist, "lhist": sema.MapLinear,
}

func newSiteMaps(list []*plan.SiteMap, limit int64) *siteMaps {
	m := &siteMaps{list: list, decls: map[string]*sema.Map{}, full: map[string]fullMap{}, asked: map[string]int{}, chosen: map[string]bool{}, reported: map[string]bool{}, noStack: map[string]bool{}, retired: map[string]maps.Merged{}, cells: newCellMaps()}
	for _, k := range list {
		d := &sema.Map{Name: k.Name, Kind: kinds[k.Fn], Unsigned: !k.Value.Signed, Bits: k.K, Low: k.Low, High: k.High, Step: k.Step, Slots: 1, SetOnly: !k.Adds, Deletes: k.Deletes, Both: k.Both}
		if k.Sums {
			d.Kind, d.Unsigned = sema.MapSum, false
		}
		m.asked[k.Name] = int(min(limit, math.MaxInt32))
		m.chosen[k.Name] = k.Decl != nil || limit != sema.DefaultMapSlots
		if k.Decl != nil {
			m.asked[k.Name] = int(min(k.Decl.Max, math.MaxInt32))
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
			if d.Key[i].Kind = partKinds[k.Parts[i]]; d.Key[i].Kind != sema.KeyText && d.Key[i].Kind != sema.KeyComm {
				d.Key[i].Bytes = 0
			}
		}
		slots(d, k, m.asked[k.Name])
		m.decls[k.Name] = d
	}
	return m
}

// partKinds are the kinds of parts of keys.
var partKinds = map[byte]sema.KeyKind{
	plan.PartNumber: sema.KeyNumber, plan.PartText: sema.KeyText, plan.PartThread: sema.KeyThread, plan.PartStack: sema.KeyStack,
	plan.PartComm: sema.KeyComm, plan.PartProbe: sema.KeySite, plan.PartFunc: sema.KeySite,
}

// keyPart declares a part of a key.
func keyPart(t *types.Type) sema.KeyPart {
	switch t.Kind {
	case types.String:
		return sema.KeyPart{Kind: sema.KeyText, Bytes: 8 * interp.KeyWords(t)}
	case types.KStack:
		return sema.KeyPart{Kind: sema.KeyStack, Frames: int(t.Stack.Limit) + tracingFrames}
	case types.UStack:
		return sema.KeyPart{Kind: sema.KeyStack, Frames: int(t.Stack.Limit)}
	}
	return sema.KeyPart{}
}

// tracingFrames is how many frames of tracing itself a stack may begin with; they are not shown.
const tracingFrames = 8

// does are the actions of updates.
var does = map[plan.Do]sema.Do{
	plan.Add: sema.Update, plan.Set: sema.Set, plan.Delete: sema.Delete, plan.Keep: sema.Keep, plan.Leave: sema.Leave,
	plan.Begin: sema.Begin, plan.End: sema.End, plan.Taken: sema.Taken,
}

// actions gives a tracepoint what its site does.
func (m *siteMaps) actions(tp *tracepoint.Tracepoint, site *plan.Site) {
	for _, u := range site.Updates {
		a := sema.Action{Do: does[u.Do], Local: u.Local, After: u.After, Key: u.Key, Value: u.Value, If: u.If, From: u.From}
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
func (m *siteMaps) ended(th event.Thread, thread uint64, name string, r *maps.Reader) {
	d := m.decls[name]
	if d == nil {
		return
	}
	first, _ := d.Layout()
	for i, part := range d.Key {
		if part.Kind != sema.KeyThread && part.Kind != sema.KeyComm {
			continue
		}
		m.takeThread(d, r, first[i], thread, func(words []uint64) { setThread(words, part, th) })
	}
}

// takeThread takes what a map has of a thread, which is word `at` of keys, and puts it to that of ended threads, under the key with its name.
func (m *siteMaps) takeThread(d *sema.Map, r *maps.Reader, at int, thread uint64, name func(words []uint64)) {
	m.mu.Lock() // until the end: jalon may give back the slots otherwise, between finding an entry and taking its value
	defer m.mu.Unlock()
	for e := range r.Entries() {
		if e.Key[at] != thread {
			continue
		}
		if m.retired[d.Name] == nil {
			m.retired[d.Name] = maps.Merged{}
		}
		shown, of := e.Shown, slices.Clone(e.Key)
		value := r.Take(&e, d.Sums())
		name(e.Key[at:])
		m.retired[d.Name].Put(e.Key, value, shown, d.Sums(), d.Kind != sema.MapNumber)
		m.cells.ended(d, of, e.Key, m.retired[d.Name])
	}
}

// setThread puts a thread into a key.
func setThread(words []uint64, part sema.KeyPart, th event.Thread) {
	if part.Kind == sema.KeyThread {
		words[0] = uint64(th.Tid)
		return
	}
	var text [sema.CommBytes]byte
	copy(text[:], th.Comm)
	for i := range sema.CommBytes / 8 {
		words[i] = binary.LittleEndian.Uint64(text[8*i:])
	}
}

// elements are those of a map in one of the engines, or of ended threads.
type elements struct {
	maps.Merged
	kernel bool
	ended  bool // the parts that are threads have been replaced
}

// named is a map in whose keys threads have their numbers or names, and sites the numbers of their names.
func (s *running) named(d *sema.Map, parts string, list []elements) maps.Merged {
	s.maps.mu.Lock()
	defer s.maps.mu.Unlock()
	out := maps.Merged{}
	first, _ := d.Layout()
	for _, of := range append(list, elements{s.maps.cells.gone[d.Name], false, true}) {
		for _, t := range of.Merged {
			key := slices.Clone(t.Key)
			for i, part := range d.Key {
				switch w := key[first[i]:]; {
				case part.Kind == sema.KeySite:
					w[0] = s.siteName(parts[i], of.kernel, w[0])
				case of.kernel || of.ended || d.Both || part.Kind != sema.KeyThread && part.Kind != sema.KeyComm:
				default:
					setThread(w, part, s.sess.Thread(w[0]))
				}
			}
			out.Put(key, t.Value, t.Shown, d.Sums(), d.Kind != sema.MapNumber)
		}
	}
	return out
}

// siteName is the number, in siteMaps.names, of what a site is called in a key.
func (s *running) siteName(part byte, kernel bool, site uint64) uint64 {
	name := ""
	if x := s.sess.SiteOf(kernel, site); x != nil {
		if name = x.Place; part == plan.PartFunc {
			name = x.Function
		}
	}
	i := slices.Index(s.maps.names, name)
	if i < 0 {
		i = len(s.maps.names)
		s.maps.names = append(s.maps.names, name)
	}
	return uint64(i)
}

// clear clears a map. What sites have added since it was loaded stays, as the probe that clears the map has not seen it. Where
// sites set numbers too, or threads are in the keys, which may have ended, it is lost.
func (s *running) clear(name string) {
	if !s.traced {
		return
	}
	d := s.maps.decls[name]
	if d.Kind != sema.MapNumber {
		s.clearCells(d)
		return
	}
	i := slices.IndexFunc(s.maps.list, func(k *plan.SiteMap) bool { return k.Name == name })
	exact := i >= 0 && s.maps.list[i].Adds && !s.maps.list[i].Sets && !byThread(d)
	f := func() {
		s.maps.mu.Lock()
		delete(s.maps.retired, name)
		s.maps.mu.Unlock()
		_ = s.sess.Maps(func(n string, r *maps.Reader, kernel bool) { // without maps there are no elements
			switch {
			case n != name:
			case exact:
				r.Subtract(s.maps.before[kernel][name])
				delete(s.maps.before[kernel], name) // it may be cleared again before it is loaded
			default:
				r.Clear(!d.SetOnly)
			}
		})
	}
	if s.sess.Look(context.Background(), f) != nil { // the session ends: before the map is loaded once more
		s.maps.uncleared = append(s.maps.uncleared, f)
	}
}

// process is the process of a stack in a key.
func (m *siteMaps) process(number uint64) int { return m.owners[number] }

// stack is a stack in a key.
func (m *siteMaps) stack(number uint64) []printf.Frame { return m.frames[number] }

// name is the name of a site in a key.
func (m *siteMaps) name(number uint64) string {
	if number >= uint64(len(m.names)) {
		return ""
	}
	return m.names[number]
}

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
			case number>>32 != 0:
				s.maps.frames[number] = shownFrames(s.sess.KernelStack(number), lines)
				s.maps.owners[number] = s.sess.StackProcess(number)
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
		for _, clear := range s.maps.uncleared {
			clear()
		}
		s.maps.uncleared = nil
		found := map[string][]elements{}
		clear(s.maps.full)
		s.maps.frames, s.maps.owners = map[uint64][]printf.Frame{}, map[uint64]int{}
		clear(read)
		s.maps.before = map[bool]map[string]maps.Merged{false: {}, true: {}}
		for _, d := range s.maps.decls { // also of maps that have no table in the process any more
			s.maps.mu.Lock()
			s.maps.loadEnded(d)
			s.maps.mu.Unlock()
		}
		_ = s.sess.Maps(func(name string, r *maps.Reader, kernel bool) { // without maps there are no elements
			d := s.maps.decls[name]
			if d == nil {
				return
			}
			m := s.maps.loadTable(tableOf{name, kernel}, r, d)
			if d.Kind == sema.MapNumber {
				s.maps.before[kernel][name] = m
			}
			found[name] = append(found[name], elements{m, kernel, false})
			s.maps.full[name] = s.maps.full[name].add(r)
		})
		for _, k := range s.maps.list {
			d := s.maps.decls[k.Name]
			read[k.Name] = s.named(d, k.Parts, found[k.Name])
			s.stacks(d, read[k.Name])
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
