package record

import (
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
)

// Snapshot implements drain.Snapshotter: the events of a snapshot are a chunk.
func (r *Recorder) Snapshot() error {
	if !r.opt.Flight || r.state == nil {
		return nil
	}
	if err := r.describe(); err != nil {
		return err
	}
	return r.rotate()
}

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
	r.begun, r.changed = time.Now(), true
	r.stacks.known, r.stacks.bytes = nil, 0
	now := event.Monotonic()
	for _, t := range r.threads {
		r.state.Thread(now, ctf.Thread{Since: now, Pid: t.pid, Tid: t.tid, Name: t.name})
	}
	if time.Since(r.dumped) >= dumpEvery {
		r.beginDump()
	}
	return r.out.err()
}
