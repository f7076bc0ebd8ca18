package report

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// Critical is what a thread did and waited for: the time between From and To without a gap. Where it waited for another thread, it has what
// that thread did meanwhile, and so on: making any of this shorter makes the thread's own time shorter.
type Critical struct {
	Tid      int       `json:"tid"`
	Comm     string    `json:"comm"`
	From     int64     `json:"from"`
	To       int64     `json:"to"`
	Segments []Segment `json:"segments"`
	Waits    []Wait    `json:"waits"` // of the thread itself, longest first
	// Interrupts: the trace has events of interrupts. Without them, a wake-up by an interrupt counts for the thread that it interrupted.
	Interrupts bool `json:"interrupts"`
}

// Segment is a part of the path.
type Segment struct {
	From  int64  `json:"from"`
	NS    int64  `json:"ns"`
	Tid   int    `json:"tid"`
	Comm  string `json:"comm"`
	What  string `json:"what"` // runs, preempted, ready, blocked, unknown
	Why   string `json:"why,omitempty"`
	Depth int    `json:"depth"` // 0: the thread itself; 1: one that it waits for; ...
	CPU   int    `json:"cpu"`   // -1: none
}

// Wait sums waits of the thread with the same cause.
type Wait struct {
	What  string `json:"what"`
	For   string `json:"for"`
	NS    int64  `json:"ns"`
	Count int    `json:"count"`
	Most  int64  `json:"longest_ns"`
}

// What a thread does.
const (
	runs      = "runs"
	preempted = "preempted"
	ready     = "ready"
	blocked   = "blocked"
	notKnown  = "unknown"
)

const (
	maxCriticalDepth = 64
	maxSegments      = 5_000_000
)

// span is a time in which a thread does one thing.
type span struct {
	from, to int64
	what     string
	cpu      int
	state    uint16
	call     int32
	after    int32      // runs, but for an unknown time at the beginning this thread did; 0: none
	wake     *schedStep // that ended it; nil: none did
}

// MakeCritical follows a thread between two times; 0: from the beginning, to the end.
func MakeCritical(r *Reader, tid int, from, to int64) (*Critical, error) {
	s, err := readSchedule(r)
	if err != nil {
		return nil, err
	}
	t := s.threads[tid]
	if t == nil || len(t.steps) == 0 {
		return nil, fmt.Errorf("--critical-path: the trace has no events of a thread %d", tid)
	}
	x := &critical{s: s, names: r.Trace.State, spans: map[int][]span{}, out: &Critical{Tid: tid, Interrupts: s.interrupts}}
	x.out.Comm = x.comm(tid)
	if from == 0 {
		from = s.first
	}
	if to == 0 || to > s.last {
		to = s.last
	}
	list := x.of(tid)
	if len(list) > 1 && list[0].what == notKnown { // before its first event
		list = list[1:]
	}
	from, to = max(from, list[0].from), min(to, list[len(list)-1].to)
	x.out.From, x.out.To = from, to
	x.follow(tid, from, to, 0)
	x.waits(tid, from, to)
	if x.full {
		return nil, fmt.Errorf("the path has more than %d parts: choose a part by --from and --to", maxSegments)
	}
	return x.out, nil
}

type critical struct {
	s     *schedule
	names *ctf.States
	spans map[int][]span
	out   *Critical
	full  bool
}

// of are the spans of a thread, one after another without a gap.
func (x *critical) of(tid int) []span {
	if list, ok := x.spans[tid]; ok {
		return list
	}
	t := x.s.threads[tid]
	var list []span
	if t != nil && len(t.steps) > 0 {
		now := span{from: x.s.first, what: notKnown, cpu: -1}
		switch first := &t.steps[0]; first.kind { // what it did before is what can end in this way
		case stepOut:
			now.what, now.cpu = runs, int(first.cpu)
		case stepWake:
			now.what = blocked
		}
		for i := range t.steps {
			list = now.step(list, &t.steps[i])
		}
		if now.what != "" {
			now.to = max(x.s.last, now.from)
			list = append(list, now)
		}
	}
	x.spans[tid] = list
	return list
}

// step ends the span at a step, if that changes what the thread does, and begins the next one.
func (now *span) step(list []span, s *schedStep) []span {
	next := span{from: s.at, cpu: -1}
	switch s.kind {
	case stepGone:
		next.what = notKnown
	case stepIn, stepFound:
		if s.kind == stepFound {
			next.after = s.other
		}
		next.what, next.cpu = runs, int(s.cpu)
		now.cpu = int(s.cpu) // for which it waited, if it did
	case stepOut:
		next.state, next.call = s.state, s.name
		switch {
		case s.state&^statePreempted == 0:
			next.what, next.cpu = preempted, int(s.cpu)
		case s.state&(stateDead|stateZombie) != 0:
			next.what = "" // it has ended
		default:
			next.what = blocked
		}
	case stepWake:
		if now.what != blocked && now.what != notKnown {
			return list // it is awake already
		}
		next.what = ready
		if now.what == blocked {
			now.wake = s
		}
	}
	if now.what != "" {
		now.to = s.at
		if now.to > now.from {
			list = append(list, *now)
		}
	}
	*now = next
	return list
}

