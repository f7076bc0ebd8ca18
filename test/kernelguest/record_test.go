package kernelguest

import (
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
