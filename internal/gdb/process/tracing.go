package process

import (
	"sync"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
)

// tracing is what of trace experiments is in a process. The callbacks run on the
// tracer's goroutine.
type tracing struct {
	quiet   atomic.Bool // its end is not reported
	threads *event.Threads
	run     atomic.Pointer[run]
	// older are runs that are over, in whose code threads may still be.
	mu     sync.Mutex
	behind map[int]behind // threads that collectHere has set, by tid
	older  []*run
	// lender is the process whose memory this child of a vfork borrows until it calls
	// exec: its runs are in there.
	lender atomic.Pointer[proc]
	// startup takes the reports until the program itself runs; nil: it runs.
	startup chan report
	steps   stepping
}

func (pr *proc) init() {
	pr.threads, pr.behind = event.NewThreads(), map[int]behind{}
	pr.steps.threads = map[int][]*stepSite{}
}

// runs lists the present run and those before it that still have code in the process.
func (pr *proc) runs() []*run {
	if p := pr.lender.Load(); p != nil {
		return p.runs()
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	list := append([]*run(nil), pr.older...)
	if r := pr.run.Load(); r != nil {
		list = append(list, r)
	}
	return list
}

func (pr *proc) fault(tid, sig int, pc uint64) (uint64, bool) {
	for _, r := range pr.runs() {
		if to, ok := r.Fault(tid, sig, pc); ok {
			return to, true
		}
	}
	return 0, false
}

func (pr *proc) clock(tid int, pc uint64) (uint64, bool) {
	for _, r := range pr.runs() {
		if tsc, ok := r.Clock(tid, pc); ok {
			return tsc, true
		}
	}
	return 0, false
}

func (pr *proc) trap(tid int, addr uint64) (uint64, bool) {
	for _, r := range pr.runs() {
		if to, ok := r.Trap(tid, addr); ok {
			return to, true
		}
	}
	return 0, false
}

func (pr *proc) back(pc uint64) (process.Origin, bool) {
	for _, r := range pr.runs() {
		if o, ok := r.Back(pc); ok {
			return o, true
		}
	}
	return process.Origin{}, false
}

func (pr *proc) forked(child *process.Stopped) {
	for _, r := range pr.runs() {
		r.Forked(child)
	}
}

func (pr *proc) where(pc uint64) process.Code {
	for _, r := range pr.runs() {
		if w := r.Where(pc); w.In {
			return w
		}
	}
	return process.Code{}
}

// original puts the program's own bytes into what was read.
func (pr *proc) original(addr uint64, b []byte) {
	if r := pr.run.Load(); r != nil && len(b) > 0 {
		r.Original(addr, b)
	}
}

// uncover makes room for an int3 in the patches of the run.
func (pr *proc) uncover(addr uint64) error {
	if r := pr.run.Load(); r != nil {
		return r.Uncover(addr)
	}
	return nil
}

// rewrite changes memory of the program. Patches of the run over it are taken out
// first and made again from the new bytes.
func (pr *proc) rewrite(addr uint64, n int, write func() error) error {
	if r := pr.run.Load(); r != nil {
		return r.Rewrite(addr, n, write)
	}
	return write()
}

// replaced is called after an exec, whether GDB has asked for such events or not. A trace that ran in the
// process has ended.
func (pr *proc) replaced() {
	pr.t.engine.gone(pr)
	if pr.lender.Swap(nil) != nil { // what ran in the memory is still the lender's
		pr.breaks.clear()
		pr.watches.clear()
		return
	}
	for _, r := range pr.runs() {
		r.Forget()
	}
	pr.mu.Lock()
	pr.older = nil
	pr.mu.Unlock()
	pr.breaks.clear()
	pr.watches.clear()
}

// retire puts a run away that has been stopped.
func (pr *proc) retire(r *run) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.run.CompareAndSwap(r, nil)
	if r.Lingering() {
		pr.older = append(pr.older, r)
	}
}
