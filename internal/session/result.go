package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Result describes how a session ended.
type Result struct {
	Summary event.Summary
	Status  process.ExitStatus // of the traced program
	Sites   int
	Armed   time.Duration // from Options.Started to armed sites
	// PauseToArmed is for how long the program was stopped in that time.
	PauseToArmed time.Duration
	Maps         []MapResult // that actions have changed
	Variables    []VariableResult
	Failed       uint64 // expressions of teval that could not be evaluated
}

// MapResult is what a map has at the end.
type MapResult struct {
	*sema.Map
	maps.Merged
	NoRoom uint64              // changes for whose keys there was no room
	Stacks map[uint64][]string // frames by the numbers in keys, innermost first
}

// nameStacks names the frames of the stacks in keys.
func (s *Session) nameStacks(m *MapResult) {
	first, _ := m.Layout()
	for i, part := range m.Key {
		if part.Kind != sema.KeyStack {
			continue
		}
		var table *ring.Stacks
		if r := s.mine.Engine.Rings(); r != nil {
			table = r.Stacks()
		}
		if m.Stacks == nil {
			m.Stacks = map[uint64][]string{}
		}
		for _, t := range m.Merged {
			number := t.Key[first[i]]
			switch {
			case m.Stacks[number] != nil:
				continue
			case number>>32 != 0 || number&ring.StackKnown == 0:
				m.Stacks[number] = kernelNames(s, number)
				continue
			case table == nil:
				continue
			}
			pcs, _ := table.Frames(uint32(number))
			for ; len(pcs) >= 8; pcs = pcs[8:] {
				pc := binary.LittleEndian.Uint64(pcs)
				name := s.Symbol(pc)
				if name == "" {
					name = fmt.Sprintf("%#x", pc)
				}
				m.Stacks[number] = append(m.Stacks[number], name)
			}
		}
	}
}

// kernelNames names the frames of a stack that programs of the kernel have in keys.
func kernelNames(s *Session, number uint64) (names []string) {
	if number == 1 {
		return []string{"(no stack)"}
	}
	list := s.KernelStack(number)
	for _, f := range list {
		names = append(names, frameName(f))
	}
	if n := len(list); n > 0 && list[n-1].Cut != "" {
		names = append(names, "("+list[n-1].Cut+")")
	}
	return names
}

// StackProcess is the process of a stack that is a part of a key in the kernel; 0: it is no stack of a process.
func (s *Session) StackProcess(number uint64) int {
	if s.kern.Engine == nil || number>>32 == 0 {
		return 0
	}
	return s.kern.Engine.StackProcess(number)
}

// joinStacks makes one element of those whose keys differ in the numbers of equal stacks only.
func joinStacks(s *Session, m *MapResult) {
	first, _ := m.Layout()
	type stack struct {
		pid   int
		names string
	}
	one, merged := map[stack]uint64{}, maps.Merged{}
	for _, t := range m.Merged {
		key := slices.Clone(t.Key)
		for i, part := range m.Key {
			number := key[first[i]]
			if part.Kind != sema.KeyStack || number>>32 == 0 {
				continue
			}
			of := stack{s.StackProcess(number), strings.Join(m.Stacks[number], "\n")}
			if _, has := one[of]; !has {
				one[of] = number
			}
			key[first[i]] = one[of]
		}
		merged.Put(key, t.Value, t.Shown, m.Sums(), m.Kind != sema.MapNumber)
	}
	m.Merged = merged
}

// KernelStack returns the frames of a stack that is a part of a key in the kernel (sema.KeyStack), innermost first; nil: the stack
// was not kept.
func (s *Session) KernelStack(number uint64) []debuginfo.Frame {
	if s.kern.Engine == nil {
		return nil
	}
	list, err := s.kern.Engine.StackByNumber(number)
	if err != nil {
		s.logf("%v", err)
	}
	return list
}

func frameName(f debuginfo.Frame) string {
	switch {
	case f.Function == "":
		return fmt.Sprintf("%#x", f.PC)
	case f.Offset == 0:
		return f.Function
	}
	return fmt.Sprintf("%s+%d", f.Function, f.Offset)
}

