package record

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/statedump"
)

// Recorder is the sink of a session that records: a drain.Recorder.
type Recorder struct {
	opt  Options
	s    Session
	uuid [16]byte
	out  *writer
	info ctf.FileInfo

	schemas ctf.Schemas
	sites   map[*event.Schema]*site
	changed bool // there are schemas that the metadata does not have
	large   bool
	streams [2][]*stream // by class and ring
	lanes   [2]ctf.Lanes // by class
	now     *stream      // of the events that come
	state   *ctf.Stream
	stacks  stacks
	threads map[int]threadName
	last    threadName // that was written or found last

	dumper  statedump.Reader // used by one goroutine at a time
	target  *statedump.Dump  // what was read of the traced process, before the first dump
	armed   atomic.Bool
	dumping chan *statedump.Dump // the state is being read
	dumped  time.Time            // when that began
	wanted  atomic.Bool

	flushed   time.Time
	begun     time.Time // of the chunk
	chunk     int
	partSize  int64 // at which the chunk ends; 0: none
	events    atomic.Uint64
	lost      atomic.Uint64
	falsified atomic.Bool // the program has overwritten counts of losses
	finished  bool
}

// stream is the stream of a ring.
type stream struct {
	*ctf.Stream
	class  ctf.Class
	name   string
	lost   uint64
	said   uint64 // of lost, in a packet
	events uint64 // of the packet that is being filled
	state  drain.RingState
}

// site is a site with events.
type site struct {
	*ctf.Site
	schema *event.Schema // as the trace has it
	redact *Redacted
}

// threadName is the name that a thread has at present.
type threadName struct {
	tid, pid int
	name     string
}

// flushEvery is how long an event may wait in memory, as long as the disk keeps up.
const flushEvery = 500 * time.Millisecond

// manySites is how many sites compact event heads have ids for.
const manySites = 30

// Create makes the directory of a trace. It fails if there is something of that name.
func Create(opt Options) (*Recorder, error) {
	r := &Recorder{opt: opt, schemas: ctf.Schemas{}, sites: map[*event.Schema]*site{}, threads: map[int]threadName{}}
	if _, err := rand.Read(r.uuid[:]); err != nil {
		return nil, err
	}
	r.uuid[6], r.uuid[8] = r.uuid[6]&0x0f|0x40, r.uuid[8]&0x3f|0x80 // RFC 9562, version 4
	out, err := newWriter(&r.opt)
	if err != nil {
		return nil, err
	}
	r.out = out
	return r, nil
}

// Begin gives the recorder its session, before the first event.
func (r *Recorder) Begin(s Session) {
	r.s = s
	r.identify(s.WallOffset)
	r.begun, r.flushed, r.partSize = time.Now(), time.Now(), r.out.partSize()
	r.target = r.dumper.Target(s.Pid)
}

// identify notes what is known of the recording before its first event; wall is the offset of the wall clock.
func (r *Recorder) identify(wall int64) {
	var u unix.Utsname
	_ = unix.Uname(&u) // EFAULT only
	r.info = ctf.FileInfo{
		UUID: r.uuid, Jalon: r.opt.Version, Host: unix.ByteSliceToString(u.Nodename[:]), Kernel: unix.ByteSliceToString(u.Release[:]),
		Machine: unix.ByteSliceToString(u.Machine[:]), Boot: statedump.Boot(), Started: time.Now(), WallOffset: wall,
		Pid: r.opt.Pid, Args: r.opt.Redact.args(r.opt.Args), Part: r.opt.rotates(),
	}
	if r.opt.CTF2 {
		r.info.CTF = 2
	}
	for _, word := range r.opt.Command {
		r.info.Command = append(r.info.Command, r.opt.Redact.TextOf("command", word))
	}
}

