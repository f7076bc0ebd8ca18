package kernel

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

// monitors are the commands behind GDB's "monitor", in the order in which help
// lists them.
var monitors []monitor

type monitor struct {
	name, operand, what string
	do                  func(t *Target, operand string) (string, error)
}

func init() {
	monitors = []monitor{
		{"help", "", "these commands", func(*Target, string) (string, error) { return help(), nil }},
		{"markers", "PATTERN", "static tracepoints (strace -m ID) whose names match, as sched:sched_*", (*Target).monitorMarkers},
		{"counts", "", "what happened at each tracepoint of the last run", (*Target).monitorCounts},
		{"offset", "", "how far the kernel lies from where its file says (KASLR)", (*Target).monitorOffset},
		{"memory", "", "how the kernel's memory is read", (*Target).monitorMemory},
	}
}

// Monitor carries out a command of the user.
func (t *Target) Monitor(command string) (string, error) {
	name, operand, _ := strings.Cut(strings.TrimSpace(command), " ")
	for i := range monitors {
		if m := &monitors[i]; m.name == name {
			return m.do(t, strings.TrimSpace(operand))
		}
	}
	return "", stub.ErrUnsupported
}

func help() string {
	var b strings.Builder
	for i := range monitors {
		m := &monitors[i]
		fmt.Fprintf(&b, "monitor %-16s %s\n", strings.TrimSpace(m.name+" "+m.operand), m.what)
	}
	return b.String()
}

func (t *Target) monitorMarkers(pattern string) (string, error) {
	if pattern == "" {
		pattern = "*"
	}
	list, err := t.e.matching(pattern)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "no static tracepoint has a name like " + pattern + "\n", nil
	}
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%#x %s %s\n", m.Addr, m.ID, m.Extra)
	}
	return b.String(), nil
}

func (t *Target) monitorCounts(string) (string, error) {
	if len(t.e.order) == 0 {
		return "there was no run with tracepoints\n", nil
	}
	var b strings.Builder
	for _, st := range t.e.order {
		c := t.e.Counts(st.spec)
		state := "off"
		if st.armed(st.main) {
			state = "on"
		}
		fmt.Fprintf(&b, "%s, %s: %d hits, %d recorded, %d false, %d faults, %d lost, %d missed\n",
			st.name(), state, c.Hits+c.False+c.Faults+st.missed(), c.Hits-min(c.Hits, c.Lost), c.False, c.Faults, c.Lost, st.missed())
	}
	return b.String(), nil
}

func (t *Target) monitorOffset(string) (string, error) {
	slide, err := t.k.Slide()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%#x\n", slide), nil
}

func (t *Target) monitorMemory(string) (string, error) {
	if t.mem.core != nil {
		return fmt.Sprintf("from /proc/kcore (%d segments); what is not there, or zero, by eBPF\n", len(t.mem.core.segments)), nil
	}
	return fmt.Sprintf("by eBPF: %v\n", t.mem.reason), nil
}
