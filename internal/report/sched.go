package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// schedule is what a trace says of threads: when they ran, waited, and were woken, by the kernel's events.
type schedule struct {
	threads map[int]*schedThread
	cpus    map[int][]cpuStep
	calls   []string // names of system calls
	irqs    []string // names of interrupts
	first   int64
	last    int64
	events  int
	// Interrupts: the trace has events of interrupts, so that who woke a thread is known for sure.
	interrupts bool
}

type schedThread struct {
	comm  string
	steps []schedStep
	call  int // system call that it is in: index in calls plus 1
}

// schedStep is a change of a thread. Steps are in order of time.
type schedStep struct {
	at    int64
	kind  stepOf
	state uint16 // stepOut: the kernel's prev_state
	cpu   int32
	other int32 // stepWake: the thread that woke it, 0 is an interrupt; stepOut: the thread that runs next
	name  int32 // stepWake by an interrupt: its index in irqs plus 1; stepOut: the system call's in calls plus 1
}

type stepOf uint8

const (
	stepIn    stepOf = iota // it runs
	stepOut                 // it does not any more
	stepWake                // what it waited for has happened
	stepFound               // it runs since this time or a later one: the switch to it is not in the trace
	stepGone                // it runs no more: the switch from it is not in the trace
)

// cpuStep says that a thread runs on a CPU from a time on.
type cpuStep struct {
	at  int64
	tid int32
}

// maxSched bounds the events that are in memory.
const maxSched = 20_000_000

// schedSite is what the events of a site mean, with the fields that are of interest.
type schedSite struct {
	kind   schedEvent
	name   string // of an interrupt or system call
	fields map[string]format.Leaf
}

type schedEvent uint8

const (
	otherEvent schedEvent = iota
	switchEvent
	wakeEvent
	enterInterrupt
	leaveInterrupt
	enterCall
	leaveCall
)

// schedReader reads the events of a schedule.
type schedReader struct {
	s       *schedule
	simples *format.Simples
	sites   map[*event.Schema]*schedSite
	inside  map[int][]int32 // by CPU: the interrupts that are being handled
	wakeup  string          // the event that is the wake-up
	left    map[int]int64   // by CPU: when a device's interrupt ended last
	joined  []ctf.Joined    // the traces of which the trace was made, whose threads have other numbers in it than in the fields
}

// readSchedule reads a trace.
func readSchedule(r *Reader) (*schedule, error) {
	x := &schedReader{
		s:       &schedule{threads: map[int]*schedThread{}, cpus: map[int][]cpuStep{}},
		simples: format.NewSimples(&format.Trace{Unwind: r.Unwind, Symbol: r.Symbol()}), sites: map[*event.Schema]*schedSite{}, inside: map[int][]int32{}, left: map[int]int64{}, joined: r.Trace.Info.Joined,
	}
	has := map[string]bool{}
	for _, s := range r.Schemas() {
		has[eventOf(s)] = true
	}
	x.wakeup = "sched_waking" // in the thread that wakes; sched_wakeup may be on the CPU of the thread that is woken
	if !has[x.wakeup] {
		x.wakeup = "sched_wakeup"
	}
	if !has["sched_switch"] || !has[x.wakeup] {
		return nil, errors.New("--critical-path needs the kernel's events of all threads: jalon record -a tracepoint:sched:sched_switch tracepoint:sched:sched_waking ...")
	}
	for _, s := range r.Schemas() {
		site := x.site(s)
		if err := site.check(s); err != nil {
			return nil, err
		}
		x.sites[s] = site
		x.s.interrupts = x.s.interrupts || site.kind == enterInterrupt
	}
	return x.s, r.Each(x.event)
}

// id is the number of a thread in the trace for the one in a field of an event.
func (x *schedReader) id(ev *event.Event, tid int64) int64 {
	if tid <= 0 {
		return tid
	}
	ids := 0
	for i := range x.joined {
		if ev.CPU >= x.joined[i].CPUs {
			ids = x.joined[i].IDs
		}
	}
	return tid + int64(ids)
}

// eventOf is the name of the kernel's event at a place: sched_switch of tracepoint:sched:sched_switch.
func eventOf(s *event.Schema) string {
	place, _, _ := strings.Cut(s.Place, " ")
	return place[strings.LastIndexByte(place, ':')+1:]
}

