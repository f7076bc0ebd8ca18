package inproc

import (
	"bytes"
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// Breakpoints of others: of the kernel (uprobes of perf, bpftrace, or jalon itself) or
// of a debugger that left them. The byte in memory is not the program's; the file has
// the program's. Code is decoded with the file's byte, and the one in memory is never
// displaced, moved or written.
//
// What else differs from the file is the program's own: relocations in its text, calls
// that it patches at run time, hooks that live inside it, jumps of a jalon that was
// killed. That is code as the processor runs it, and is traced as it is.

const int3 = 0xcc

// nopCall is the length of the call that the kernel (6.18) makes of a uprobe at a nop
// of that length.
const nopCall = 5

// foreign are the breakpoints of others that were found, and how many bytes each takes.
type foreign map[uint64]uint64

// others are the breakpoints of others in a process.
type others struct {
	t     *target
	calls []span  // targets of the calls that the kernel uses instead of breakpoints
	found foreign // as far as code was read for the plans that are made
}

// take replaces other tracers' breakpoints in b, which was read from memory at addr, by the file's bytes, and
// records them.
func (o *others) take(m *module, addr uint64, b []byte) {
	file, err := m.dw.Text(addr-m.bias, len(b))
	if err != nil || len(file) != len(b) || bytes.Equal(file, b) {
		return // what the file does not have cannot be compared
	}
	patched := -1 // the last byte that differs and is no breakpoint's
	for i := 0; i < len(b); i++ {
		if b[i] == file[i] {
			continue
		}
		at := addr + uint64(i)
		n := breakpointAt(file[i:], b[i:], at, o.calls)
		if n == 0 || m.dw.Relocated(at-m.bias) || patched >= 0 && i == patched+1 {
			patched = i // int3s fill what is left of the instructions under a jump
			continue
		}
		if own, err := o.t.p.ReadMemory(at, b[i:i+1]); err == nil && own == 1 && b[i] != int3 && n == 1 {
			continue // a breakpoint of the tracer's own, which does not show this way
		}
		o.found[at] = uint64(n)
		i += copy(b[i:i+n], file[i:]) - 1
	}
}

// breakpointAt is how many bytes at the beginning of mem belong to a breakpoint that
// the file does not have; 0: there is none.
func breakpointAt(file, mem []byte, addr uint64, calls []span) int {
	switch mem[0] {
	case int3:
		// The kernel makes a call of it at the next hit if the nop has room.
		if in, err := patch.Decode(file, addr); err == nil && in.Len == nopCall && isNop(file) {
			return nopCall
		}
		return 1
	case 0xe8:
		if len(mem) < nopCall {
			return 0
		}
		to := addr + nopCall + uint64(int64(int32(binary.LittleEndian.Uint32(mem[1:]))))
		for _, c := range calls {
			if to >= c.lo && to < c.hi {
				return nopCall
			}
		}
	}
	return 0
}

// isNop reports whether code begins with a nop of several bytes.
func isNop(code []byte) bool {
	return bytes.Contains(code[:nopCall-1], []byte{0x0f, 0x1f}) || bytes.IndexByte(code[:nopCall], 0x90) >= 0
}

// within reports whether a breakpoint of another takes bytes in [lo, hi).
func (f foreign) within(lo, hi uint64) bool {
	for a, n := range f {
		if a < hi && lo < a+n {
			return true
		}
	}
	return false
}

// uprobeCalls are the mappings to which the kernel's calls instead of nops lead.
func uprobeCalls(maps []process.Mapping) (list []span) {
	for _, m := range maps {
		if m.Path == "[uprobes-trampoline]" {
			list = append(list, span{m.Start, m.End})
		}
	}
	return list
}
