package process

import (
	"slices"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// variables are GDB's trace state variables: where they are in the run's memory,
// and what they were before and after it.
type variables struct {
	mu     sync.Mutex
	index  map[int]int // by GDB's number
	values []uint64    // by index, while no run has memory for them
	pid    int         // the process that is traced
}

// define sets up the variables of a run in a process.
func (v *variables) define(pid int, list []experiment.Variable) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pid = pid
	v.index, v.values = map[int]int{}, nil
	for _, x := range list {
		if x.Builtin || len(v.values) == ring.MaxVariables {
			continue
		}
		v.index[x.Number] = len(v.values)
		v.values = append(v.values, uint64(x.Value))
	}
}

func (v *variables) initial() []uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.values)
}

// find is agentexpr.Options.Var. A variable that GDB has not defined begins with 0.
func (v *variables) find(number int) (agentexpr.Variable, bool) {
	if number == experiment.TimestampVariable {
		return agentexpr.Variable{Now: true}, true
	}
	if p := predefinedByNumber[number]; p != nil {
		if p.program == nil {
			return agentexpr.Variable{Absent: "only the tracer knows $" + p.Name + " at a hit"}, true
		}
		pid := v.pid
		return agentexpr.Variable{Read: func(b *ir.Builder) ir.Value { return p.program(b, pid) }}, true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	i, ok := v.index[number]
	if !ok {
		if len(v.values) == ring.MaxVariables {
			return agentexpr.Variable{}, false
		}
		i = len(v.values)
		v.index[number] = i
		v.values = append(v.values, 0)
	}
	return agentexpr.Variable{Index: int64(i)}, true
}

// get and set go to the run's memory where there is some.
func (v *variables) get(mem *ring.Shared, number int) (uint64, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, ok := v.index[number]
	if !ok {
		return 0, false
	}
	if mem != nil {
		return mem.Variable(i), true
	}
	return v.values[i], true
}

func (v *variables) set(mem *ring.Shared, number int, x uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, ok := v.index[number]
	if !ok {
		if v.index == nil || len(v.values) == ring.MaxVariables {
			return
		}
		i = len(v.values)
		v.index[number] = i
		v.values = append(v.values, 0)
	}
	v.values[i] = x
	if mem != nil {
		mem.SetVariable(i, x)
	}
}

// reserve takes an index that is no variable of GDB's.
func (v *variables) reserve() (index int64, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.values) == ring.MaxVariables {
		return 0, false
	}
	v.values = append(v.values, 0)
	return int64(len(v.values) - 1), true
}

// at, put and fetchAdd read, set and add to a variable by its index.
func (v *variables) at(mem *ring.Shared, index int64) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if mem != nil {
		return mem.Variable(int(index))
	}
	return v.values[index]
}

func (v *variables) put(mem *ring.Shared, index int64, x uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[index] = x
	if mem != nil {
		mem.SetVariable(int(index), x)
	}
}

func (v *variables) fetchAdd(mem *ring.Shared, index int64, n uint64) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if mem != nil {
		return mem.FetchAddVariable(int(index), n)
	}
	v.values[index] += n
	return v.values[index] - n
}

// change is what an expression did to a variable that hit programs may change, too.
func (v *variables) change(mem *ring.Shared, number int, was, now uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, ok := v.index[number]
	if !ok {
		return
	}
	if mem == nil {
		v.values[i] += now - was
		return
	}
	mem.ChangeVariable(i, was, now)
}

// fill gives new memory the values of now: it may be made long after the run began.
func (v *variables) fill(mem *ring.Shared) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, x := range v.values {
		mem.SetVariable(i, x)
	}
}

// keep takes the values over from a run that is over.
func (v *variables) keep(mem *ring.Shared) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if mem == nil {
		return
	}
	for i := range v.values {
		v.values[i] = mem.Variable(i)
	}
}

// Variable implements experiment.Engine.
func (e *engine) Variable(number int) (int64, bool) {
	if number == experiment.TimestampVariable {
		return time.Now().UnixMicro(), true
	}
	x, ok := e.vars.get(e.run.rings(), number)
	return int64(x), ok
}

// SetVariable implements experiment.Engine.
func (e *engine) SetVariable(number int, value int64) {
	e.vars.set(e.run.rings(), number, uint64(value))
}

// all are the numbers of the variables.
func (v *variables) all() map[int]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := make(map[int]int, len(v.index))
	for n, i := range v.index {
		m[n] = i
	}
	return m
}

func nowMicros() int64 { return time.Now().UnixMicro() }
