package inject

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// SequencePointer is the offset of rseq_cs in struct rseq: u32 cpu_id_start, cpu_id; u64 rseq_cs.
const SequencePointer = 8

// SequenceAt reads the sequence of a thread whose struct rseq lies at addr.
func SequenceAt(sp *memory.Space, addr uint64) (start, length, abort uint64, ok bool) {
	var b [8]byte
	if sp.Read(addr+SequencePointer, b[:]) != nil {
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
