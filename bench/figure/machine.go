package figure

import (
	"fmt"
	"os"
	"strings"
)

// Machine returns the names of the kernel and the processor.
func Machine() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	model, cpus := "", 0
	for line := range strings.Lines(string(cpuinfo)) {
		if _, v, ok := strings.Cut(line, "model name\t: "); ok {
			model, cpus = strings.TrimSpace(v), cpus+1
		}
	}
	return fmt.Sprintf("Linux %s, %s, %d CPUs", strings.TrimSpace(string(release)), model, cpus)
}
