package procdir

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// In a time namespace CLOCK_MONOTONIC and CLOCK_BOOTTIME of processes have offsets. The kernel's own clocks, by which its programs and perf
// give times, have none. jalon uses the machine's clocks everywhere, so that events of both engines have one time line in containers too.

// Monotonic is the machine's CLOCK_MONOTONIC in nanoseconds.
func Monotonic() int64 { return now(unix.CLOCK_MONOTONIC) - offsets().monotonic }

// Boottime is the machine's CLOCK_BOOTTIME in nanoseconds: CLOCK_MONOTONIC and the time for which the machine has slept.
func Boottime() int64 { return now(unix.CLOCK_BOOTTIME) - offsets().boottime }

func now(clock int32) int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(clock, &ts) // fails for unknown clocks only
	return ts.Nano()
}

// clockOffsets are those of this process's time namespace, which does not change.
type clockOffsets struct{ monotonic, boottime int64 }

var offsets = sync.OnceValue(func() clockOffsets {
	text, err := os.ReadFile("/proc/self/timens_offsets") // Linux 5.6; missing in kernels without time namespaces
	if err != nil {
		return clockOffsets{}
	}
	return parseOffsets(string(text))
})

// parseOffsets reads lines "CLOCK SECONDS NANOSECONDS".
func parseOffsets(text string) (o clockOffsets) {
	to := map[string]*int64{"monotonic": &o.monotonic, "boottime": &o.boottime}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || to[f[0]] == nil {
			continue
		}
		s, err1 := strconv.ParseInt(f[1], 10, 64)
		ns, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 == nil && err2 == nil {
			*to[f[0]] = s*1e9 + ns
		}
	}
	return o
}
