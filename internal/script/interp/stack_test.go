package interp

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/script/printf"
)

// TestStackLimit: what the frames of a stack are counted for, and which notes a limit leaves.
func TestStackLimit(t *testing.T) {
	frames := []printf.Frame{{PC: 1, Inlined: true}, {PC: 1}, {PC: 2}}
	end, whole := printf.Frame{Function: "the stack goes on", Note: true, End: true}, printf.Frame{Function: "by frame pointers", Note: true}
	for _, c := range []struct {
		list        []printf.Frame
		limit, want int
		depth       uint64
	}{
		{frames, 1, 2, 1},
		{frames, 2, 3, 2},
		{frames, 127, 3, 2},
		{append(frames[:3:3], end), 127, 4, 2},
		{append(frames[:3:3], end), 2, 3, 2},
		{append(frames[:3:3], end), 1, 2, 1},
		{append(frames[:3:3], whole), 2, 4, 2},
		{append(frames[:3:3], whole), 1, 3, 1},
	} {
		got := limited(c.list, c.limit)
		if len(got) != c.want || depth(got) != c.depth {
			t.Errorf("%v limited to %d: %v, depth %d", c.list, c.limit, got, depth(got))
		}
	}
	if stackValue(append(frames[:3:3], end)).s == stackValue(append(frames[:3:3], whole)).s {
		t.Error("stacks with different notes are the same key")
	}
}
