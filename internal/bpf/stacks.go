package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/jalon-trace/jalon/internal/fail"
)

// Stacks is a table of stacks that programs make (bpf_get_stackid): each has a place by its hash. It exists until it is closed and
// the last program that refers to it is closed too.
type Stacks struct {
	name   string
	m      *ebpf.Map
	frames int
}

// NewStacks makes a table for entries stacks of at most frames frames.
func (k *Kernel) NewStacks(name string, frames, entries int) (*Stacks, error) {
	op := fmt.Sprintf("make the kernel's table of %d stacks", entries)
	if frames <= 0 || entries <= 0 || frames > math.MaxInt32/8 || entries > math.MaxInt32 {
		return nil, &fail.Error{Op: op, Err: fmt.Errorf("stacks of %d frames", frames)}
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: objectName(name), Type: ebpf.StackTrace, KeySize: 4, ValueSize: uint32(8 * frames), MaxEntries: uint32(entries)})
	if err != nil {
		return nil, k.explain(err, &attempt{op: op})
	}
	return &Stacks{name, m, frames}, nil
}

// MaxStackFrames is how many frames stacks of the kernel have at most (kernel.perf_event_max_stack).
func MaxStackFrames() int {
	const usual = 127
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_max_stack")
	if err != nil {
		return usual
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n <= 0 {
		return usual
	}
	return min(n, usual)
}

// Frames returns the return addresses of the stack at a place, innermost first; nil if it has none.
func (s *Stacks) Frames(place uint32) ([]uint64, error) {
	b := make([]byte, 8*s.frames)
	if err := s.m.Lookup(place, &b); err != nil {
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil, nil
		}
		return nil, wrap("reading the kernel's table of stacks", err)
	}
	var pcs []uint64
	for ; len(b) >= 8; b = b[8:] {
		pc := binary.LittleEndian.Uint64(b)
		if pc == 0 {
			break
		}
		pcs = append(pcs, pc)
	}
	return pcs, nil
}

// Close ends the use of the table by this process.
func (s *Stacks) Close() error {
	if err := s.m.Close(); err != nil {
		return wrap("closing the kernel's table of stacks", err)
	}
	return nil
}
