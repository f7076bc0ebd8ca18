package ebpf

import (
	"os"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

// TestGuests runs the tests under the kernels of the guests, which lack what this
// machine's may have: the newer instructions (6.1), loads of any address (both).
// All kernels, more tests and more programs with JALON_FULL=1.
func TestGuests(t *testing.T) {
	kernels, tests, runs := vmtest.Kernels[:1], "Differential|Uprobe|Typed|Walk|Tables|Interned|LateSpaces|ManyUpdates|RetiredSlot", "60"
	if os.Getenv("JALON_FULL") != "" {
		kernels, tests, runs = vmtest.Kernels, "Differential|Operations|Deep|Null|Uprobe|Typed|RawTracepoint|Walk|Tables|Interned|LateSpaces|ManyUpdates|RetiredSlot", "2000"
	}
	for _, kernel := range kernels {
		t.Run(kernel, func(t *testing.T) {
			vmtest.Run(t, vmtest.Config{
				Kernel: kernel, Run: tests,
				Env: []string{"JALON_EBPF_RUNS=" + runs, "JALON_EBPF_EVERY=5"},
			})
		})
	}
}
