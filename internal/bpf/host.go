package bpf

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Contents of files in /proc and /sys. Each function gets the text of a file, and returns a neutral result
// for an empty text.

func readTrim(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// statusField returns the value of a line of /proc/PID/status.
func statusField(status, name string) string {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Bits of the needed capabilities (capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

func parseCaps(hex string) uint64 {
	v, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0
	}
	return v
}

// parseLockdown returns the selected word of "none [integrity] confidentiality".
func parseLockdown(text string) string {
	_, rest, ok := strings.Cut(text, "[")
	if !ok {
		return ""
	}
	word, _, ok := strings.Cut(rest, "]")
	if !ok {
		return ""
	}
	return word
}

// parseCPUs parses a list as in /sys/devices/system/cpu/online ("0-3,8").
func parseCPUs(list string) ([]int, error) {
	const most = 8192
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(hi)
		}
		if err != nil || first < 0 || last < first || last >= most {
			return nil, fmt.Errorf("cannot parse the list of CPUs %q", list)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseCPUs(string(b))
}

// tracefsDirs are the usual directories of tracefs; the second is for older systems.
var tracefsDirs = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// findTracefs returns the directory of tracefs, "" if it is not mounted.
func findTracefs() string {
	for _, dir := range tracefsDirs {
		if _, err := os.Stat(filepath.Join(dir, "events")); err == nil {
			return dir
		}
	}
	return ""
}

// mountedTracefs returns where tracefs is mounted, readable or not; "" if nowhere.
func mountedTracefs() string {
	for line := range strings.Lines(readTrim("/proc/self/mounts")) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "tracefs" {
			return f[1]
		}
	}
	return ""
}

// eventSource returns the number of a perf event source ("kprobe"), which the kernel assigns at boot; ok
// reports whether it exists (Linux 4.17 for kprobe and uprobe).
func eventSource(name string) (typ uint32, ok bool) {
	n, err := strconv.ParseUint(readTrim("/sys/bus/event_source/devices/"+name+"/type"), 10, 32)
	return uint32(n), err == nil
}

// sourceBit returns the lowest bit of a field of a perf event source.
func sourceBit(source, field string) uint {
	return parseFormat(readTrim("/sys/bus/event_source/devices/" + source + "/format/" + field))
}

// parseFormat returns the lowest bit from a format file ("config:0", "config:32-63"); 0 if there is none.
func parseFormat(text string) uint {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "config:"), "-")
	n, err := strconv.ParseUint(text, 10, 6)
	if err != nil {
		return 0
	}
	return uint(n)
}
