package record

import (
	"context"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
)

// Part is a chunk that is complete.
type Part struct {
	Dir    string
	Events uint64
	Bytes  int64 // of packets, before compression
}

// Snapshot implements drain.Snapshotter: the events of a snapshot are a chunk.
func (r *Recorder) Snapshot() error {
	if !r.opt.Flight {
		return nil
	}
	if r.state == nil {
		r.begin()
	}
	if err := r.describe(); err != nil {
		return err
	}
	if err := r.rotate(); err != nil {
		return err
	}
	r.info.CompleteFrom, r.info.Gaps = 0, false // the next part's is not known yet
	return nil
}

// CompleteFrom implements drain.Completer.
func (r *Recorder) CompleteFrom(from int64, gaps bool) error {
	r.info.CompleteFrom, r.info.Gaps = max(r.info.CompleteFrom, from), r.info.Gaps || gaps
	r.changed = true
	return nil
}

// LastPart waits until the chunk that has been ended last is written. Any goroutine may call it.
func (r *Recorder) LastPart(ctx context.Context) (Part, error) { return r.out.lastPart(ctx) }

// rotate ends the chunk and begins the next one. Each chunk is a trace of its own: names of threads are written again, and stacks are
// when they come again.
func (r *Recorder) rotate() error {
	for class := range r.streams {
		for _, s := range r.streams[class] {
			if s != nil && !s.Empty() {
				r.put(s)
			}
		}
	}
	if !r.state.Empty() {
		r.out.packet(ctf.State.String(), r.state.Take(0, nil), 0)
	}
	r.out.rotate()
	r.chunk++
	r.begun, r.changed, r.partSize = time.Now(), true, r.out.partSize()
	r.stacks.known, r.stacks.bytes = nil, 0
	now := event.Monotonic()
	for _, t := range r.threads {
		r.state.Thread(now, ctf.Thread{Since: now, Pid: t.pid, Tid: t.tid, Name: r.opt.Redact.TextOf("comm", t.name)})
	}
	if time.Since(r.dumped) >= dumpEvery {
		r.beginDump(r.opt.Size == 0 || r.opt.Size >= wholeParts)
	}
	return r.out.err()
}
