package record

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/event"
)

// stacks gives equal stacks of a process one number. They are followed and named once.
type stacks struct {
	ev    *event.Event // whose fields are encoded
	known map[string]uint32
	key   []byte
	bytes int
	next  uint32
}

// keptStacks bounds the memory of the stacks that are known: then they are written again.
const keptStacks = 64 << 20

// intern implements ctf.Interner.
func (r *Recorder) intern(s *event.Schema, f *event.Field, rec []byte) uint32 {
	i := 0
	for ; i < len(s.Fields); i++ {
		if &s.Fields[i] == f {
			break
		}
	}
	if i == len(s.Fields) {
		return 0
	}
	v := r.stacks.ev.Value(i)
	if v.Status != event.OK {
		return 0
	}
	k := append(r.stacks.key[:0], byte(v.Field.Kind), v.End)
	if v.Truncated {
		k = append(k, 1)
	}
	k = binary.LittleEndian.AppendUint32(k, uint32(r.stacks.ev.Pid))
	if r.s.Epoch != nil {
		k = binary.LittleEndian.AppendUint64(k, r.s.Epoch(r.stacks.ev, &v))
	}
	k = append(append(k, v.Data...), v.Stack...)
	r.stacks.key = k
	if n, ok := r.stacks.known[string(k)]; ok {
		return n
	}
	if r.stacks.bytes += len(k) + 64; r.stacks.known == nil || r.stacks.bytes > keptStacks {
		r.stacks.known, r.stacks.bytes = map[string]uint32{}, len(k)
	}
	r.stacks.next++
	n := r.stacks.next
	r.stacks.known[string(k)] = n
	if r.s.Unwind != nil {
		r.state.Stack(event.Monotonic(), n, r.opt.Redact.frames(r.s.Unwind(r.stacks.ev, &v)))
	}
	return n
}
