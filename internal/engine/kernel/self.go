package kernel

import (
	"path"
	"slices"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// ofCPU are events of a CPU and not of the thread that runs there: a switch belongs also to the thread that runs next, and what
// an interrupt does to no thread. The hits of other places that jalon itself causes are not recorded: it would follow its own output.
var ofCPU = []string{
	"sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_waking", "sched_migrate_task", "sched_stat_*",
	"irq_handler_*", "softirq_*", "tasklet_*", "irq_work_*", "nmi_handler", "local_timer_*", "reschedule_*", "call_function_*", "*_apic_*", "x86_platform_ipi_*",
	"*timer_expire_*", "cpu_idle*", "cpu_frequency*",
}

// leavesOutJalon reports whether hits in jalon's own threads are not recorded where all processes are traced.
func leavesOutJalon(t *bpf.Target) bool {
	switch t.Kind {
	case bpf.Tracepoint, bpf.RawTracepoint, bpf.TracedTracepoint:
		return !slices.ContainsFunc(ofCPU, func(pattern string) bool { ok, _ := path.Match(pattern, t.Name); return ok })
	}
	return true
}
