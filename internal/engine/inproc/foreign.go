package inproc

import (
	"bytes"
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// Breakpoints of other tracers: of the kernel (uprobes of perf, bpftrace, or jalon itself), or left by a
// debugger. The file has the program's byte, the memory does not. Code is decoded with the file's byte, and
// the byte in memory is never displaced, moved or written.
//
// Other differences from the file are the program's own: relocations in its text, calls that it patches at
// run time, hooks inside it, jumps of a killed jalon. They are the code that the processor runs, and are
// traced as they are.

const int3 = 0xcc

// nopCall is the length of the call by which the kernel (6.18) replaces the breakpoint of a uprobe at a nop
// of that length.
const nopCall = 5

// foreign has the breakpoints of other tracers that were found, with the number of bytes of each.
type foreign map[uint64]uint64

// others finds the breakpoints of other tracers in a process.
type others struct {
	t     *target
	calls []span  // targets of the calls that the kernel uses instead of breakpoints
	found foreign // in the code that was read for the plans
}

// take replaces other tracers' breakpoints in b, which was read from memory at addr, by the file's bytes, and
// records them.
func (o *others) take(m *module, addr uint64, b []byte) {
	file, err := m.dw.Text(addr-m.bias, len(b))
	if err != nil || len(file) != len(b) || bytes.Equal(file, b) {
		return // there is no file to compare with
	}
	patched := -1 // the last byte that differs and is not a breakpoint
	for i := 0; i < len(b); i++ {
		if b[i] == file[i] {
			continue
		}
		at := addr + uint64(i)
		n := breakpointAt(file[i:], b[i:], at, o.calls)
		if n == 0 || m.dw.Relocated(at-m.bias) || patched >= 0 && i == patched+1 {
			patched = i // int3s fill the rest of the instructions under a jump
			continue
		}
		if own, err := o.t.p.ReadMemory(at, b[i:i+1]); err == nil && own == 1 && b[i] != int3 && n == 1 {
			continue // a breakpoint of the tracer itself, which is hidden here
		}
		o.found[at] = uint64(n)
		i += copy(b[i:i+n], file[i:]) - 1
	}
}

// breakpointAt returns how many bytes at the beginning of mem belong to a breakpoint that is not in the
// file; 0 if there is none.
func breakpointAt(file, mem []byte, addr uint64, calls []span) int {
	switch mem[0] {
	case int3:
		// If the nop is long enough, the kernel replaces the breakpoint by a call at the next hit.
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

// within reports whether a breakpoint of another tracer has bytes in [lo, hi).
func (f foreign) within(lo, hi uint64) bool {
	for a, n := range f {
		if a < hi && lo < a+n {
			return true
		}
	}
	return false
}

// uprobeCalls returns the mappings that are targets of the kernel's calls in place of nops.
func uprobeCalls(maps []process.Mapping) (list []span) {
	for _, m := range maps {
		if m.Path == "[uprobes-trampoline]" {
			list = append(list, span{m.Start, m.End})
		}
	}
	return list
}
