package process

import (
	"encoding/binary"

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
		if start, length, _, ok := sequenceAt(s.sp, c.Addr); ok && length < 1<<20 {
			list = append(list, [2]uint64{start, start + length})
		}
	}
	return list
}

// sequenceAt reads the sequence of a thread whose struct rseq lies at addr.
func sequenceAt(sp *space, addr uint64) (start, length, abort uint64, ok bool) {
	const csOffset = 8 // struct rseq: u32 cpu_id_start, cpu_id; u64 rseq_cs
	var b [8]byte
	if sp.Read(addr+csOffset, b[:]) != nil {
		return 0, 0, 0, false
	}
	cs := binary.LittleEndian.Uint64(b[:])
	var d [32]byte // struct rseq_cs: u32 version, flags; u64 start, length, abort
	if cs == 0 || sp.Read(cs, d[:]) != nil {
		return 0, 0, 0, false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(d[i:]) }
	return word(8), word(16), word(24), true
}
