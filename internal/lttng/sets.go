package lttng

import (
	"slices"
	"strings"
	"sync"
)

// Set is a set of places that are recorded together.
type Set struct {
	Name, Help string
	Places     []Place
	// Syscalls: the entries and returns of all system calls belong to it.
	Syscalls bool
}

// Place is a place of a set, with what is collected there.
type Place struct {
	// System and Event are those of a static tracepoint; System is empty for places in programs.
	System, Event string
	Fields        []Field
}

// Field is a value and its name in viewers.
type Field struct{ Name, Expr string }

// Text is the place in the notation of the command line.
func (p *Place) Text() string {
	if p.System == "" {
		return p.Event
	}
	return "tracepoint:" + p.System + ":" + p.Event
}

// The tables: a place a line, its fields behind it. A field is NAME for args->NAME of the kernel's record, or NAME=EXPR without blanks.
// LTTng counts priorities from that of a normal thread of nice -20 (MAX_RT_PRIO, 100).

const schedTable = `
sched:sched_switch prev_comm prev_tid=args->prev_pid prev_prio=args->prev_prio-100 prev_state next_comm next_tid=args->next_pid next_prio=args->next_prio-100
sched:sched_waking comm tid=args->pid prio=args->prio-100 target_cpu
sched:sched_wakeup comm tid=args->pid prio=args->prio-100 target_cpu
sched:sched_wakeup_new comm tid=args->pid prio=args->prio-100 target_cpu
sched:sched_migrate_task comm tid=args->pid prio=args->prio-100 orig_cpu dest_cpu
sched:sched_pi_setprio comm tid=args->pid oldprio=args->oldprio-100 newprio=args->newprio-100
`

const lifeTable = `
sched:sched_process_fork parent_comm=parent->comm parent_tid=parent->pid parent_pid=parent->tgid child_comm=child->comm child_tid=child->pid child_pid=child->tgid
sched:sched_process_exec filename tid=args->pid old_tid=args->old_pid
sched:sched_process_exit comm tid=args->pid prio=args->prio-100 group_dead
sched:sched_process_free comm tid=args->pid prio=args->prio-100
`

const interruptTable = `
irq:irq_handler_entry irq name
irq:irq_handler_exit irq ret
irq:softirq_raise vec
irq:softirq_entry vec
irq:softirq_exit vec
timer:hrtimer_expire_entry hrtimer now function
timer:hrtimer_expire_exit hrtimer
irq_vectors:local_timer_entry vector
irq_vectors:local_timer_exit vector
irq_vectors:reschedule_entry vector
irq_vectors:reschedule_exit vector
irq_vectors:call_function_single_entry vector
irq_vectors:call_function_single_exit vector
power:cpu_idle state cpu_id
power:cpu_frequency state cpu_id
`

const blockTable = `
block:block_rq_insert dev sector nr_sector bytes rwbs comm
block:block_rq_issue dev sector nr_sector bytes rwbs comm
block:block_rq_merge dev sector nr_sector bytes rwbs comm
block:block_rq_requeue dev sector nr_sector rwbs
block:block_rq_complete dev sector nr_sector error rwbs
block:block_rq_error dev sector nr_sector error rwbs
block:block_bio_queue dev sector nr_sector rwbs comm
block:block_bio_backmerge dev sector nr_sector rwbs comm
block:block_bio_frontmerge dev sector nr_sector rwbs comm
block:block_bio_complete dev sector nr_sector error rwbs
block:block_getrq dev sector nr_sector rwbs comm
block:block_plug comm
block:block_unplug nr_rq comm
block:block_split dev sector new_sector rwbs comm
block:block_touch_buffer dev sector size
block:block_dirty_buffer dev sector size
`

const netTable = `
net:net_dev_queue skbaddr len name
net:net_dev_start_xmit name queue_mapping skbaddr len protocol
net:net_dev_xmit skbaddr len rc name
net:netif_receive_skb skbaddr len name
net:netif_rx skbaddr len name
napi:napi_poll napi dev_name work budget
skb:consume_skb skbaddr
skb:kfree_skb skbaddr location protocol reason
sock:inet_sock_set_state skaddr oldstate newstate sport dport family protocol
tcp:tcp_retransmit_skb skbaddr skaddr state sport dport family
udp:udp_fail_queue_rcv_skb rc sport dport family
`

