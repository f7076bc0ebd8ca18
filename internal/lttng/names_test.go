package lttng

import "testing"

// TestNames: names of events and fields as LTTng's modules have them.
func TestNames(t *testing.T) {
	for place, want := range map[[2]string]string{
		{"sched", "sched_switch"}: "sched_switch", {"irq", "softirq_entry"}: "irq_softirq_entry", {"irq", "irq_handler_entry"}: "irq_handler_entry",
		{"timer", "hrtimer_start"}: "timer_hrtimer_start", {"timer", "timer_start"}: "timer_start", {"power", "cpu_idle"}: "power_cpu_idle",
		{"kmem", "kmalloc"}: "kmem_kmalloc", {"kmem", "kmem_cache_free"}: "kmem_cache_free", {"net", "netif_receive_skb"}: "net_if_receive_skb",
		{"net", "net_dev_queue"}: "net_dev_queue", {"napi", "napi_poll"}: "napi_poll", {"skb", "kfree_skb"}: "skb_kfree",
		{"syscalls", "sys_enter_openat"}: "syscall_entry_openat", {"syscalls", "sys_exit_openat"}: "syscall_exit_openat",
		{"irq_vectors", "local_timer_entry"}: "x86_irq_vectors_local_timer_entry",
	} {
		if got := EventName(place[0], place[1]); got != want {
			t.Errorf("%v is %s, want %s", place, got, want)
		}
	}
	for expr, want := range map[string]string{
		"args->prev_pid": "prev_tid", "args->prev_prio - 100": "prev_prio", "args->next_comm": "next_comm", "prev->mm": "prev->mm", "str(args->x)": "x",
	} {
		if got := FieldName("sched", "sched_switch", expr); got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
	seen := map[string]bool{}
	for _, s := range Sets() {
		if seen[s.Name] || Find(s.Name) == nil || !s.Syscalls && len(s.Places) == 0 {
			t.Errorf("set %s", s.Name)
		}
		seen[s.Name] = true
		for _, p := range s.Places {
			if len(p.Fields) == 0 {
				t.Errorf("%s has no fields", p.Text())
			}
		}
	}
}
