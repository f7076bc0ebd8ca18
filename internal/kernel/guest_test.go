package kernel

import (
	"os"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

// inGuests names the tests that need what a machine's own kernel may lack: kprobes,
// fentry, fexit; and the plain uprobes, since kernels differ in what a program's
// return value does. With JALON_FULL=1 guests run all tests of the package.
const inGuests = "Function|Kprobe|^TestUprobe$"

// TestGuests runs the package's tests under the kernels of the guests. Nothing may
// be skipped there but links to many places at once, which 6.1 does not have.
func TestGuests(t *testing.T) {
	run := inGuests
	if os.Getenv("JALON_FULL") != "" {
		run = "."
	}
	for _, kernel := range vmtest.Kernels {
		t.Run(kernel, func(t *testing.T) {
			r := vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: run})
			for _, test := range r.Tests {
				if test.Status == vmtest.Skipped && (kernel != "6.1" || !strings.Contains(test.Name, "multi=true")) {
					t.Errorf("%s was skipped in a kernel that has all it needs:\n%s", test.Name, test.Output)
				}
			}
		})
	}
}
