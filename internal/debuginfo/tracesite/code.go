package tracesite

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/patch"
)

// maxWalk limits the instructions decoded from one branch. The longest branch evaluates a condition and saves a
// few registers.
const maxWalk = 120

// decode reads the instruction at vaddr.
func (k *kernel) decode(vaddr uint64) (patch.Inst, bool) {
	if !k.f.IsCode(vaddr) {
		return patch.Inst{}, false
	}
	in, err := patch.Decode(k.f.ReadVaddr(vaddr, 15), vaddr)
	return in, err == nil
}

// callFrom follows the code from a branch's beginning and returns the nearest call of the event's listeners, or
// 0. It follows paths in the order of their length.
func (k *kernel) callFrom(from uint64, event string) uint64 {
	queue, seen := []uint64{from}, map[uint64]bool{}
	for n := 0; len(queue) > 0 && n < maxWalk; n++ {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		in, ok := k.decode(at)
		if !ok {
			continue
		}
		if k.nops[at] { // another static branch: the code after it does not belong to this one
			queue = append(queue, in.Next())
			continue
		}
		switch in.Class {
		case patch.Call, patch.Jmp: // a jump to the listeners is a tail call
			if k.listeners[in.Target] == event {
				return at
			}
			if in.Class == patch.Jmp {
				queue = append(queue, in.Target)
				continue
			}
		case patch.Jcc, patch.Loop:
			queue = append(queue, in.Target)
		default:
			if in.Class.Ends() {
				continue
			}
		}
		queue = append(queue, in.Next())
	}
	return 0
}

// fromCode finds the sites by the calls of the listeners in all executable
// sections.
func (k *kernel) fromCode() []Site {
	var out []Site
	for _, sec := range k.f.Sections() {
		if !sec.Alloc || !sec.Exec || sec.NoBits {
			continue
		}
		b := k.f.ReadVaddr(sec.Vaddr, int(min(sec.Size, 1<<31)))
		for i := 0; i+5 <= len(b); i++ {
			if b[i] != 0xe8 && b[i] != 0xe9 {
				continue
			}
			at := sec.Vaddr + uint64(i)
			target := at + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(b[i+1:]))))
			if name, ok := k.listeners[target]; ok {
				if s, ok := k.around(at, name); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// around makes the site of a call. It decodes the function from its start; the branch begins where control
// cannot come from the previous instruction. The code does not show which nop leads there.
func (k *kernel) around(call uint64, event string) (Site, bool) {
	fn, end, ok := k.f.FuncAt(call)
	if !ok || fn.Value > call || end-fn.Value > 1<<20 {
		return Site{}, false
	}
	if _, ok := k.listeners[fn.Value]; ok {
		return Site{}, false // the trampoline itself
	}
	s := Site{Event: event, Call: call, Branch: fn.Value}
	exact, ended := false, false
	for at := fn.Value; at <= call; {
		in, ok := k.decode(at)
		if !ok {
			return Site{}, false
		}
		exact = exact || at == call
		// An int3 after a return or jump is padding against speculation.
		if ended = in.Class.Ends() || ended && in.Class == patch.Int3; ended && at < call {
			s.Branch = in.Next()
		}
		at = in.Next()
	}
	if !exact { // bytes that only look like a call
		return Site{}, false
	}
	k.finish(&s)
	return s, true
}
