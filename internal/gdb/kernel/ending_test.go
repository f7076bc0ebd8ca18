package kernel

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestEnding: at the hit that reaches a pass count, or finds no room in the buffer, the
// programs end the run themselves: no variable and no frame behind it.
func TestEnding(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	count := countUp(t, counter)
	defer e.SetRoom(experiment.NoLimit)
	for _, c := range []struct {
		name    string
		pass    uint64
		frames  int64 // that the buffer holds
		actions []agentexpr.Action
		want    int
	}{
		{"pass count", 5, 100, []agentexpr.Action{count}, 5},
		{"full", 0, 4, []agentexpr.Action{count}, 4},
		{"full, static data", 0, 3, []agentexpr.Action{static, count}, 3},
		{"full, static data and registers", 0, 6, []agentexpr.Action{static, argsRegs, count}, 6},
		{"pass count that is full", 3, 2, []agentexpr.Action{count, argsRegs}, 2},
		{"circular", 0, experiment.NoLimit, []agentexpr.Action{count}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := strace(1, addr, byRecord(t), c.actions...)
			s.Pass = c.pass
			e.SetRoom(experiment.NoLimit)
			start(t, e, counters, s)
			if room := c.frames; room < experiment.NoLimit {
				st := e.sites[s]
				e.SetRoom(room*(int64(st.layout.RecordSize)+e.stops.Of(s).Beside) + 1)
			}
			call(20)
			end := e.Ended()
			stop(t, e)
			if v, _ := e.Variable(counter); v != int64(c.want) {
				t.Errorf("the variable is %d, want %d", v, c.want)
			}
			list := drainAll(e, true)
			if len(list) != c.want {
				t.Errorf("%d hits, want %d", len(list), c.want)
			}
			for i, h := range list {
				if (h.Static == "") != (c.actions[0].Kind != agentexpr.CollectStatic) {
					t.Errorf("hit %d: static is %q", i, h.Static)
				}
			}
			byCount, full := c.pass > 0, c.pass == 0 && c.frames < experiment.NoLimit
			if (end.Spec == s) != byCount || end.Full != full {
				t.Errorf("the run ended by %+v", end)
			}
		})
	}
}

// TestAddedCounter: a tracepoint that sets a variable, added to a run without any, has the
// others decide the end of the run themselves from then on: at the hit where the reader would
// have ended it, no variable is set behind that, and no hit is lost or counted twice.
func TestAddedCounter(t *testing.T) {
	e := open(t).e
	syscall, raw, exit := at(t, e, "syscalls:sys_enter_getpriority"), at(t, e, "raw_syscalls:sys_enter"), at(t, e, "raw_syscalls:sys_exit")
	plain := func(pass uint64, addr uint64, cond *agentexpr.Expr, actions ...agentexpr.Action) *experiment.Spec {
		s := strace(1, addr, cond, actions...)
		s.Pass = pass
		return s
	}
	defer e.SetRoom(experiment.NoLimit)
	for _, c := range []struct {
		name         string
		first        *experiment.Spec
		frames       int64 // that the buffer holds, all of one size
		before       int   // hits before the other one is added
		looked       bool  // they are given out at once
		hits, counts int   // frames of the first, and of the one that counts
	}{
		{"pass count", plain(10, syscall, byRecord(t)), experiment.NoLimit, 4, false, 10, 5},
		{"pass count, hits read before", plain(10, syscall, byRecord(t)), experiment.NoLimit, 4, true, 10, 5},
		{"pass count, two programs", plain(10, raw, byArguments(t), static, argsRegs), experiment.NoLimit, 4, false, 10, 5},
		{"full", plain(0, syscall, byRecord(t)), 10, 4, false, 7, 3},
		{"full, hits read before", plain(0, syscall, byRecord(t)), 10, 4, true, 7, 3},
		{"at its end before", plain(3, syscall, byRecord(t)), experiment.NoLimit, 5, false, 5, 0},
		{"full before", plain(0, syscall, byRecord(t)), 4, 5, false, 5, 0},
		{"endless", plain(0, syscall, byRecord(t)), experiment.NoLimit, 4, false, 24, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.SetRoom(experiment.NoLimit)
			start(t, e, counters, c.first)
			if c.frames < experiment.NoLimit {
				size := uint64(e.sites[c.first].layout.RecordSize)
				e.SetRoom(experiment.RecordsCost(uint64(c.frames), uint64(c.frames)*size))
			}
			call(c.before)
			var list []kept
			if c.looked {
				testkit.Eventually(t, "the first hits", func() bool {
					list = append(list, drainAll(e, false)...)
					return len(list) == c.before
				})
			}
			count := strace(2, syscall, byRecord(t), countUp(t, counter))
			if c.first.Addr == raw { // which of two tracepoints of one entry is called first depends on other tracers
				count = strace(2, exit, byArgumentsAtExit(t), countUp(t, counter))
			}
			await(t, func() error { return e.Add(count) })
			call(20)
			end := e.Ended()
			list = append(list, finish(t, e)...)
			got := map[*experiment.Spec]int{}
			for i, h := range list {
				got[h.Spec]++
				if h.Spec == c.first && len(c.first.Program.Actions) > 0 && h.Static == "" {
					t.Errorf("hit %d has no record of the tracepoint's own", i)
				}
			}
			v, _ := e.Variable(counter)
			if got[c.first] != c.hits || got[count] != c.counts || v != int64(c.counts) {
				t.Errorf("%d frames and %d; the variable is %d; want %d and %d", got[c.first], got[count], v, c.hits, c.counts)
			}
			if n := e.Counts(c.first); n.Hits-n.Lost != uint64(c.hits) {
				t.Errorf("counts %+v, %d frames", n, c.hits)
			}
			byCount, full := c.first.Pass > 0, c.frames < experiment.NoLimit
			if (end.Spec == c.first) != byCount || end.Full != full {
				t.Errorf("the run ended by %+v", end)
			}
		})
	}
}

