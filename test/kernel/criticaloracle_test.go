package kernel

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// criticalReport is `jalon report --critical-path -f json`.
type criticalReport struct {
	From, To int64
	Segments []struct {
		From, NS   int64
		Tid, Depth int
		What, Why  string
	}
	Waits []struct {
		What, For string
		NS        int64
		Count     int
	}
}

// TestCriticalPathOracles compares the critical path of a program with many kinds of waits with two other accounts: that of the kernel (the
// thread's time on CPUs, and for how long it waited for one), and a model that follows the events in another way.
func TestCriticalPathOracles(t *testing.T) {
	prog := compile(t, "gcc", "critmix.c", "-g", "-O1", "-Wall", "-pthread")
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"record", "-a", "-o", dir, "--buffer", "32M"}
	for _, place := range modelled {
		args = append(args, "tracepoint:"+place[0], "-c", place[1])
	}
	rec := jalon(t, append(args, "--", prog, filepath.Join(t.TempDir(), "file"))...)
	if rec.Status != 0 {
		t.Fatalf("status %d: %s", rec.Status, rec.Errs.String())
	}
	var tid int
	var from, to, cpu, delay int64
	if _, err := fmt.Sscan(rec.Out.String(), &tid, &from, &to, &cpu, &delay); err != nil {
		t.Fatalf("%v: %q", err, rec.Out.String())
	}
	show := jalon(t, "report", dir, "--critical-path", fmt.Sprint(tid), "--from", fmt.Sprintf("@%d", from), "--to", fmt.Sprintf("@%d", to), "-f", "json")
	var got criticalReport
	if err := json.Unmarshal([]byte(show.Out.String()), &got); err != nil {
		t.Fatalf("%v: %s %s", err, show.Out.String(), show.Errs.String())
	}
	got.account(t, cpu, delay)
	list := jalon(t, "report", dir, "-f", "json", "--where", "$time > 0")
	m := newModel(t, list.Out.String())
	m.compare(t, &got, tid)
}

// account compares with what the kernel has counted of the thread. Each switch is counted at another moment than its event is.
func (c *criticalReport) account(t *testing.T, cpu, delay int64) {
	t.Helper()
	var waits, forCPU int64
	n := 0
	for _, w := range c.Waits {
		waits += w.NS
		n += w.Count
		if w.What == "ready" || w.What == "preempted" {
			forCPU += w.NS
		}
	}
	ran := c.To - c.From - waits
	allowed := int64(n)*20_000 + int64(2*time.Millisecond)
	t.Logf("of %v it ran for %v (%v counted), and waited for a CPU for %v (%v counted), in %d waits", time.Duration(c.To-c.From), time.Duration(ran), time.Duration(cpu), time.Duration(forCPU), time.Duration(delay), n)
	if d := ran - cpu; d < -allowed || d > allowed {
		t.Errorf("it ran for %v, the kernel has counted %v", time.Duration(ran), time.Duration(cpu))
	}
	if d := forCPU - delay; delay >= 0 && (d < -allowed || d > allowed) {
		t.Errorf("it waited for a CPU for %v, the kernel has counted %v", time.Duration(forCPU), time.Duration(delay))
	}
}

// modelled are the events that the model follows, with their fields.
var modelled = [][2]string{
	{"sched:sched_switch", "args->prev_pid, args->prev_state, args->next_pid"}, {"sched:sched_waking", "args->pid"},
	{"irq:irq_handler_entry", "args->irq"}, {"irq:irq_handler_exit", "args->irq"}, {"irq:softirq_entry", "args->vec"}, {"irq:softirq_exit", "args->vec"},
	{"timer:hrtimer_expire_entry", "args->hrtimer"}, {"timer:hrtimer_expire_exit", "args->hrtimer"},
}

// model is what threads did, by the events alone.
type model struct {
	threads map[int][]did
	times   []int64 // of all events
}

// did is what a thread does from a time on; waker ended it, 0: an interrupt, or unknown.
type did struct {
	from, to int64
	what     string
	waker    int
}

