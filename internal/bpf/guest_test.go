package bpf

import (
	"os"
	"regexp"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

// inGuests names the tests of features that a machine's own kernel may lack: kprobes, fentry, fexit. It
// includes plain uprobes, because kernels differ in the effect of a program's return value, and the
// iterators, because their objects differ. With JALON_FULL=1, guests run all tests of the package.
const inGuests = "Function|Kprobe|^TestUprobe$|^TestTasks$|^TestMapped$|^TestOpened$"

// mayBeSkipped names, for each kernel, the tests that may be skipped in its guest: no
// guest has the program perf, and 6.1 has no links to many places at once; on arm64 not for kprobes either.
var mayBeSkipped = map[string]*regexp.Regexp{
	"6.1":  regexp.MustCompile("^(TestGatePerfRecord|TestEventNumbers)$|/[^/]*multi=true$"),
	"6.12": regexp.MustCompile("^(TestGatePerfRecord|TestEventNumbers)$"),

	"6.12 arm64": regexp.MustCompile("^(TestGatePerfRecord|TestEventNumbers)$|/k(ret)?probe_multi=true$"),
}

// TestGuests runs the package's tests under the kernels of the guests.
func TestGuests(t *testing.T) {
	run := inGuests
	if os.Getenv("JALON_FULL") != "" {
		run = "."
	}
	for _, kernel := range vmtest.Kernels {
		skipped := mayBeSkipped[kernel]
		if s := mayBeSkipped[kernel+" "+vmtest.Arch]; s != nil {
			skipped = s
		}
		t.Run(kernel, func(t *testing.T) {
			r := vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: run})
			for _, test := range r.Tests {
				if test.Status == vmtest.Skipped && !skipped.MatchString(test.Name) {
					t.Errorf("%s was skipped although the kernel has all needed features:\n%s", test.Name, test.Output)
				}
			}
		})
	}
}
