package kernelguest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestGuest_Record: what is recorded on disk in the guest is read there with its values, and filtered.
func TestGuest_Record(t *testing.T) {
	dir := t.TempDir() + "/run"
	vmtest.Output(t, jalon, "record", "-q", "-o", dir, "kprobe:vfs_read", "-c", "count, $regs", "--", calls, "reads")
	var got []int64
	for _, h := range testkit.ParseEvents(t, strings.NewReader(vmtest.Output(t, jalon, "report", dir, "-f", "json", "--where", "count >= 4096"))) {
		if h.Comm != "calls" {
			continue
		}
		got = append(got, h.Num(t, "count"))
		if regs, ok := h.Values["$regs"].(map[string]any); !ok || regs[processor.count[1:]] == nil {
			t.Errorf("%+v", h)
		}
	}
	same(t, "the report", got, []int64{4096, 4097, 5000, 60000})
}

// TestGuest_Flight: a flight recorder with places of the kernel has the newest events at the end.
func TestGuest_Flight(t *testing.T) {
	dir := t.TempDir() + "/run"
	vmtest.Output(t, jalon, "record", "-q", "-o", dir, "--flight", "64k",
		"kprobe:vfs_read if (count >= 4096)", "-c", "count", "rawtracepoint:sys_enter if (id == "+processor.pread+")", "-c", "id", "--", calls, "reads")
	var got []int64
	raw := 0
	for _, h := range testkit.ParseEvents(t, strings.NewReader(vmtest.Output(t, jalon, "report", dir, "-f", "json"))) {
		switch {
		case h.Place == "kprobe:vfs_read" && h.Comm == "calls":
			got = append(got, h.Num(t, "count"))
		case h.Place == "rawtracepoint:sys_enter" && fmt.Sprint(h.Num(t, "id")) == processor.pread:
			raw++
		}
	}
	same(t, "the report", got, []int64{4096, 4097, 5000, 60000})
	if raw < 14 {
		t.Errorf("%d events of the raw tracepoint", raw)
	}
}