var (
	interruptEvent = lazyregexp.New(`^((irq_handler|softirq|tasklet|local_timer|hrtimer_expire|timer_expire|reschedule|call_function|call_function_single|irq_work|x86_platform_ipi|error_apic|spurious_apic|thermal_apic|threshold_apic|deferred_error_apic|irq_matrix))_(entry|exit)$`)
	callEvent      = lazyregexp.New(`^(?:sys_|syscall_|syscall_entry_|syscall_exit_)?(enter|exit)_(\w+)$`)
	callPlace      = lazyregexp.New(`^syscall:(\w+)(:exit)?$`)
)

func (x *schedReader) site(s *event.Schema) *schedSite {
	name := eventOf(s)
	site := &schedSite{fields: fieldsOf(s)}
	switch {
	case name == "sched_switch":
		site.kind = switchEvent
	case name == x.wakeup || name == "sched_wakeup_new":
		site.kind = wakeEvent
	default:
		if m := interruptEvent.FindStringSubmatch(name); m != nil {
			site.name = strings.ReplaceAll(m[2], "_", " ")
			if site.kind = enterInterrupt; m[3] == "exit" {
				site.kind = leaveInterrupt
			}
		} else if m := callPlace.FindStringSubmatch(s.Place); m != nil {
			site.name = m[1]
			if site.kind = enterCall; m[2] != "" {
				site.kind = leaveCall
			}
		} else if m := callEvent.FindStringSubmatch(name); m != nil && strings.Contains(s.Place, "syscall") {
			site.name = m[2]
			if site.kind = enterCall; m[1] == "exit" {
				site.kind = leaveCall
			}
		}
	}
	return site
}

// fieldsOf are the fields of a schema by their names: those of a static tracepoint's own record, or those that were recorded.
func fieldsOf(s *event.Schema) map[string]format.Leaf {
	list := map[string]format.Leaf{}
	for _, l := range format.LeavesOf(s) {
		list[l.Name[strings.LastIndexAny(l.Name, ">.$")+1:]] = l
	}
	for old, new := range map[string]string{"prev_tid": "prev_pid", "next_tid": "next_pid", "tid": "pid"} { // LTTng's names
		if f, ok := list[old]; ok {
			if _, has := list[new]; !has {
				list[new] = f
			}
		}
	}
	return list
}

// check reports fields that an event does not have.
func (x *schedSite) check(s *event.Schema) error {
	var need []string
	switch x.kind {
	case switchEvent:
		need = []string{"prev_pid", "prev_state", "next_pid"}
	case wakeEvent:
		need = []string{"pid"}
	}
	for _, name := range need {
		if _, ok := x.fields[name]; !ok {
			return fmt.Errorf("--critical-path: the events of %s were recorded without %s: record them without a list (-c), or with it", s.Place, name)
		}
	}
	return nil
}

// number and text are the values of fields.
func (x *schedReader) number(ev *event.Event, site *schedSite, name string) (int64, bool) {
	s := x.value(ev, site, name)
	switch s.Kind {
	case format.SimpleInt:
		return s.Int, true
	case format.SimpleUint:
		return int64(s.Uint), true
	}
	return 0, false
}

func (x *schedReader) text(ev *event.Event, site *schedSite, name string) string {
	if s := x.value(ev, site, name); s.Kind == format.SimpleText {
		return string(s.Text)
	}
	return ""
}

func (x *schedReader) value(ev *event.Event, site *schedSite, name string) format.Simple {
	f, ok := site.fields[name]
	if !ok {
		return format.Simple{}
	}
	v := ev.Value(f.Index)
	return x.simples.Leaf(ev, &v, &f)
}

func (x *schedReader) thread(tid int, comm string) *schedThread {
	t := x.s.threads[tid]
	if t == nil {
		t = &schedThread{}
		x.s.threads[tid] = t
	}
	if comm != "" && t.comm != comm {
		t.comm = comm
	}
	return t
}

func (x *schedReader) event(ev *event.Event) error {
	s := x.s
	if s.first == 0 {
		s.first = ev.TimeNS
	}
	s.last = ev.TimeNS
	site := x.sites[ev.Schema]
	switch site.kind {
	case switchEvent:
		x.switches(ev, site)
	case wakeEvent:
		x.wakes(ev, site)
	case enterInterrupt:
		name := site.name
		if vector, ok := x.number(ev, site, "vec"); ok && x.ownNetwork(ev, vector) {
			x.inside[ev.CPU] = append(x.inside[ev.CPU], 0)
			break
		}
		if device := x.text(ev, site, "name"); device != "" {
			name = "interrupt of " + device
		} else if vector, ok := x.number(ev, site, "vec"); ok && vector >= 0 && int(vector) < len(softirqs) {
			name = "softirq " + softirqs[vector]
		}
		x.inside[ev.CPU] = append(x.inside[ev.CPU], index(&s.irqs, name))
	case leaveInterrupt:
		if site.name == "irq handler" {
			x.left[ev.CPU] = ev.TimeNS
		}
		if n := len(x.inside[ev.CPU]); n > 0 {
			x.inside[ev.CPU] = x.inside[ev.CPU][:n-1]
		}
	case enterCall:
		x.thread(ev.Tid, ev.Comm).call = int(index(&s.calls, site.name))
	case leaveCall:
		x.thread(ev.Tid, ev.Comm).call = 0
	}
	if s.events > maxSched {
		return fmt.Errorf("the trace has more than %d events of threads: choose a part by --from and --to", maxSched)
	}
	return nil
}