// Ring implements drain.Recorder.
func (r *Recorder) Ring(x drain.RingState) error {
	class := ctf.Process
	if x.Kernel {
		class = ctf.Kernel
	}
	list := &r.streams[class]
	for len(*list) <= x.Ring {
		*list = append(*list, nil)
	}
	s := (*list)[x.Ring]
	if s == nil {
		if r.state == nil {
			r.begin()
		}
		s = &stream{Stream: ctf.NewStream(r.uuid, class, uint64(x.Ring), x.CPU, x.Pid, r.large), class: class, name: fmt.Sprintf("%v-%d", class, x.Ring)}
		(*list)[x.Ring] = s
	}
	s.state = x
	if x.Lost > s.lost {
		r.lost.Add(x.Lost - s.lost)
		s.lost = x.Lost
	}
	if x.Overwritten {
		r.falsified.Store(true)
	}
	r.now = s
	return r.out.err()
}

// begin decides on the form of the trace, at its first ring.
func (r *Recorder) begin() {
	r.large = r.s.Sites != nil && r.s.Sites() > manySites
	if r.large {
		r.info.Large = []string{ctf.Process.String(), ctf.Kernel.String()}
	}
	r.state = ctf.NewStream(r.uuid, ctf.State, 0, 0, r.opt.Pid, false)
	r.changed = true
}

// Full implements drain.Recorder.
func (r *Recorder) Full() bool { return r.out.full() }

// Event implements drain.Sink.
func (r *Recorder) Event(ev *event.Event) error {
	x := r.sites[ev.Schema]
	if x == nil {
		var err error
		if x, err = r.addSite(ev.Schema); err != nil {
			return err
		}
	}
	r.thread(threadName{ev.Tid, ev.Pid, ev.Comm}, ev.TimeNS)
	r.events.Add(1)
	r.stacks.ev = ev
	s := r.now
	s.events++
	s.Event(x.Site, ev.TimeNS, ev.Pid, ev.Tid, x.redact.apply(ev.Raw), r.intern)
	if s.Full() {
		return r.take(s)
	}
	return nil
}

// addSite gives a schema its id in the trace. Ids in the rings are used again when a library was unloaded.
func (r *Recorder) addSite(s *event.Schema) (*site, error) {
	red := r.opt.Redact.Site(s)
	own := *s
	if red != nil {
		own = *red.Schema
	}
	own.SiteID = uint32(len(r.schemas[r.now.class]))
	own.Elapsed, own.ShortSize, own.StackNumber = nil, 0, 0 // its events have the values
	if own.Flat = r.opt.LTTng && own.Kernel; own.Flat {
		computedNames(&own)
	}
	x, err := ctf.NewSite(&own)
	if err != nil {
		return nil, err
	}
	r.schemas[r.now.class] = append(r.schemas[r.now.class], &own)
	r.sites[s], r.changed = &site{Site: x, schema: &own, redact: red}, true
	if red.plain() {
		r.lanes[r.now.class].Set(s, x)
	}
	return r.sites[s], nil
}

// Batch implements drain.Recorder.
func (r *Recorder) Batch(b *event.Batch, counts []uint64) (n, size int, err error) {
	s := r.now
	n, size = s.Plain(b, r.lanes[s.class], counts)
	if n == 0 {
		return 0, 0, nil
	}
	r.thread(threadName{b.Tid, b.Pid, b.Comm}, s.Last())
	s.events += uint64(n)
	r.events.Add(uint64(n))
	if s.Full() {
		err = r.take(s)
	}
	return n, size, err
}

// thread notes the name of a thread that has an event at a time.
func (r *Recorder) thread(n threadName, at int64) {
	if r.last == n {
		return
	}
	r.last = n
	if old, ok := r.threads[n.tid]; ok && old == n {
		return
	}
	r.threads[n.tid] = n
	r.state.Thread(event.Monotonic(), ctf.Thread{Since: at, Pid: n.pid, Tid: n.tid, Name: r.opt.Redact.TextOf("comm", n.name)})
}

// take passes the packet of a stream to the writer, behind what it refers to.
func (r *Recorder) take(s *stream) error {
	if err := r.describe(); err != nil {
		return err
	}
	r.put(s)
	if n := r.partSize; n > 0 && r.out.queued() >= n {
		r.out.early(n)
		return r.rotate()
	}
	return r.out.err()
}

