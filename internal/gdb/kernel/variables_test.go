package kernel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// Variables count over all CPUs, can be read and set in a run, and start anew.
func TestVariables(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	const n = 107 // beyond the predefined ones
	vars := []experiment.Variable{{Number: 1, Name: "trace_timestamp", Builtin: true}, {Number: n, Value: 100}, {Number: 109, Value: -1}}
	s := strace(1, addr, byRecord(t),
		countUp(t, n),
		evaluate(t, fmt.Sprintf("tracev %d; tracev 1; end", n)))
	bad := strace(2, addr, nil, evaluate(t, "tracev 55; end"))
	if errs := e.Start([]*experiment.Spec{s, bad}, vars); errs[1] == nil || !strings.Contains(errs[1].Error(), "no trace state variable 55") {
		t.Fatalf("an unknown variable: %v", errs)
	}
	if _, ok := e.Variable(n); ok {
		t.Error("a variable where nothing runs")
	}
	for range 2 {
		start(t, e, vars, s)
		call(3)
		if v, ok := e.Variable(n); !ok || v != 103 {
			t.Errorf("variable is %d, %v", v, ok)
		}
		e.SetVariable(n, -5)
		e.SetVariable(55, 1)
		if err := e.Add(bad); err != nil {
			t.Error(err)
		}
		call(2)
		stop(t, e)
		if v, _ := e.Variable(n); v != -3 {
			t.Errorf("variable is %d", v)
		}
		if v, ok := e.Variable(109); !ok || v != -1 {
			t.Errorf("variable 109 is %d", v)
		}
		if now, ok := e.Variable(1); !ok || time.Since(time.UnixMicro(now)).Abs() > time.Minute {
			t.Errorf("the time is %d", now)
		}
		var seen []uint64
		for _, h := range drainAll(e, true) {
			if h.Spec == s {
				seen = append(seen, h.frame.Blocks[0].Value)
			}
		}
		if fmt.Sprint(seen) != fmt.Sprint([]uint64{101, 102, 103, 1<<64 - 4, 1<<64 - 3}) {
			t.Errorf("collected %d", seen)
		}
	}
}

// $trace_timestamp in a condition is the wall clock.
func TestTimestamp(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	now := time.Now().UnixMicro()
	cond := func(limit int64) *agentexpr.Expr {
		// magic && now < limit
		return condition(t, fmt.Sprintf("reg %d; const8 24; add; ref64; const32 %d; equal; if_goto 9; const8 0; end; getv 1; const64 %d; less_signed; end", rdi, magic, limit))
	}
	past, future := strace(1, addr, cond(now-1e9)), strace(2, addr, cond(now+1e9))
	start(t, e, nil, past, future)
	call(2)
	stop(t, e)
	if p, f := e.Counts(past), e.Counts(future); p.Hits != 0 || f.Hits != 2 {
		t.Errorf("%+v %+v", p, f)
	}
}
