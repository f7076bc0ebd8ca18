package lttng

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// renamed are the events of the kernel that LTTng calls otherwise: in these systems one name begins with old, the other with new. Names that
// begin with new are equal.
var renamed = []struct{ system, old, new string }{
	{"irq", "softirq_", "irq_softirq_"},
	{"timer", "hrtimer_", "timer_hrtimer_"},
	{"timer", "itimer_", "timer_itimer_"},
	{"power", "", "power_"},
	{"irq_vectors", "", "x86_irq_vectors_"},
	{"kmem", "", "kmem_"},
	{"net", "netif_", "net_if_"},
	{"net", "napi_", "net_napi_"},
	{"skb", "kfree_skb", "skb_kfree"},
	{"skb", "consume_skb", "skb_consume"},
	{"syscalls", "sys_enter_", "syscall_entry_"},
	{"syscalls", "sys_exit_", "syscall_exit_"},
}

// Tracepoint is the static tracepoint of the kernel that a place is; "" if it is none.
func Tracepoint(place string) (system, event string) {
	if rest, ok := strings.CutPrefix(place, "tracepoint:"); ok {
		system, event, _ = strings.Cut(rest, ":")
	}
	return system, event
}

// EventName is LTTng's name of a static tracepoint.
func EventName(system, event string) string {
	for _, r := range renamed {
		if rest, ok := strings.CutPrefix(event, r.old); ok && r.system == system && !strings.HasPrefix(event, r.new) {
			return r.new + rest
		}
	}
	return event
}

// Computed is LTTng's name for an expression of a set that is more than a field or member; "" for any other.
func Computed(system, event, expr string) string {
	if name := fieldNames()[system+":"+event][expr]; strings.ContainsAny(expr, " ?") {
		return name
	}
	return ""
}

// member matches an expression that is a field of the kernel's record, also as text.
var member = lazyregexp.New(`^(?:str\()?\(?args(?:->|\.)([A-Za-z_][A-Za-z0-9_]*)\)?(/s)?$`)

// FieldName is LTTng's name for what an expression has at a static tracepoint; the expression if there is none.
func FieldName(system, event, expr string) string {
	if name, ok := fieldNames()[system+":"+event][expr]; ok {
		return name
	}
	if m := member.FindStringSubmatch(expr); m != nil {
		return m[1]
	}
	return expr
}