// The kernel's states in sched_switch.
const (
	stateSleeping  = 0x01
	stateDisk      = 0x02
	stateStopped   = 0x04
	stateTraced    = 0x08
	stateDead      = 0x10
	stateZombie    = 0x20
	statePreempted = 0x100
)

// follow adds what a thread does in [from, to].
func (x *critical) follow(tid int, from, to int64, depth int) {
	list := x.of(tid)
	at := from
	i := sort.Search(len(list), func(i int) bool { return list[i].to > from })
	for ; i < len(list) && list[i].from < to; i++ {
		s := &list[i]
		a, b := max(s.from, from), min(s.to, to)
		if a > at {
			x.add(tid, at, a, notKnown, "", depth, -1)
		}
		at = b
		if s.what == blocked && s.wake != nil && s.wake.other != 0 && int(s.wake.other) != tid && depth < maxCriticalDepth && b == s.to {
			x.follow(int(s.wake.other), a, b, depth+1)
			continue
		}
		x.add(tid, a, b, s.what, x.why(tid, s, a, b), depth, s.cpu)
	}
	if at < to {
		x.add(tid, at, to, notKnown, "", depth, -1)
	}
}

func (x *critical) add(tid int, from, to int64, what, why string, depth, cpu int) {
	if len(x.out.Segments) >= maxSegments {
		x.full = true
		return
	}
	if n := len(x.out.Segments); n > 0 {
		if last := &x.out.Segments[n-1]; last.Tid == tid && last.What == what && last.Why == why && last.Depth == depth && last.CPU == cpu && last.From+last.NS == from {
			last.NS += to - from
			return
		}
	}
	x.out.Segments = append(x.out.Segments, Segment{from, to - from, tid, x.comm(tid), what, why, depth, cpu})
}

func (x *critical) comm(tid int) string {
	if t := x.s.threads[tid]; t != nil && t.comm != "" {
		return t.comm
	}
	return x.names.Name(tid, x.s.last)
}

func (x *critical) name(tid int) string { return fmt.Sprintf("%s:%d", x.comm(tid), tid) }

// why is the cause of a span in words.
func (x *critical) why(tid int, s *span, from, to int64) string {
	switch s.what {
	case runs:
		if s.after != 0 {
			return "after " + x.name(int(s.after)) + " (the switch is not in the trace)"
		}
		return ""
	case ready, preempted:
		if other := x.onCPU(s.cpu, tid, from, to); other != 0 {
			return "behind " + x.name(other)
		}
		return ""
	case blocked:
		return x.blockedBy(s)
	}
	return ""
}

// blockedBy describes a wait: its kind, and the thread or interrupt that ended it.
func (x *critical) blockedBy(s *span) (text string) {
	switch {
	case s.state&(stateStopped|stateTraced) != 0:
		text = "stopped, "
	case s.state&stateDisk != 0:
		text = "uninterruptible, "
	}
	if s.call > 0 && int(s.call) <= len(x.s.calls) {
		text += "in " + x.s.calls[s.call-1] + ", "
	}
	switch {
	case s.wake == nil:
		return text + "not woken in the trace"
	case s.wake.other != 0:
		return text + "until woken by " + x.name(int(s.wake.other))
	case s.wake.name > 0:
		return text + "until " + x.s.irqs[s.wake.name-1]
	}
	return text + "until an interrupt"
}

// onCPU is the thread that ran longest on a CPU in a time, 0 if none did.
func (x *critical) onCPU(cpu, tid int, from, to int64) int {
	list := x.s.cpus[cpu]
	i, _ := slices.BinarySearchFunc(list, from, func(s cpuStep, at int64) int { return cmp.Compare(s.at, at) })
	most, best, sums := int64(0), 0, map[int32]int64{}
	for i = max(i-1, 0); i < len(list) && list[i].at < to; i++ {
		end := to
		if i+1 < len(list) {
			end = min(end, list[i+1].at)
		}
		if list[i].tid == 0 || int(list[i].tid) == tid {
			continue
		}
		sums[list[i].tid] += end - max(list[i].at, from)
		if sum := sums[list[i].tid]; sum > most {
			most, best = sum, int(list[i].tid)
		}
	}
	return best
}

// waits sums the waits of the thread itself.
func (x *critical) waits(tid int, from, to int64) {
	type key struct{ what, cause string }
	sums := map[key]*Wait{}
	list := x.of(tid)
	for i := range list {
		s := &list[i]
		a, b := max(s.from, from), min(s.to, to)
		if b <= a || s.what == runs {
			continue
		}
		k := key{s.what, x.why(tid, s, a, b)}
		w := sums[k]
		if w == nil {
			w = &Wait{What: k.what, For: k.cause}
			sums[k] = w
		}
		w.NS += b - a
		w.Count++
		w.Most = max(w.Most, b-a)
	}
	for _, w := range sums {
		x.out.Waits = append(x.out.Waits, *w)
	}
	slices.SortFunc(x.out.Waits, func(a, b Wait) int {
		return cmp.Or(-cmp.Compare(a.NS, b.NS), cmp.Compare(a.What, b.What), cmp.Compare(a.For, b.For))
	})
}
