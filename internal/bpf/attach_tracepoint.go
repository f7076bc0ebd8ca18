package bpf

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// attachTracepoint attaches to a trace event's record, through perf. The programs of an event affect all
// its users on the machine: see the package's comment on return values.
func attachTracepoint(k *Kernel, prog *ebpf.Program, t *Target) ([]part, error) {
	event, err := k.openTraceEvent(t.Group, t.Name)
	if err != nil {
		return nil, err
	}
	return k.putOnOne(event, prog, t.Cookie)
}

// openTraceEvent opens a disabled perf event on a trace event.
func (k *Kernel) openTraceEvent(group, name string) (int, error) {
	id, err := k.EventID(group, name)
	if err != nil {
		return -1, err
	}
	return onAnyCPU(&unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}, 0)
}

// EventID returns the number of a trace event, from the file "id" of its directory in tracefs.
func (k *Kernel) EventID(group, name string) (uint64, error) {
	if k.features.Tracefs == "" {
		return 0, errNoTracefs
	}
	if !isEventName(group) || !isEventName(name) {
		return 0, unix.ENOENT
	}
	b, err := os.ReadFile(filepath.Join(k.features.Tracefs, "events", group, name, "id"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}

// isEventName prevents names that lead to other files.
func isEventName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}
