package drain

import (
	"time"

	"github.com/jalon-trace/jalon/internal/event"
)

// namesEvery is the interval at which the names of threads are read. A thread sets its name some time after
// its start (pthread_setname_np), and a tracer gets no event for that.
const namesEvery = 250 * time.Millisecond

func (d *Drain) rename() {
	src := d.process()
	if src == nil {
		return
	}
	if time.Since(d.renamed) < namesEvery {
		return
	}
	d.renamed = time.Now()
	src.counters.Sample(src.decoder.Schemas)
	for tid, old := range d.names {
		name := Comm(src.decoder.Pid, tid)
		if name != "" && name != old {
			src.decoder.Threads.Renamed(tid, name, event.TSC())
		}
	}
	clear(d.names)
	d.noted = [16]named{}
	// Records wait for event.Hold at most. A program that starts millions of threads must not fill jalon's
	// memory with threads that ended long ago.
	keep := time.Duration(remembered)
	if src.mem.Overwrites() {
		keep = rememberedForSnapshots
	}
	if now, old := event.TSC(), d.clock.Ticks(keep); now > old {
		src.decoder.Threads.Forget(now - old)
	}
}

// process returns the source of the in-process engine, or nil.
func (d *Drain) process() *Source {
	for _, src := range d.sources {
		if !src.Kernel {
			return src
		}
	}
	return nil
}

// remembered is how long ended threads are kept for their records.
const remembered = 20 * event.Hold

// rememberedForSnapshots is remembered where a snapshot may come much later.
const rememberedForSnapshots = 10 * time.Minute

// named is a thread and its name.
type named struct {
	tid  int
	comm string
}

// note stores the name of the thread of the event; most are stored already. At the first event of a thread the name
// is read: the one known until then is that of the thread that has started it.
func (d *Drain) note(src *Source) {
	if d.ev.Tid == 0 && src.Learn != nil && src.decoder.Threads != nil {
		d.learn(src)
	}
	n := named{d.ev.Tid, d.ev.Comm}
	last := &d.noted[n.tid&15]
	if *last == n {
		return
	}
	threads := src.decoder.Threads
	if threads != nil && threads.Inherits(n.tid) {
		threads.Named(n.tid, Comm(src.decoder.Pid, n.tid))
		src.decoder.FindThread(&d.ev)
		n.comm = d.ev.Comm
	}
	*last = n
	d.names[n.tid] = n.comm
}

// learnShare bounds the time in Learn, because a program may write any thread pointers: one part of so many.
const learnShare = 50

// learn finds the thread of the event if it has not been reported so far.
func (d *Drain) learn(src *Source) {
	start := time.Now()
	if src.decoder.Threads.Knows(d.ev.Thread) || start.Before(src.learned) {
		return
	}
	src.Learn()
	src.learned = time.Now().Add(learnShare * time.Since(start))
	src.decoder.FindThread(&d.ev)
}
