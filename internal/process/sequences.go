package process

import (
	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Sequences lists the restartable sequences (rseq(2)) that threads have made known to
// the kernel, as [start, end): they are within, or were when they last looked.
func (s *Stopped) Sequences() (list [][2]uint64) {
	for _, t := range s.tasks() {
		if t.State != threads.Stopped {
			continue
		}
		c, ok := sys.GetRseq(t.TID)
		if !ok {
			continue
		}
		if start, length, _, ok := inject.SequenceAt(s.sp.Space, c.Addr); ok && length < 1<<20 {
			list = append(list, [2]uint64{start, start + length})
		}
	}
	return list
}