func newModel(t *testing.T, text string) *model {
	t.Helper()
	m := &model{threads: map[int][]did{}}
	depth, on := map[int]int{}, map[int]int{}
	change := func(tid int, at int64, what string, waker int) {
		list := m.threads[tid]
		if n := len(list); n > 0 {
			list[n-1].to, list[n-1].waker = at, waker
		}
		m.threads[tid] = append(list, did{from: at, what: what})
	}
	for line := range strings.Lines(text) {
		var ev struct {
			Place  string
			Time   int64
			CPU    int
			Tid    int
			Values map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		m.times = append(m.times, ev.Time)
		num := func(name string) int {
			n, err := strconv.Atoi(string(ev.Values["args->"+name]))
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			return n
		}
		switch name := ev.Place[strings.LastIndexByte(ev.Place, ':')+1:]; name {
		case "sched_switch":
			prev, next, state := num("prev_pid"), num("next_pid"), num("prev_state")
			if was, ok := on[ev.CPU]; ok && was != prev && was != 0 { // a switch of jalon's own threads is not there
				change(was, ev.Time, "?", 0)
			}
			what := "blocked"
			if state&^0x100 == 0 {
				what = "preempted"
			}
			if prev != 0 {
				change(prev, ev.Time, what, 0)
			}
			if next != 0 {
				change(next, ev.Time, "runs", 0)
			}
			on[ev.CPU], depth[ev.CPU] = next, 0
		case "sched_waking":
			tid, by := num("pid"), ev.Tid
			if depth[ev.CPU] > 0 {
				by = 0
			}
			if list := m.threads[tid]; len(list) > 0 && list[len(list)-1].what == "blocked" {
				change(tid, ev.Time, "ready", by)
			}
		default:
			if strings.HasSuffix(name, "_entry") {
				depth[ev.CPU]++
			} else if depth[ev.CPU] > 0 {
				depth[ev.CPU]--
			}
		}
	}
	for _, list := range m.threads {
		list[len(list)-1].to = 1<<63 - 1
	}
	return m
}

// at is what a thread does at a time.
func (m *model) at(tid int, at int64) *did {
	list := m.threads[tid]
	i := sort.Search(len(list), func(i int) bool { return list[i].from > at })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

// responsible is on whom a thread's time depends at a moment: where a thread is blocked until another one wakes it, that one. bound is until
// when what happens matters.
func (m *model) responsible(tid int, at, bound int64) (int, string) {
	for range 64 {
		d := m.at(tid, at)
		if d == nil || d.what == "?" {
			return tid, "?"
		}
		if d.what != "blocked" || d.waker == 0 || d.waker == tid || d.to > bound {
			return tid, d.what
		}
		tid, bound = d.waker, d.to
	}
	return tid, "?"
}

// compare looks at the middle of each time between two events: there the path has the thread and what the model has.
func (m *model) compare(t *testing.T, c *criticalReport, tid int) {
	t.Helper()
	slices.Sort(m.times)
	same, unknown, bad := int64(0), int64(0), 0
	for i := 1; i < len(m.times); i++ {
		a, b := max(m.times[i-1], c.From), min(m.times[i], c.To)
		if b <= a {
			continue
		}
		at := a + (b-a)/2
		k := sort.Search(len(c.Segments), func(k int) bool { return c.Segments[k].From > at }) - 1
		if k < 0 || c.Segments[k].From+c.Segments[k].NS <= at {
			t.Fatalf("the path has nothing at %d", at)
		}
		who, what := m.responsible(tid, at, c.To)
		s := &c.Segments[k]
		switch {
		case what == "?" || s.What == "unknown" || strings.Contains(s.Why, "not in the trace"):
			unknown += b - a
		case s.Tid != who || s.What != what:
			if bad++; bad < 10 {
				t.Errorf("at %d: the path has %d, which %s (%s), the model %d, which %s", at-c.From, s.Tid, s.What, s.Why, who, what)
			}
		default:
			same += b - a
		}
	}
	t.Logf("%d segments; the same for %v, not known for %v", len(c.Segments), time.Duration(same), time.Duration(unknown))
	if same < (c.To-c.From)*9/10 {
		t.Errorf("the model has the same for %v of %v only", time.Duration(same), time.Duration(c.To-c.From))
	}
}
