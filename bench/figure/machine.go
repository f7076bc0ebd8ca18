package figure

import (
	"fmt"
	"os"
	"strings"
)

// Machine returns the names of the kernel and the processor.
func Machine() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	release, _, _ := strings.Cut(strings.TrimSpace(string(text)), "-") // without the builder's suffix
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	model, cpus := "", 0
	for line := range strings.Lines(string(cpuinfo)) {
		if _, v, ok := strings.Cut(line, "model name\t: "); ok {
			model, cpus = strings.TrimSpace(v), cpus+1
		}
	}
	return fmt.Sprintf("Linux %s, %s, %d CPUs", release, model, cpus)
}
