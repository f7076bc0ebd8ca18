package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/test/madetrace"
)

// schedMaker writes the kernel's events of threads.
type schedMaker struct {
	*madetrace.Maker
	switches, waking, irqIn, irqOut, call, callEnd *event.Schema
	on                                             map[int]int // CPU → thread
}

func newSchedMaker(t testing.TB) *schedMaker {
	m := madetrace.New(t)
	field := func(name string) madetrace.Field { return madetrace.Field{Name: name, Type: ctype.IntT} }
	return &schedMaker{
		Maker: m, on: map[int]int{},
		switches: m.Site("tracepoint:sched:sched_switch", "sched:sched_switch", field("prev_pid"), madetrace.Field{Name: "prev_state", Type: ctype.LongT}, field("next_pid")),
		waking:   m.Site("tracepoint:sched:sched_waking", "sched:sched_waking", field("pid")),
		irqIn:    m.Site("tracepoint:irq:irq_handler_entry", "irq:irq_handler_entry", field("irq"), madetrace.Field{Name: "name", Type: ctype.PointerTo(ctype.CharT), Text: 16}),
		irqOut:   m.Site("tracepoint:irq:irq_handler_exit", "irq:irq_handler_exit", field("irq")),
		call:     m.Site("syscall:read", "read"), callEnd: m.Site("syscall:read:exit", "read"),
	}
}

// to switches a CPU to a thread; state is why the one that ran does not any more.
func (m *schedMaker) to(at int64, cpu, state, next int) {
	m.Event(m.switches, at, cpu, m.on[cpu], m.on[cpu], 0, madetrace.Record(m.switches, m.on[cpu], state, next))
	m.on[cpu] = next
}

// wake wakes a thread from the one that runs on a CPU.
func (m *schedMaker) wake(at int64, cpu, tid int) {
	m.Event(m.waking, at, cpu, m.on[cpu], m.on[cpu], 0, madetrace.Record(m.waking, tid))
}

func (m *schedMaker) plain(s *event.Schema, at int64, cpu int, values ...any) {
	m.Event(s, at, cpu, m.on[cpu], m.on[cpu], 0, madetrace.Record(s, values...))
}

