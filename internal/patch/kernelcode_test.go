package patch

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestKernelCode: where the kernel may replace the breakpoint of a kprobe by a jump.
func TestKernelCode(t *testing.T) {
	const base = 0xffffffff81000000
	no := func(uint64) bool { return false }
	for _, tt := range []struct {
		name, code string
		indirect   func(uint64) bool
		at         uint64
		why        string // a part; "": a jump is possible
		nearest    int64  // -1: nowhere
	}{
		// push %rbp; mov %rsp,%rbp; test %edi,%edi; je 13; mov $1,%eax; pop %rbp; ret
		{"first", "55 4889e5 85ff 7405 b801000000 5d c3 cccc", no, 0, "", 0},
		{"second", "55 4889e5 85ff 7405 b801000000 5d c3 cccc", no, 1, "", 1},
		{"over a branch", "55 4889e5 85ff 7405 b801000000 5d c3 cccc", no, 4, "jcc at +0x6", 1},
		{"one of 5 bytes", "55 4889e5 85ff 7405 b801000000 5d c3 cccc", no, 8, "", 8},
		{"over the end", "55 4889e5 85ff 7405 b801000000 5d c3 cccc", no, 13, "ret at +0xe", 8},
		{"inside", "55 4889e5 85ff 7405 b801000000 5d c3 cccc", no, 5, "no instruction begins", 8},
		{"short", "55 5d 90 cccccc", no, 0, "ends within", -1},
		{"a loop into it", "90 90 90 90 90 90 ebfc c3", no, 0, "jmp at +0x6", -1},
		{"behind the loop", "90 90 90 90 90 90 ebfc b801000000 c3", no, 0, "jmp at +0x6", 8},
		{"an indirect jump", "b801000000 ffe0", no, 0, "indirect jump (at +0x5)", -1},
		{"a retpoline", "b801000000 e9fb0f0000", func(to uint64) bool { return to == base+0x1005 }, 0, "indirect jump (at +0x5)", -1},
		{"a tail call", "b801000000 e9fb0f0000", no, 0, "", 0},
		{"x87", "d9e8 b801000000 c3", no, 0, "instruction at +0x0", 2},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		k := ReadKernelCode(b, base, tt.indirect)
		why := k.NoJump(base + tt.at)
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", tt.name, why, tt.why)
		}
		near := int64(-1)
		if at, ok := k.Nearest(base + tt.at); ok {
			near = int64(at - base)
		}
		if near != tt.nearest {
			t.Errorf("%s: nearest %d, want %d", tt.name, near, tt.nearest)
		}
	}
}