const pthreadTable = `
pthread_create thread=arg0 start_routine=arg2 arg=arg3
pthread_create%return status=$retval
pthread_join thread=arg0
pthread_join%return status=$retval
pthread_exit retval=arg0
pthread_mutex_lock mutex=arg0
pthread_mutex_lock%return mutex=@entry(arg0) status=$retval
pthread_mutex_trylock%return mutex=@entry(arg0) status=$retval
pthread_mutex_unlock mutex=arg0
pthread_cond_wait cond=arg0 mutex=arg1
pthread_cond_wait%return cond=@entry(arg0) status=$retval
pthread_cond_timedwait cond=arg0 mutex=arg1
pthread_cond_timedwait%return cond=@entry(arg0) status=$retval
pthread_cond_signal cond=arg0
pthread_cond_broadcast cond=arg0
`

const mallocTable = `
malloc%return size=@entry(arg0) ptr=$retval
calloc%return nmemb=@entry(arg0) size=@entry(arg1) ptr=$retval
realloc%return in_ptr=@entry(arg0) size=@entry(arg1) ptr=$retval
free ptr=arg0
memalign%return alignment=@entry(arg0) size=@entry(arg1) ptr=$retval
posix_memalign%return out_ptr=@entry(arg0) alignment=@entry(arg1) size=@entry(arg2) result=$retval
aligned_alloc%return alignment=@entry(arg0) size=@entry(arg1) ptr=$retval
`

var sets = []Set{
	{Name: "core", Help: "what Trace Compass's views of threads, CPUs and critical paths need: switches, wake-ups, life cycle, interrupts, timers", Places: parse(schedTable + lifeTable + interruptTable)},
	{Name: "life", Help: "fork, exec and exit of processes and threads: with the state in the trace, what runs at any time", Places: parse(lifeTable)},
	{Name: "sched", Help: "switches, wake-ups, migrations, life cycle of threads", Places: parse(schedTable + lifeTable)},
	{Name: "syscalls", Help: "entries and returns of all system calls, with their arguments", Syscalls: true},
	{Name: "block", Help: "requests to disks", Places: parse(blockTable)},
	{Name: "net", Help: "packets, their losses, states of TCP", Places: parse(netTable)},
	{Name: "pthread", Help: "threads, mutexes and condition variables of the program's libc", Places: parse(pthreadTable)},
	{Name: "malloc", Help: "the program's memory: malloc, calloc, realloc, free and others", Places: parse(mallocTable)},
}

// Sets are all sets.
func Sets() []Set { return slices.Clone(sets) }

// Names are the names of all sets.
func Names() (list []string) {
	for i := range sets {
		list = append(list, sets[i].Name)
	}
	return list
}

// Find returns the set of a name; nil if there is none.
func Find(name string) *Set {
	for i := range sets {
		if sets[i].Name == name {
			return &sets[i]
		}
	}
	return nil
}

// parse reads a table.
func parse(table string) (list []Place) {
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		p := Place{Event: words[0]}
		if system, event, ok := strings.Cut(words[0], ":"); ok {
			p.System, p.Event = system, event
		}
		for _, w := range words[1:] {
			name, expr, ok := strings.Cut(w, "=")
			switch {
			case name == "rwbs":
				expr = flagsOfRequest
			case !ok:
				expr = "args->" + name
			}
			p.Fields = append(p.Fields, Field{name, spaced(expr)})
		}
		list = append(list, p)
	}
	return list
}

// spaced is an expression as it is shown.
func spaced(expr string) string {
	if x, ok := strings.CutSuffix(expr, "-100"); ok {
		return x + " - 100"
	}
	return expr
}

// fieldNames are the names of expressions that are not just fields of the record, by place.
var fieldNames = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := range sets {
		for _, p := range sets[i].Places {
			if p.System == "" {
				continue
			}
			m := map[string]string{}
			for _, f := range p.Fields {
				m[f.Expr] = f.Name
			}
			all[p.System+":"+p.Event] = m
		}
	}
	return all
})
