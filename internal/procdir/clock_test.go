package procdir

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseOffsets(t *testing.T) {
	for _, tt := range []struct {
		text string
		want clockOffsets
	}{
		{"monotonic           0         0\nboottime            0         0\n", clockOffsets{}},
		{"monotonic      864000         5\nboottime          -10 500000000\n", clockOffsets{864000*1e9 + 5, -9.5e9}},
		{"", clockOffsets{}},
		{"monotonic 7\nrealtime 1 1\nboottime x 1\n", clockOffsets{}},
	} {
		if got := parseOffsets(tt.text); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

// TestMonotonic: outside time namespaces the machine's clocks are those of the process.
func TestMonotonic(t *testing.T) {
	if text, err := os.ReadFile("/proc/self/timens_offsets"); err == nil && parseOffsets(string(text)) != (clockOffsets{}) {
		t.Skip("the test runs in a time namespace")
	}
	for name, tt := range map[string]struct {
		clock int32
		own   func() int64
	}{"monotonic": {unix.CLOCK_MONOTONIC, Monotonic}, "boottime": {unix.CLOCK_BOOTTIME, Boottime}} {
		before := now(tt.clock)
		got := tt.own()
		if after := now(tt.clock); got < before || got > after {
			t.Errorf("%s: %d is not between %d and %d", name, got, before, after)
		}
	}
}