// maps reads the maps of the tracepoints.
func (s *Session) maps() (list []MapResult) {
	at := map[string]int{}
	for _, tp := range s.opt.Tracepoints {
		for i := range tp.Actions {
			m := tp.Actions[i].Map
			if m == nil {
				continue
			}
			if _, has := at[m.Name]; !has {
				at[m.Name] = len(list)
				list = append(list, MapResult{Map: m, Merged: maps.Merged{}})
			}
		}
	}
	add := func(name string, r *maps.Reader) {
		if i, ok := at[name]; ok {
			list[i].Merged.Add(r, list[i].Sums())
			list[i].NoRoom += r.NoRoom()
		}
	}
	engines := []interface {
		Maps(func(string, *maps.Reader)) error
	}{s.mine.Engine}
	if s.kern.Engine != nil {
		engines = append(engines, s.kern.Engine)
	}
	for _, e := range engines {
		if err := e.Maps(add); err != nil {
			s.logf("reading maps: %v", err)
		}
	}
	for i := range list {
		s.nameStacks(&list[i])
		if len(list[i].Stacks) > 0 {
			joinStacks(s, &list[i])
		}
	}
	return list
}

// Maps calls each for the maps of the session, for each engine that has programs which change them. It is called on the
// session's goroutine, or after Run.
func (s *Session) Maps(each func(name string, r *maps.Reader, kernel bool)) error {
	err := s.mine.Engine.Maps(func(name string, r *maps.Reader) { each(name, r, false) })
	if s.kern.Engine != nil {
		err = errors.Join(err, s.kern.Engine.Maps(func(name string, r *maps.Reader) { each(name, r, true) }))
	}
	return err
}

// Grace is engine.Engine.Grace, of the kernel engine or of that of the process. It is called on the session's goroutine.
func Grace(s *Session, kernel bool) (over func() (bool, error), err error) {
	if kernel {
		return s.kern.Engine.Grace()
	}
	return s.mine.Engine.Grace()
}

// PutNumber gives a map of numbers without keys a value. It is called on the session's goroutine.
func (s *Session) PutNumber(name string, n uint64) {
	_ = s.Maps(func(of string, r *maps.Reader, _ bool) { // an error: the process has ended, and there are no more hits
		if of == name {
			r.Put(n)
		}
	})
}

// Sites returns how many sites the session has had. It is called on the session's goroutine.
func (s *Session) Sites() int {
	n := s.mine.Engine.Sites()
	if s.kern.Engine != nil {
		n += s.kern.Engine.Sites()
	}
	return n
}

// WithSites are the tracepoints that have sites.
func (s *Session) WithSites() (list []*tracepoint.Tracepoint) {
	for _, src := range s.records.Sources() {
		for _, site := range src.Sites() {
			if tp := s.Tracepoint(site.Schema); tp != nil && !slices.Contains(list, tp) {
				list = append(list, tp)
			}
		}
	}
	return list
}

// SameMarkers is how many sites are further places of a marker that has another site.
func (s *Session) SameMarkers() (n int) {
	type marker struct{ place, name string }
	seen := map[marker]bool{}
	for _, src := range s.records.Sources() {
		for _, site := range src.Sites() {
			tp := s.Tracepoint(site.Schema)
			if tp == nil || tp.Place.Kind != probe.USDT {
				continue
			}
			m := marker{site.Schema.Place, site.Schema.Function}
			if seen[m] {
				n++
			}
			seen[m] = true
		}
	}
	return n
}

func (s *Session) result() *Result {
	r := &Result{Sites: s.Sites(), Armed: s.armed}
	sum := &r.Summary
	sum.Duration = time.Since(s.started)
	r.Status, sum.Outcome = s.subject.outcome()
	sum.Pauses = len(s.pauses)
	for i, p := range s.pauses {
		if i < s.pausesToArmed {
			r.PauseToArmed += p
		}
		sum.Pause += p
		sum.LongestPause = max(sum.LongestPause, p)
	}
	if d := s.records.Drain; d != nil {
		sum.Late, sum.Unshown, sum.Printed = d.Late(), d.Unshown(), d.Shown()
		sum.CompleteFrom = d.Whole.From()
	}
	if s.coarse != nil {
		sum.ClockError = time.Duration(float64(s.coarse.Longest()) / float64(s.records.Clock.Ticks(time.Second)) * float64(time.Second))
	}
	for _, src := range s.records.Sources() {
		st := src.Stats()
		sum.Torn += st.Torn
		sum.TornParts += st.TornSubs
		sum.Corrupt += st.Corrupt
		sum.Waits += src.Waits()
		sum.StacksFull += src.StacksFull()
		sum.Sites = append(sum.Sites, s.count(src)...)
	}
	if s.kern.Engine != nil {
		sum.KeysFull, sum.Pointers = s.kern.Engine.StackCounts()
	}
	r.Maps = s.maps()
	r.Variables, r.Failed = s.variables()
	return r
}

// count reads the counters of the sites of an engine.
func (s *Session) count(src *drain.Source) []event.SiteSummary {
	sites := src.Sites()
	if src.Kernel {
		s.kern.Engine.Account(sites)
	} else {
		s.mine.Engine.Account(sites)
	}
	return sites
}
