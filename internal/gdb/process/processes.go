package process

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

// processes are those under GDB's control.
type processes struct {
	traced int // the one that GDB looks at

	mu    sync.Mutex // guards what follows: other goroutines look there
	procs []*proc
}

func (x *processes) list() []*proc {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]*proc(nil), x.procs...)
}

func (x *processes) find(pid int) (*proc, error) {
	for _, pr := range x.list() {
		if pr.pid == pid {
			return pr, nil
		}
	}
	return nil, fmt.Errorf("there is no process %d here", pid)
}

func (x *processes) add(pr *proc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.procs = append(x.procs, pr)
}

// Processes implements stub.Target.
func (x *processes) Processes() []int {
	var pids []int
	for _, pr := range x.list() {
		pids = append(pids, pr.pid)
	}
	return pids
}

// Attached implements stub.Target.
func (x *processes) Attached(pid int) bool {
	pr, err := x.find(pid)
	return err == nil && pr.attached
}

// Facts implements stub.Target.
func (x *processes) Facts(id stub.ThreadID) stub.ThreadFacts {
	pr, err := x.find(id.PID)
	if err != nil {
		return stub.ThreadFacts{Core: -1}
	}
	th := pr.p.Thread(id.TID)
	return stub.ThreadFacts{Name: th.Name, Core: th.Core}
}

// Traced implements stub.Target.
func (x *processes) Traced(pid int) { x.traced = pid }

// subject is the process that tracepoints are put into: the one that GDB looks at,
// the first where that is none of ours.
func (x *processes) subject() (*proc, error) {
	procs := x.list()
	for _, pr := range procs {
		if pr.pid == x.traced {
			return pr, nil
		}
	}
	if len(procs) == 0 {
		return nil, errors.New("there is no process to trace")
	}
	return procs[0], nil
}

// Ending implements stub.Target.
func (x *processes) Ending() bool {
	return slices.ContainsFunc(x.list(), func(pr *proc) bool { return pr.p.Ending() })
}

func (x *processes) remove(pr *proc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.Index(x.procs, pr); i >= 0 {
		x.procs = slices.Concat(x.procs[:i], x.procs[i+1:])
	}
}
