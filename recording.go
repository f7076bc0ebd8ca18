package jalon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/record"
	"github.com/jalon-trace/jalon/internal/session"
)

// RecordOptions configure [Record].
type RecordOptions struct {
	// Size and Rotate end a part of the trace, and Keep is how many parts are kept; 0: no limit. With one of Size and Rotate the
	// trace is a directory of parts, each of which is a trace.
	Size   int64
	Rotate time.Duration
	Keep   int
	// Flight is for a trace with Options.Overwrite: each [Trace.Snapshot], and what is in the rings at the end, is a part.
	Flight bool
	// Compress: parts that are complete are compressed (zstd). This package reads them, other viewers of CTF do not.
	Compress bool

	// CTF2: the metadata of the trace are those of CTF 2, which babeltrace2 reads from version 2.1 on, not those of CTF 1.8. The packets are the
	// same, and this package reads both.
	CTF2 bool

	// LTTng: viewers made for LTTng's traces of the kernel, such as Trace Compass, take this one for such a trace. Static tracepoints of the
	// kernel have LTTng's names in viewers in any case; for their fields see the sets of jalon record.
	LTTng bool

	// Live, if not nil, is given the events too, in the order of time. Recording does not wait for it: events that come faster than it
	// can take them are counted in RecordStatus.Unshown. Not with Flight.
	Live Output
	// Redact has the fields and texts that must not reach the disk, nor Live. /REGEXP/ replaces what matches in texts (strings, names of
	// threads, paths, command lines) by stars; anything else is the name of a field, of a member, or a pattern of such names (pass*), of
	// which there are no values.
	Redact []string

	// Version, Command, Pid and Args describe the recording in the trace.
	Version       string
	Command, Args []string
	Pid           int

	// Warn receives warnings for the user, on any goroutine; it may be nil.
	Warn func(text string)
}

// Recording is an [Output] that writes the events to a directory, as a CTF trace (version 1.8, or 2): viewers such as babeltrace2 and Trace
// Compass read it, and [OpenRecording]. It does not need the events' order, and decodes nothing, so it keeps up with many more events
// than other outputs. A disk that is full ends the trace with an error; what was recorded before is whole.
type Recording struct {
	dir string
	r   *record.Recorder
	one sync.Mutex // a snapshot at a time

	live    Output
	redact  *record.Redactor
	warn    func(string)
	unshown atomic.Uint64
}

// Record makes the directory of a trace, with mode 0700. It fails if there is something of that name. The caller calls Finish when the
// trace is over, or Discard if it has not begun.
func Record(dir string, opt RecordOptions) (*Recording, error) {
	red, err := record.NewRedactor(opt.Redact)
	if err != nil {
		return nil, err
	}
	if opt.Live != nil && opt.Flight {
		return nil, errors.New("a flight recorder has no live output: its events stay in memory")
	}
	r, err := record.Create(record.Options{
		Redact: red,
		Dir:    dir, Version: opt.Version, Command: opt.Command, Args: opt.Args, Pid: opt.Pid,
		Size: opt.Size, Every: opt.Rotate, Keep: opt.Keep, Compress: opt.Compress, Flight: opt.Flight, LTTng: opt.LTTng, CTF2: opt.CTF2, Warn: opt.Warn,
	})
	if err != nil {
		return nil, err
	}
	return &Recording{dir: dir, r: r, live: opt.Live, redact: red, warn: opt.Warn}, nil
}

// Dir is the directory of the trace.
func (r *Recording) Dir() string { return r.dir }

func (r *Recording) sink(s *session.Session, _ *record.Redactor) drain.Sink {
	r.r.Begin(record.Session{WallOffset: s.WallOffset(), Pid: s.Pid(), Unwind: s.Unwind, Epoch: s.Epoch, Sites: s.Sites})
	if r.live == nil {
		return r.r
	}
	return &shown{r.r, r, record.Shown(r.live.sink(s, r.redact), r.redact)}
}

// shown is a recording whose events are shown: a drain.Shower.
type shown struct {
	*record.Recorder
	r    *Recording
	sink drain.Sink
}

// Show implements drain.Shower.
func (s *shown) Show() drain.Sink { return s.sink }

// Unshown implements drain.Shower.
func (s *shown) Unshown(n uint64) { s.r.unshown.Add(n) }

// Ended implements drain.Shower.
func (s *shown) Ended(why error) {
	if s.r.warn != nil {
		s.r.warn(fmt.Sprintf("events are not printed any more: %v; they are recorded", why))
	}
}

// RecordStatus is how far a recording is.
type RecordStatus struct {
	Events, Lost uint64
	Overwritten  bool // the program has overwritten counts of losses: there may be more
	Bytes        int64
	Parts        int
	Unshown      uint64 // events that are recorded and that RecordOptions.Live was not given
}

// Status returns how far the recording is. Any goroutine may call it.
func (r *Recording) Status() RecordStatus {
	st := r.r.Status()
	return RecordStatus{Events: st.Events, Lost: st.Lost, Overwritten: st.Overwritten, Bytes: st.Bytes, Parts: st.Chunks, Unshown: r.unshown.Load()}
}

// DumpState writes the present state to the trace: processes, threads, and of the traced process mappings and open files. The state at the
// beginning is in each trace. Any goroutine may call it.
func (r *Recording) DumpState() { r.r.DumpState() }

// Part is a part of a recording that is complete.
type Part struct {
	Dir    string
	Events uint64
	Bytes  int64 // before compression
}

// Snapshot has a flight recorder write the events that are in the rings, and that no snapshot has written before, as a part, and waits
// until it is written. t is the recording's trace. Any goroutine may call it.
func (r *Recording) Snapshot(ctx context.Context, t *Trace) (Part, error) {
	r.one.Lock() // the part that ends last is this one's
	defer r.one.Unlock()
	if err := t.Snapshot(ctx); err != nil {
		return Part{}, err
	}
	p, err := r.r.LastPart(ctx)
	return Part(p), err
}

// Discard removes the directory of a recording whose trace has not begun, also if places that were armed before another one was refused have
// events in it.
func (r *Recording) Discard() { r.r.Discard() }

// Finish writes what waits, and how the trace ended, and closes the files.
func (r *Recording) Finish(res *Result) error {
	sum := &ctf.Summary{}
	if res != nil {
		sum.Outcome, sum.Duration = res.Outcome, res.Time
		for i := range res.Sites {
			s := &res.Sites[i]
			sum.Sites = append(sum.Sites, ctf.SiteCount{
				Place: s.Site.Place, Function: s.Site.Function, PC: s.Site.PC, Recorded: s.Recorded, Lost: s.Lost,
				False: s.False, Faults: s.Faults, Missed: s.Missed, Replaced: s.Replaced, Overwritten: s.Overwritten,
			})
		}
	}
	err := r.r.Finish(sum)
	if errors.Is(err, record.ErrFull) {
		return fmt.Errorf("the recording has ended: %w", err)
	}
	return err
}
