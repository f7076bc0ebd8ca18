package kernel

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// TestEnding: at the hit that reaches a pass count, or finds no room in the buffer, the
// programs end the run themselves: no variable and no frame behind it.
func TestEnding(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	const n = 1007 // the first ones are predefined
	vars := []experiment.Variable{{Number: n, Value: 0}}
	count := evaluate(t, fmt.Sprintf("getv %d; const8 1; add; setv %d; end", n, n))
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
			start(t, e, vars, s)
			if room := c.frames; room < experiment.NoLimit {
				st := e.sites[s]
				e.SetRoom(room*(int64(st.layout.RecordSize)+e.stops.Of(s).Beside) + 1)
			}
			call(20)
			end := e.Ended()
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			if v, _ := e.Variable(n); v != int64(c.want) {
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

// TestAddedPair: a tracepoint with two programs that is added while hits come does nothing
// before both are there: it sets no variable and counts for no pass count without a frame.
func TestAddedPair(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "raw_syscalls:sys_enter")
	const n = 1007
	count := evaluate(t, fmt.Sprintf("getv %d; const8 1; add; setv %d; end", n, n))
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				call(1)
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
			}
		}
	}()
	start(t, e, []experiment.Variable{{Number: n, Value: 0}})
	s := strace(1, addr, byArguments(t), static, argsRegs, count)
	await(t, func() error { return e.Add(s) })
	call(3)
	if err := e.Enable(s, false); err != nil {
		t.Fatal(err)
	}
	await(t, func() error { return e.Enable(s, true) })
	call(3)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-done
	v, _ := e.Variable(n)
	list, c := drainAll(e, true), e.Counts(s)
	if v < 6 || v != int64(len(list)) || c.Hits < uint64(v) || c.Hits > uint64(v)+c.Lost {
		t.Errorf("the variable is %d, %d frames, counts %+v", v, len(list), c)
	}
	for i, h := range list {
		if h.Static == "" && c.Lost == 0 && e.sites[s].missed() == 0 {
			t.Errorf("hit %d of %d has no record of the tracepoint's own", i, len(list))
			break
		}
	}
}
