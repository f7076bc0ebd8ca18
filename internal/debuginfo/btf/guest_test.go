package btf

import (
	"os"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

// TestGuests runs on Debian's kernels what needs symbols of variables: on the one
// that boots fastest, with JALON_FULL=1 on all.
func TestGuests(t *testing.T) {
	kernels := vmtest.Kernels[:1]
	if os.Getenv("JALON_FULL") == "1" {
		kernels = vmtest.Kernels
	}
	for _, kernel := range kernels {
		t.Run(kernel, func(t *testing.T) {
			vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: "^TestPerCPUSymbols$"})
		})
	}
}