// ownNetwork reports whether a softirq is the network's work that the thread itself has made, by sending to this machine: its system call
// handles that before it goes on. No interrupt of a device was just before it.
func (x *schedReader) ownNetwork(ev *event.Event, vector int64) bool {
	const behind = 20_000 // nanoseconds
	last, was := x.left[ev.CPU]
	return (vector == softirqSend || vector == softirqReceive) && ev.Tid != 0 && !strings.HasPrefix(ev.Comm, "ksoftirqd/") && (!was || ev.TimeNS-last > behind)
}

const (
	softirqSend    = 2
	softirqReceive = 3
)

var softirqs = []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// index is the place of a text in a list, plus 1.
func index(list *[]string, text string) int32 {
	for i, x := range *list {
		if x == text {
			return int32(i) + 1
		}
	}
	*list = append(*list, text)
	return int32(len(*list))
}

func (x *schedReader) switches(ev *event.Event, site *schedSite) {
	s := x.s
	prev, ok := x.number(ev, site, "prev_pid")
	next, ok2 := x.number(ev, site, "next_pid")
	state, ok3 := x.number(ev, site, "prev_state")
	if !ok || !ok2 || !ok3 {
		return
	}
	s.events++
	prev, next = x.id(ev, prev), x.id(ev, next)
	x.inside[ev.CPU] = x.inside[ev.CPU][:0]
	if list := s.cpus[ev.CPU]; len(list) == 0 {
		s.cpus[ev.CPU] = append(list, cpuStep{s.first, int32(prev)})
	} else if last := list[len(list)-1]; last.tid != int32(prev) {
		x.missing(ev, last, int32(prev))
	}
	s.cpus[ev.CPU] = append(s.cpus[ev.CPU], cpuStep{ev.TimeNS, int32(next)})
	if prev != 0 {
		t := x.thread(int(prev), x.text(ev, site, "prev_comm"))
		t.steps = append(t.steps, schedStep{at: ev.TimeNS, kind: stepOut, state: uint16(state), cpu: int32(ev.CPU), other: int32(next), name: int32(t.call)})
	}
	if next != 0 {
		t := x.thread(int(next), x.text(ev, site, "next_comm"))
		t.steps = append(t.steps, schedStep{at: ev.TimeNS, kind: stepIn, cpu: int32(ev.CPU)})
	}
}

// missing is for a switch on a CPU that is not in the trace, before an event: jalon's own threads have no events, so the one from them to
// the next thread is not there.
func (x *schedReader) missing(ev *event.Event, last cpuStep, tid int32) {
	if last.tid != 0 {
		t := x.thread(int(last.tid), "")
		t.steps = append(t.steps, schedStep{at: last.at, kind: stepGone})
	}
	if tid != 0 {
		t := x.thread(int(tid), "")
		at := last.at
		if n := len(t.steps); n > 0 {
			at = max(at, t.steps[n-1].at)
		}
		t.steps = append(t.steps, schedStep{at: at, kind: stepFound, cpu: int32(ev.CPU), other: last.tid})
	}
	x.s.cpus[ev.CPU] = append(x.s.cpus[ev.CPU], cpuStep{last.at, tid})
}

func (x *schedReader) wakes(ev *event.Event, site *schedSite) {
	tid, ok := x.number(ev, site, "pid")
	if !ok || tid == 0 {
		return
	}
	x.s.events++
	step := schedStep{at: ev.TimeNS, kind: stepWake, cpu: int32(ev.CPU), other: int32(ev.Tid)}
	if list := x.inside[ev.CPU]; len(list) > 0 && list[len(list)-1] != 0 {
		step.other, step.name = 0, list[len(list)-1]
	}
	t := x.thread(int(x.id(ev, tid)), x.text(ev, site, "comm"))
	t.steps = append(t.steps, step)
}
