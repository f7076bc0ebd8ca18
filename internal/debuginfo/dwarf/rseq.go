package dwarf

import (
	"bytes"
	"encoding/binary"
	"slices"

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
		b, err := sq.file.ReadLoaded(at-8, 32, 0)
		if err != nil || len(b) < 32 {
			return
		}
		n, abort := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		if binary.LittleEndian.Uint32(b) != 0 || b[4] > 7 || n == 0 || n > maxSequence || abort < 4 {
			return
		}
		if bytes.Equal(sq.file.ReadVaddr(abort-4, 4), rseqSignature) {
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

// AbortHandlers lists the abort handlers in the given parts of a function, and in executable sections
// beside .text, that belong to no sequence of RseqRanges: their descriptors are made at run time.
func (sq *sequences) AbortHandlers(parts []debuginfo.Range) (out []uint64, err error) {
	defer sq.guard(&err)()
	t := sq.table()
	if t.err != nil {
		return nil, t.err
	}
	parts = slices.Clone(parts)
	for _, s := range sq.file.Sections() {
		if s.Exec && s.Alloc && !s.NoBits && s.Name != ".text" {
			parts = append(parts, debuginfo.Range{Lo: s.Vaddr, Hi: s.Vaddr + s.Size})
		}
	}
	for _, r := range parts {
		b := sq.file.ReadVaddr(r.Lo, int(min(r.Hi-r.Lo, 1<<30)))
		for off := 0; ; {
			i := bytes.Index(b[off:], rseqSignature)
			if i < 0 {
				break
			}
			off += i + len(rseqSignature)
			// A function that registers with the kernel has it in a mov to a register.
			before := off - len(rseqSignature) - 1
			if abort := r.Lo + uint64(off); !t.aborts[abort] && (before < 0 || b[before]&0xf8 != 0xb8) {
				out = append(out, abort)
			}
		}
	}
	return out, nil
}
