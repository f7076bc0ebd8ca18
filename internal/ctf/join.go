package ctf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
)

// Part is a trace that Join joins with others.
type Part struct {
	Trace *Trace
	Name  string            // with a slash before the names of its threads; "": none
	IDs   int               // added to its process and thread ids
	CPUs  int               // added to the numbers of its CPUs
	Time  func(int64) int64 // its times by the clock of the whole; later times stay later
}

// Joined describes a part of a trace that Join has made.
type Joined struct {
	Host  string  `json:"host"`
	IDs   int     `json:"ids"`
	CPUs  int     `json:"cpus"`
	Clock string  `json:"clock"`            // how its clock was found
	Shift int64   `json:"shift_ns"`         // added to its times
	Rate  float64 `json:"rate,omitempty"`   // and this for each nanosecond since its middle
	Error *int64  `json:"error,omitempty"`  // ns by which its times may be off; nil: not known
	UUID  string  `json:"uuid,omitempty"`   // of the trace that it was
	Dir   string  `json:"source,omitempty"` // where that was
}

// joiner writes a trace from others.
type joiner struct {
	dir     string
	uuid    [16]byte
	parts   []*joinedPart
	schemas Schemas
	streams []*joinedStream
	state   *joinedStream
	large   bool
	stacks  uint32
	counts  [classes]uint64 // streams
}

type joinedPart struct {
	Part
	it      *Iterator
	ev      *event.Event
	at      int64
	sites   []*Site // by the number of the site
	class   []Class
	streams map[joinedKey]*joinedStream
	stacks  map[uint32]uint32
	lost    uint64
	events  uint64
}

type joinedKey struct {
	class Class
	cpu   int
	pid   int // of a stream of the engine in the process
}

type joinedStream struct {
	*Stream
	f *os.File
}

// Join writes the events of several traces to a new directory, as one trace. The names of threads, stacks and state dumps of all of them are in it.
func Join(dir string, parts []Part, info FileInfo, env []Env) (events uint64, err error) {
	if err := os.MkdirAll(filepath.Join(dir, OwnDirectory), 0o700); err != nil {
		return 0, err
	}
	j := &joiner{dir: dir, uuid: info.UUID, schemas: Schemas{}}
	defer func() { err = errors.Join(err, j.close()) }()
	for _, p := range parts {
		j.add(p)
	}
	if j.large {
		info.Large = []string{Process.String(), Kernel.String()}
	}
	if err := j.describe(&info, env); err != nil {
		return 0, err
	}
	if err := j.states(); err != nil {
		return 0, err
	}
	if events, err = j.events(); err != nil {
		return events, err
	}
	return events, j.finish(parts)
}

func (j *joiner) add(p Part) {
	x := &joinedPart{Part: p, it: p.Trace.Events(Query{}), streams: map[joinedKey]*joinedStream{}, stacks: map[uint32]uint32{}, lost: p.Trace.Lost()}
	x.sites, x.class = make([]*Site, p.Trace.Sites()), make([]Class, p.Trace.Sites())
	for _, c := range p.Trace.chunks {
		for class := range State {
			for _, r := range c.sites[class] {
				if r == nil || x.sites[r.index] != nil {
					continue
				}
				s := *r.schema
				s.SiteID = uint32(len(j.schemas[class]))
				x.sites[r.index], x.class[r.index] = &Site{plan: newPlan(&s)}, class
				j.schemas[class] = append(j.schemas[class], &s)
				j.large = j.large || s.SiteID >= 1<<compactIDs-2
			}
		}
	}
	j.parts = append(j.parts, x)
}

// describe writes what readers need before packets.
func (j *joiner) describe(info *FileInfo, env []Env) error {
	text, err := Metadata(&Info{UUID: info.UUID, CTF2: info.CTF == 2, WallOffset: info.WallOffset, Large: [classes]bool{j.large, j.large}, Env: env}, j.schemas)
	if err != nil {
		return err
	}
	schemas, err := EncodeSchemas(j.schemas)
	if err != nil {
		return err
	}
	own, err := EncodeInfo(*info)
	if err != nil {
		return err
	}
	return errors.Join(j.file(MetadataFile, text), j.file(filepath.Join(OwnDirectory, SchemasFile), schemas), j.file(filepath.Join(OwnDirectory, InfoFile), own))
}

func (j *joiner) file(name string, b []byte) error {
	return os.WriteFile(filepath.Join(j.dir, name), b, 0o600)
}

