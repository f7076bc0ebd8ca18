package bpf

import (
	"os"
	"strings"
	"testing"
)

// TestPrint writes to the kernel's trace and looks for the line there.
func TestPrint(t *testing.T) {
	k := openKernel(t)
	const name = "/sys/kernel/tracing/trace"
	if _, err := os.Stat(name); err != nil {
		t.Skip("tracefs is not mounted")
	}
	long := strings.Repeat("x", 2*printMost)
	for _, text := range []string{"jalon's test of 100% %s", "", long} {
		check(t, k.Print(text))
	}
	trace, err := os.ReadFile(name)
	check(t, err)
	if !strings.Contains(string(trace), "bpf_trace_printk: jalon's test of 100% %s") {
		t.Error("the text is not in the trace")
	}
	if !strings.Contains(string(trace), long[:printMost-1]) || strings.Contains(string(trace), long[:printMost]) {
		t.Error("a long text is not cut to its length")
	}
}

// TestJiffies: they go on, by the kernel's own count.
func TestJiffies(t *testing.T) {
	k := openKernel(t)
	first, err := k.Jiffies()
	check(t, err)
	for {
		next, err := k.Jiffies()
		check(t, err)
		if next < first {
			t.Fatalf("%d after %d", next, first)
		}
		if next > first {
			return
		}
	}
}