// put passes the packet of a stream to the writer.
func (r *Recorder) put(s *stream) {
	s.said = s.lost
	r.out.packet(s.name, s.Take(s.lost, r.out.buffer()), s.events)
	s.events = 0
}

// describe writes the metadata if it has changed, and the state so far.
func (r *Recorder) describe() error {
	if r.changed {
		if err := r.writeMetadata(); err != nil {
			return err
		}
		r.changed = false
	}
	if !r.state.Empty() {
		r.out.packet(ctf.State.String(), r.state.Take(0, nil), 0)
	}
	return nil
}

// Flush implements drain.Sink: events go to the disk from time to time, however few they are.
func (r *Recorder) Flush() error {
	if now := time.Now(); now.Sub(r.flushed) >= flushEvery && !r.Full() {
		r.flushed = now
		if r.state == nil {
			r.begin() // the sites are known: rings are read when they are armed
		}
		r.takeDump(0)
		if err := r.flush(); err != nil {
			return err
		}
		if r.opt.Every > 0 && now.Sub(r.begun) >= r.opt.Every && r.out.queued() > 0 {
			return r.rotate()
		}
	}
	return r.out.err()
}

func (r *Recorder) flush() error {
	if r.state == nil {
		return r.out.err()
	}
	for class := range r.streams {
		for _, s := range r.streams[class] {
			if s == nil || s.Empty() {
				continue
			}
			if err := r.take(s); err != nil {
				return err
			}
		}
	}
	return r.describe()
}

// End implements drain.Ender: all events have been recorded.
func (r *Recorder) End() error {
	if r.state == nil {
		r.begin()
	}
	r.takeDump(dumpPatience)
	err := r.flush()
	for class := range r.streams {
		for _, s := range r.streams[class] {
			if s != nil && s.lost > s.said && err == nil {
				s.Mark(event.Monotonic()) // a packet without events has the rest of the losses
				err = r.take(s)
			}
		}
	}
	return err
}

// Finish ends the recording. sum is how the trace ended.
func (r *Recorder) Finish(sum *ctf.Summary) error {
	if r.finished {
		return nil
	}
	r.finished = true
	if r.state == nil && !r.out.remove {
		r.empty()
	}
	r.leave()
	r.endDumps()
	if r.events.Load() > 0 && r.opt.Warn != nil {
		for _, rule := range r.opt.Redact.Unused() {
			r.opt.Warn("--redact " + rule + ": nothing that was recorded has this name")
		}
	}
	if sum != nil {
		sum.Events, sum.Lost, sum.Overwritten = r.events.Load(), r.lost.Load(), r.falsified.Load()
	}
	return r.out.finish(sum)
}

// empty makes a trace without events of a recording that ends before its places are armed.
func (r *Recorder) empty() {
	if r.info.Started.IsZero() {
		r.identify(time.Now().UnixNano() - event.Monotonic())
	}
	r.begin()
	_ = r.describe() // the writer has the error, and finish returns it
}

// leave gives the writer what End has not: after an error, so that it counts the events as not written.
func (r *Recorder) leave() {
	for class := range r.streams {
		for _, s := range r.streams[class] {
			if s != nil && s.events > 0 {
				r.put(s)
			}
		}
	}
}

// Discard ends a recording, and removes its directory. It may have events, of places that were armed before another one was refused.
func (r *Recorder) Discard() {
	r.out.remove = true
	_ = r.Finish(nil)
}

// Status is how far a recording is.
type Status struct {
	Events, Lost uint64 // events that could not be written are not counted
	Overwritten  bool   // the program has overwritten counts of losses: there may be more
	Bytes        int64  // that were written
	Waiting      int64  // bytes that wait to be written
	Chunks       int
}

// Status returns how far the recording is. Any goroutine may call it.
func (r *Recorder) Status() Status {
	st := r.out.status()
	st.Events, st.Lost, st.Overwritten = r.events.Load()-r.out.missing(), r.lost.Load(), r.falsified.Load()
	return st
}
