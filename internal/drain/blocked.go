package drain

import (
	"time"

	"github.com/jalon-trace/jalon/internal/ring"
)

// A record that is not complete blocks its ring, since the reader waits for its writer. That is a thread which does not
// run at the moment, or one that will never go on: a signal interrupted the hit, and the handler left by siglongjmp.

// blocked is what is known of a ring of an engine in a process.
type blocked struct {
	since time.Time // since when nothing could be read of what is reserved; zero: something could
	// begun is what was reserved at a time; left is a former value: what is not complete before it never will be.
	begun, left uint64
}

// noteBlocked takes what Drain has found in a ring.
func (src *Source) noteBlocked(cpu int, state ring.State, n int) {
	b := &src.blocked[cpu]
	switch {
	case src.Kernel || state != ring.Pending || n > 0:
		b.since = time.Time{}
	case b.since.IsZero():
		b.since = time.Now()
	}
}

// skipLeft goes on behind records that are known to have no writer, and what is complete between them.
func (d *Drain) skipLeft(src *Source, cpu int, state ring.State) ring.State {
	for state == ring.Pending && len(d.buf) < src.mem.RingSize()/8 && src.reader.SkipBefore(cpu, src.blocked[cpu].left) {
		d.buf, state = src.reader.Drain(cpu, d.buf)
	}
	return state
}

// isBlocked reports whether a ring has been blocked since before a time.
func (d *Drain) isBlocked(src *Source, before time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range src.blocked {
		if since := src.blocked[i].since; !since.IsZero() && since.Before(before) {
			return true
		}
	}
	return false
}

// begun notes what is reserved now, for left.
func (d *Drain) begun(src *Source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for cpu := range src.blocked {
		src.blocked[cpu].begun = src.reader.Reserved(cpu)
	}
}

// left is called when no thread is any more in a hit that began before begun was called. quiet: no thread is in a hit,
// and all are stopped.
func (d *Drain) left(src *Source, quiet bool) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer src.mem.Guard(&err)()
	for cpu := range src.blocked {
		b := &src.blocked[cpu]
		if quiet {
			b.begun = src.reader.Reserved(cpu)
		}
		b.left = b.begun
		if quiet && !b.since.IsZero() && !src.reader.SkipBefore(cpu, b.left) {
			// Room without a size (see package ring): only while nothing is written its end can be looked for.
			if err := d.readLast(src, cpu); err != nil {
				return err
			}
		}
	}
	return nil
}
