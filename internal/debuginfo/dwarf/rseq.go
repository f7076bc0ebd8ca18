package dwarf

import (
	"bytes"
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Restartable sequences (rseq(2)): code that the kernel sends to its abort handler
// when its thread is interrupted within. A sequence is described by a struct rseq_cs,
// which may lie anywhere, made at run time too. Its abort handler cannot be hidden: the
// four bytes before it must be the signature that the thread has registered.
//
//	struct rseq_cs { u32 version, flags; u64 start_ip, post_commit_offset, abort_ip; }

// rseqSignature is that of glibc and librseq for x86 (RSEQ_SIG).
var rseqSignature = []byte{0x53, 0x30, 0x05, 0x53}

// maxSequence bounds the length of a sequence that is believed.
const maxSequence = 1 << 20

// sequences are the module's restartable sequences.
type sequences struct {
	*object
	rseq *rseqTable // see RseqRanges
}

type rseqTable struct {
	list   []debuginfo.Range
	aborts map[uint64]bool // handlers of these
	err    error

	searched bool
	made     []Abort // see MadeAborts
}

// RseqRanges returns the restartable sequences that the module declares, in its
// __rseq_cs section or elsewhere in its data, and the signature words before their
// abort handlers: no site may lie there.
func (sq *sequences) RseqRanges() (out []debuginfo.Range, err error) {
	defer sq.guard(&err)()
	t := sq.table()
	return t.list, t.err
}

func (sq *sequences) table() *rseqTable {
	if sq.rseq != nil {
		return sq.rseq
	}
	sq.rseq = &rseqTable{aborts: map[uint64]bool{}}
	t := sq.rseq
	sec, ok := sq.file.Section("__rseq_cs")
	if ok && !sec.NoBits {
		var b []byte
		if b, t.err = sq.file.ReadLoaded(sec.Vaddr, int(min(sec.Size, 1<<24)), 0); t.err != nil {
			return t
		}
		for ; len(b) >= 32; b = b[32:] {
			t.add(b)
		}
	}
	t.err = sq.file.EachPointer(func(at uint64) {
		if ok && at >= sec.Vaddr && at < sec.Vaddr+sec.Size || at < 8 {
			return
		}
		// Most pointers are dropped by the words beside them, which no relocation changes.
		b := sq.file.ReadVaddr(at-8, 32)
		if len(b) < 32 || binary.LittleEndian.Uint32(b) != 0 || b[4] > 7 {
			return
		}
		if n := binary.LittleEndian.Uint64(b[16:]); n == 0 || n > maxSequence {
			return
		}
		b, err := sq.file.ReadLoaded(at-8, 32, 0)
		if err != nil {
			return
		}
		abort := binary.LittleEndian.Uint64(b[24:])
		if abort >= 4 && bytes.Equal(sq.file.ReadVaddr(abort-4, 4), rseqSignature) {
			t.add(b)
		}
	})
	return t
}

// add takes in a descriptor.
func (t *rseqTable) add(b []byte) {
	start, n, abort := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	if start != 0 && n < maxSequence {
		t.list = append(t.list, debuginfo.Range{Lo: start, Hi: start + n})
	}
	if abort >= 4 {
		t.list = append(t.list, debuginfo.Range{Lo: abort - 4, Hi: abort})
		t.aborts[abort] = true
	}
}