func criticalOf(t *testing.T, tr *ctf.Trace, tid int, from, to int64) *Critical {
	t.Helper()
	c, err := MakeCritical(reader(t, tr, Query{}), tid, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// path is a path as text, with times since 1000.
func path(c *Critical) (list []string) {
	for _, s := range c.Segments {
		list = append(list, fmt.Sprintf("%d+%d %s%d %s", s.From-1000, s.NS, strings.Repeat(">", s.Depth), s.Tid, phrase(s.What, s.Why)))
	}
	return list
}

// TestCriticalPath: thread 10 reads from 20, which waits for a disk and for a CPU; then 10 is preempted, sleeps, and is stopped.
func TestCriticalPath(t *testing.T) {
	m := newSchedMaker(t)
	for tid, name := range map[int]string{10: "reader", 20: "writer", 30: "other"} {
		m.Thread(tid, tid, name)
	}
	m.on = map[int]int{0: 10, 1: 20}
	m.to(1000, 2, 0, 0) // the trace begins
	m.plain(m.call, 1005, 0)
	m.to(1010, 0, 1, 0)  // 10 blocks in read
	m.to(1015, 1, 2, 30) // 20 blocks for the disk; 30 takes its CPU
	m.plain(m.irqIn, 1025, 0, 5, "nvme0q1")
	m.wake(1026, 0, 20)
	m.plain(m.irqOut, 1027, 0, 5)
	m.to(1033, 1, 256, 20) // 30 is preempted
	m.wake(1040, 1, 10)
	m.to(1044, 0, 0, 10)
	m.plain(m.callEnd, 1045, 0)
	m.to(1050, 0, 0, 30) // 10 is preempted by 30
	m.to(1060, 0, 1, 10)
	m.to(1070, 0, 1, 0) // it sleeps
	m.wake(1080, 0, 10) // from the idle thread: an interrupt, though the trace does not have it
	m.to(1081, 0, 0, 10)
	m.to(1085, 0, 4, 0) // it is stopped
	m.to(1100, 1, 1, 0)
	tr := m.Open()
	c := criticalOf(t, tr, 10, 0, 0)
	want := []string{
		"0+10 10 runs",
		"10+5 >20 runs",
		"15+11 >20 is blocked uninterruptible, until interrupt of nvme0q1",
		"26+7 >20 waits for a CPU behind other:30",
		"33+7 >20 runs",
		"40+4 10 waits for a CPU",
		"44+6 10 runs",
		"50+10 10 was preempted behind other:30",
		"60+10 10 runs",
		"70+10 10 is blocked until an interrupt",
		"80+1 10 waits for a CPU",
		"81+4 10 runs",
		"85+15 10 is blocked stopped, not woken in the trace",
	}
	if got := path(c); !slices.Equal(got, want) {
		t.Errorf("the path is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w := c.Waits[0]; w.NS != 30 || w.For != "in read, until woken by writer:20" || w.Count != 1 || w.What != blocked {
		t.Errorf("the longest wait is %+v", w)
	}
	if got, want := path(criticalOf(t, tr, 10, 1020, 1042)), []string{"20+6 >20 is blocked uninterruptible, until interrupt of nvme0q1", "26+7 >20 waits for a CPU behind other:30", "33+7 >20 runs", "40+2 10 waits for a CPU"}; !slices.Equal(got, want) {
		t.Errorf("a part of the path is %q, want %q", got, want)
	}
	var text strings.Builder
	if err := c.Text(&text, 10); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"reader:10 for 100ns", "30ns          30.0%  1      30ns     is blocked in read, until woken by writer:20", "+15ns", "  writer:20"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text has not %q:\n%s", part, &text)
		}
	}
}

// TestCriticalPathErrors: a trace without the events, or without their fields, says what is missing.
func TestCriticalPathErrors(t *testing.T) {
	m := newSchedMaker(t)
	m.to(1000, 0, 0, 10)
	if _, err := MakeCritical(reader(t, m.Open(), Query{}), 11, 0, 0); err == nil || !strings.Contains(err.Error(), "no events of a thread 11") {
		t.Errorf("an unknown thread: %v", err)
	}
	if _, err := MakeCritical(reader(t, makeTrace(t), Query{}), 11, 0, 0); err == nil || !strings.Contains(err.Error(), "sched_switch") {
		t.Errorf("a trace of a program: %v", err)
	}
	x := madetrace.New(t)
	for _, name := range []string{"sched_switch", "sched_waking"} {
		s := x.Site("tracepoint:sched:"+name, name, madetrace.Field{Name: "next_pid", Type: ctype.IntT})
		x.Event(s, 1000, 0, 1, 1, 0, madetrace.Record(s, 1))
	}
	if _, err := MakeCritical(reader(t, x.Open(), Query{}), 1, 0, 0); err == nil || !strings.Contains(err.Error(), "without prev_pid") {
		t.Errorf("events without their fields: %v", err)
	}
}

// TestCriticalPathRandom: whatever threads do, the path covers the whole time once, in order, and no wait for a thread is a part of it.
func TestCriticalPathRandom(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := newSchedMaker(t)
		const cpus, threads = 3, 12
		state := map[int]int{} // thread → 0 ready, 1 runs, 2 blocked
		for i := range threads {
			state[10+i] = rnd.IntN(2) * 2
		}
		pick := func(want int) int {
			var list []int
			for i := range threads {
				if state[10+i] == want {
					list = append(list, 10+i)
				}
			}
			if len(list) == 0 {
				return 0
			}
			return list[rnd.IntN(len(list))]
		}
		now := int64(1000)
		for range 2000 {
			now += 1 + rnd.Int64N(50)
			cpu := rnd.IntN(cpus)
			if rnd.IntN(3) == 0 {
				tid := pick(2)
				if rnd.IntN(9) == 0 {
					tid = pick(rnd.IntN(2)) // it is awake already
				}
				if tid != 0 {
					m.wake(now, cpu, tid)
					if state[tid] == 2 {
						state[tid] = 0
					}
				}
				continue
			}
			why := []int{0, 1, 2, 256}[rnd.IntN(4)]
			if was := m.on[cpu]; was != 0 {
				if state[was] = 2; why == 0 || why == 256 {
					state[was] = 0
				}
			}
			next := pick(0)
			if next != 0 {
				state[next] = 1
			}
			m.to(now, cpu, why, next)
		}
		tr := m.Open()
		for i := range threads {
			c, err := MakeCritical(reader(t, tr, Query{}), 10+i, 0, 0)
			if err != nil {
				continue // it never ran
			}
			at := c.From
			for _, s := range c.Segments {
				if s.From != at || s.NS <= 0 {
					t.Fatalf("seed %d, thread %d: a part from %d for %d, want one from %d", seed, 10+i, s.From, s.NS, at)
				}
				at += s.NS
				if s.What == blocked && strings.Contains(s.Why, "woken by") && s.Depth < maxCriticalDepth {
					t.Fatalf("seed %d, thread %d: %+v", seed, 10+i, s)
				}
			}
			if at != c.To {
				t.Fatalf("seed %d, thread %d: the path ends at %d, not at %d", seed, 10+i, at, c.To)
			}
		}
	}
}
