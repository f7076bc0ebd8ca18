package interp

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// siteTable is a map that sites update, as it was when it was read last.
type siteTable struct {
	*plan.SiteMap
	now []SiteElem
}

// SiteElem is an element of a map that sites update: the words of the parts of its key, in their order, and those of its
// value as sema.Map has them.
type SiteElem struct{ Key, Words []uint64 }

// clearSites clears maps at the sites, which probes have cleared here.
func clearSites(m *Machine) {
	m.mu.Lock()
	list := m.clearing
	m.clearing = nil
	m.mu.Unlock()
	for _, name := range list {
		m.opts.ClearSites(name)
	}
}

// loadSites loads the maps of the sites. It is called while no probe runs.
func loadSites(m *Machine) {
	if m.opts.Load != nil {
		m.opts.Load()
	}
}

// NoRoom is why an update of a map at the sites had no effect.
type NoRoom int

// The reasons.
const (
	AllTaken NoRoom = iota // the map has as many elements as it may have
	Deleted                // slots of deleted elements have not been given back yet
	Together               // other hits were entering the key, or changing the value
)

// Full reports that a map at the sites is full. It is called while no probe runs.
func Full(m *Machine, k *plan.SiteMap, elements int, why NoRoom) {
	switch {
	case k.At == nil:
	case why == Deleted:
		m.warn(k.At, mapWaits, k.Name)
	default:
		m.warn(k.At, mapFull, k.Name, elements)
	}
}

// SiteMaps is the number of maps that sites update.
func (m *Machine) SiteMaps() int { return len(m.sites) }

// Load gives a map what the sites have in it.
func (m *Machine) Load(s *plan.SiteMap, elems []SiteElem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sites == nil {
		m.sites = map[string]*siteTable{}
	}
	st := m.sites[s.Name]
	if st == nil {
		st = &siteTable{SiteMap: s}
		m.sites[s.Name] = st
	}
	st.now = elems
	st.fill(m)
}

// fill makes the elements of the table anew. Stacks with different numbers may be equal up to the limit of frames: what was
// counted for each adds up.
func (st *siteTable) fill(m *Machine) {
	t := m.maps[st.Name]
	clear(t.elems)
	t.k, t.low, t.high, t.step = st.K, st.Low, st.High, st.Step
	for _, e := range st.now {
		c := cellOf(st.Fn, e.Words)
		if c == nil {
			continue
		}
		c.key = keyOf(m, e.Key, t.Key, st.Parts)
		id := string(encode(nil, c.key))
		if other := t.elems[id]; other != nil {
			other.join(c, st.Fn, t.Value.Signed)
			continue
		}
		t.elems[id] = c
	}
}

// join takes the updates of another element of the same key into account.
func (c *cell) join(other *cell, fn string, signed bool) {
	c.count += other.count
	switch fn {
	case "":
		c.v.n += other.v.n
	case "min":
		if compare(other.total, c.total, signed) < 0 {
			c.total = other.total
		}
	case "max":
		if compare(other.total, c.total, signed) > 0 {
			c.total = other.total
		}
	case "hist", "lhist":
		sum := make([]uint64, max(len(c.counts), len(other.counts))) // the words are the reader's
		copy(sum, c.counts)
		for i, n := range other.counts {
			sum[i] += n
		}
		c.counts = sum
	default:
		c.total += other.total
	}
}

func wordsKey(words []uint64) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// keyOf is a key of numbers, texts, sites and stacks; parts has a letter for each.
func keyOf(m *Machine, words []uint64, t *types.Type, parts string) val {
	if t.Kind == types.Tuple {
		v := val{}
		for i, f := range t.Fields {
			n := min(keyWords(f.Type, parts[i:i+1]), len(words))
			v.list = append(v.list, keyOf(m, words[:n], f.Type, parts[i:i+1]))
			words = words[n:]
		}
		return v
	}
	switch {
	case len(words) == 0:
		return val{}
	case isSite(parts) && m.opts.SiteName != nil:
		return val{s: m.opts.SiteName(words[0])}
	case t.Is(types.KStack, types.UStack) && m.opts.Stack != nil:
		v := stackValue(limited(m.opts.Stack(words[0]), int(t.Stack.Limit)))
		if t.Kind == types.UStack && m.opts.Process != nil {
			v.n = uint64(m.opts.Process(words[0]))
		}
		return v
	case t.Kind == types.String:
		return val{s: cstr(string(wordsKey(words)))}
	}
	return num(fit(words[0], t))
}

// isSite reports whether a part of a key is the number of a site.
func isSite(part string) bool { return part == string(plan.PartProbe) || part == string(plan.PartFunc) }

func keyWords(t *types.Type, part string) int {
	if isSite(part) {
		return 1
	}
	return KeyWords(t)
}

// KeyWords is how many words a part of a key has.
func KeyWords(t *types.Type) int {
	if t.Kind == types.String {
		return int(min(t.Size, plan.MaxKeyText)+7) / 8
	}
	return 1
}

// cellOf is the value of an element; nil if there were no updates.
func cellOf(fn string, words []uint64) *cell {
	c := &cell{}
	switch fn {
	case "":
		return &cell{v: num(words[0])}
	case "hist", "lhist":
		c.counts = words
		for _, w := range words {
			c.count += w
		}
	case "count":
		c.count = words[0]
	default: // sum, avg, stats, min, max
		c.count, c.total = words[0], words[1]
	}
	if c.count == 0 {
		return nil
	}
	return c
}