func (j *joiner) stream(class Class, cpu, pid int) (*joinedStream, error) {
	n := j.counts[class]
	j.counts[class]++
	name := fmt.Sprintf("%v-%d", class, n)
	if class == State {
		name = class.String()
	}
	f, err := os.OpenFile(filepath.Join(j.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	s := &joinedStream{NewStream(j.uuid, class, n, cpu, pid, j.large && class != State), f}
	j.streams = append(j.streams, s)
	return s, nil
}

func (s *joinedStream) take(lost uint64) error {
	b := s.Take(lost, nil)
	_, err := s.f.Write(b)
	return err
}

// id is a process or thread of a part; 0 stays 0: it is not known, or the idle thread.
func (p *joinedPart) id(n int) int {
	if n <= 0 {
		return n
	}
	return n + p.IDs
}

func (p *joinedPart) name(text string) string {
	if p.Name == "" {
		return text
	}
	return p.Name + "/" + text
}

// states writes the names of threads, the stacks and the state dumps.
func (j *joiner) states() (err error) {
	if j.state, err = j.stream(State, 0, 0); err != nil {
		return err
	}
	now := int64(math.MaxInt64)
	dumped, unread := true, uint32(0)
	for _, p := range j.parts {
		if first, _, ok := p.Trace.Span(); ok {
			now = min(now, p.Time(first))
		}
		dumped = dumped && p.Trace.State.Dumped
		unread += p.Trace.State.Unread
	}
	if now == math.MaxInt64 {
		now = 1
	}
	now = max(now-1, 1) // before the first event
	s := j.state
	s.Begin(now)
	for _, p := range j.parts {
		if err := j.partState(p, now); err != nil {
			return err
		}
	}
	if dumped {
		s.End(now, unread)
	}
	return s.take(0)
}

func (j *joiner) partState(p *joinedPart, now int64) error {
	s, x := j.state, p.Trace.State
	full := func() error {
		if s.Full() {
			return s.take(0)
		}
		return nil
	}
	for _, c := range x.Processes {
		c.Pid, c.Parent, c.Name = p.id(c.Pid), p.id(c.Parent), p.name(c.Name)
		s.Process(now, c)
		if err := full(); err != nil {
			return err
		}
	}
	for _, m := range x.Mappings {
		m.Pid = p.id(m.Pid)
		s.Mapping(now, m)
		if err := full(); err != nil {
			return err
		}
	}
	for _, f := range x.Files {
		f.Pid = p.id(f.Pid)
		s.File(now, f)
		if err := full(); err != nil {
			return err
		}
	}
	for _, c := range x.CPUs {
		c.CPU += p.CPUs
		s.CPU(now, c)
	}
	for _, irq := range x.Interrupts {
		if p.Name != "" {
			irq.Action = p.name(irq.Action)
		}
		s.Interrupt(now, irq)
	}
	for tid := range x.threads {
		for _, t := range x.names(tid) {
			t.Tid, t.Pid, t.Name, t.Since = p.id(t.Tid), p.id(t.Pid), p.name(t.Name), max(p.Time(t.Since), 0)
			s.Thread(now, t)
		}
		if err := full(); err != nil {
			return err
		}
	}
	for old, frames := range x.stacks {
		j.stacks++
		p.stacks[old] = j.stacks
		s.Stack(now, j.stacks, frames)
		if err := full(); err != nil {
			return err
		}
	}
	return nil
}

// next reads the next event of a part.
func (p *joinedPart) next() error {
	ev, err := p.it.Next()
	if errors.Is(err, io.EOF) {
		p.ev = nil
		return nil
	}
	if err != nil {
		return err
	}
	p.ev, p.at = ev, p.Time(ev.TimeNS)
	return nil
}

// events writes the events of all parts.
func (j *joiner) events() (n uint64, err error) {
	for _, p := range j.parts {
		if err := p.next(); err != nil {
			return n, err
		}
	}
	for {
		var p *joinedPart
		for _, x := range j.parts {
			if x.ev != nil && (p == nil || x.at < p.at) {
				p = x
			}
		}
		if p == nil {
			for _, x := range j.parts {
				x.Trace.Damage = append(x.Trace.Damage, x.it.Damage()...)
			}
			return n, nil
		}
		if err := j.event(p); err != nil {
			return n, err
		}
		n++
		p.events++
		if err := p.next(); err != nil {
			return n, err
		}
	}
}

func (j *joiner) event(p *joinedPart) (err error) {
	ev, site := p.ev, p.it.Site()
	key := joinedKey{class: p.class[site], cpu: ev.CPU}
	if key.class == Process {
		key.pid = ev.Pid
	}
	s := p.streams[key]
	if s == nil {
		if s, err = j.stream(key.class, ev.CPU+p.CPUs, p.id(key.pid)); err != nil {
			return err
		}
		p.streams[key] = s
	}
	s.Event(p.sites[site], p.at, p.id(ev.Pid), p.id(ev.Tid), ev.Raw, func(_ *event.Schema, f *event.Field, _ []byte) uint32 { return p.stacks[stackNumber(ev, f)] })
	if s.Full() {
		return s.take(0)
	}
	return nil
}

// finish writes the last packets, with the losses of each part, and how the recordings ended, if all have ended in order.
func (j *joiner) finish(parts []Part) error {
	for _, p := range j.parts {
		lost := p.lost
		for _, s := range p.streams {
			if lost > 0 && s.Empty() {
				s.Mark(s.Last())
			}
			if !s.Empty() {
				if err := s.take(lost); err != nil {
					return err
				}
			}
			lost = 0
		}
	}
	sum := &Summary{}
	for i := range parts {
		x := parts[i].Trace.Summary
		if x == nil && parts[i].Trace.Ending == Ended {
			x = j.parts[i].summary()
		}
		if x == nil {
			return nil
		}
		if sum.Outcome == "" {
			sum.Outcome = x.Outcome
		}
		sum.Duration = max(sum.Duration, x.Duration)
		sum.Events += x.Events
		sum.Lost += x.Lost
		sum.Removed += x.Removed
		sum.Overwritten = sum.Overwritten || x.Overwritten
		if x.Stopped != "" {
			sum.Stopped = x.Stopped
		}
		sum.Sites = slices.Concat(sum.Sites, x.Sites)
	}
	for _, s := range j.streams {
		st, err := s.f.Stat()
		if err != nil {
			return err
		}
		sum.Bytes += uint64(st.Size())
	}
	b, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	return j.file(filepath.Join(OwnDirectory, SummaryFile), b)
}

// summary is that of a part of a recording which has none of its own.
func (p *joinedPart) summary() *Summary {
	first, last, _ := p.Trace.Span()
	s := &Summary{Duration: time.Duration(last - first), Events: p.events, Lost: p.lost}
	if w := p.Trace.Whole; w != nil {
		s.Outcome, s.Overwritten = w.Outcome, w.Overwritten
	}
	return s
}

func (j *joiner) close() (err error) {
	for _, s := range j.streams {
		err = errors.Join(err, s.f.Close())
	}
	return err
}