// TestAddedCounterRefused: where the one that is added cannot be armed, the others go on as
// they were, and another one can be added.
func TestAddedCounterRefused(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	first := strace(1, addr, byRecord(t))
	start(t, e, counters, first)
	call(2)
	bad := strace(2, addr, byRecord(t), countUp(t, counter), evaluate(t, "reg 7; pop; end"))
	if err := e.Add(bad); err == nil {
		t.Fatal("a register that nothing has can be read")
	}
	call(3)
	good := strace(3, addr, byRecord(t), countUp(t, counter))
	if err := e.Add(good); err != nil {
		t.Fatal(err)
	}
	call(4)
	if v, _ := e.Variable(counter); v != 4 {
		t.Errorf("the variable is %d", v)
	}
	if list := finish(t, e); len(list) != 2+3+4+4 {
		t.Errorf("%d frames", len(list))
	}
}

// TestAddedWhileHit: the same while hits come all the time: the run ends at the hit that it
// would have ended at, and the variable is set by none behind it.
func TestAddedWhileHit(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	quiet := meanwhile(func() { call(1) })
	defer quiet()
	first := strace(1, addr, byRecord(t))
	first.Pass = 100_000
	start(t, e, counters, first)
	count := strace(2, addr, byRecord(t), countUp(t, counter))
	if err := e.Add(count); err != nil {
		t.Fatal(err)
	}
	var list []kept
	testkit.Eventually(t, "the pass count", func() bool {
		list = append(list, drainAll(e, false)...)
		return e.Ended().Spec == first
	})
	list = append(list, finish(t, e)...)
	got := map[*experiment.Spec]uint64{}
	last := map[*experiment.Spec]int64{}
	for _, h := range list {
		got[h.Spec]++
		last[h.Spec] = h.Time
	}
	v, _ := e.Variable(counter)
	n, m := e.Counts(first), e.Counts(count)
	// A hit that found the ring full, because this test had no CPU, does not count up.
	if got[first]+n.Lost < first.Pass || got[first] > first.Pass || v < int64(got[count]) || v > int64(got[count]+m.Lost) || v == 0 {
		t.Errorf("%d frames, %d lost, of %d; %d frames and %d lost of the one that counts to %d", got[first], n.Lost, first.Pass, got[count], m.Lost, v)
	}
	if last[count] > last[first] {
		t.Errorf("a variable was set %d ns behind the end", last[count]-last[first])
	}
}
