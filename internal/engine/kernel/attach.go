package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/fail"
)

// attacher attaches the programs of an engine and detaches them.
type attacher struct {
	*base
	facts     *facts
	run       *EngineOptions
	listeners listeners  // keep tracepoints on whose calls are probed
	mu        sync.Mutex // for functions that several threads call: see apart
}

// attach attaches programs. The result has the programs that the kernel refuses, and the error of step,
// which may be nil and ends the work.
func (e *attacher) attach(list []*program, step func(what string, done, of int) error) (refused map[*program]error, err error) {
	if step == nil {
		step = func(string, int, int) error { return nil }
	}
	loads, wait := e.prepare(list)
	if wait {
		refused, err = e.apart(loads, step)
	} else {
		refused, err = e.inTurn(loads, step)
	}
	for p := range refused {
		p.on, p.gone = false, true
	}
	return refused, err
}

// prepare marks programs as attached. It returns the loads that they need, and whether
// attaching these is mostly waiting: they are uprobes of one process.
func (e *attacher) prepare(list []*program) (loads []*load, wait bool) {
	wait = true
	for _, p := range list {
		if p.on {
			continue
		}
		if p.load.link != nil { // its link has others' places: it is made again
			_ = p.load.detach() // closing a link ends it
			e.listeners.unlisten(p.load)
		}
		p.on, p.gone = true, false
		if !slices.Contains(loads, p.load) {
			loads = append(loads, p.load)
		}
		wait = wait && p.at.v.target.Pid != 0
	}
	slices.SortStableFunc(loads, func(a, b *load) int { return a.last() - b.last() })
	return loads, wait
}

// apart attaches loads that do not depend on each other, several at a time.
func (e *attacher) apart(loads []*load, step func(what string, done, of int) error) (refused map[*program]error, err error) {
	failed := make([]map[*program]error, len(loads))
	stop := make([]error, len(loads))
	check := func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		return step("", 0, 0)
	}
	sideBySide(len(loads), func(i int) { failed[i], stop[i] = e.attachOne(loads[i], check) })
	refused = map[*program]error{}
	for i := range loads {
		maps.Copy(refused, failed[i])
		if stop[i] != nil {
			err = stop[i]
		}
	}
	return refused, err
}

// inTurn attaches loads one after the other, the first programs of pairs first.
func (e *attacher) inTurn(loads []*load, step func(what string, done, of int) error) (refused map[*program]error, err error) {
	refused = map[*program]error{}
	for _, gives := range []bool{true, false} {
		for i, l := range loads {
			if l.programs[0].gives != gives || err != nil {
				continue
			}
			var failed map[*program]error
			failed, err = e.attachOne(l, func() error { return step("attaching", i, len(loads)) })
			maps.Copy(refused, failed)
		}
	}
	return refused, err
}

// attachOne attaches a load for its enabled programs, while check, which may be nil, returns no error.
func (e *attacher) attachOne(l *load, check func() error) (refused map[*program]error, stop error) {
	targets, of := l.targets()
	if len(targets) == 0 {
		return nil, nil
	}
	if l.via != nil {
		return l.via.attach(of), nil
	}
	err := e.mayPair(l)
	if err == nil {
		err = e.listeners.listen(l)
	}
	if err == nil {
		l.link, err = l.loaded.AttachAll(targets, func() error {
			if check != nil {
				stop = check()
			}
			return stop
		})
	}
	if err == nil || stop != nil {
		return nil, stop
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	refused = map[*program]error{}
	var partial *bpf.AttachError
	if !errors.As(err, &partial) {
		for i, p := range of {
			refused[p] = e.explain(e.named(&targets[i]), err)
		}
		return refused, nil
	}
	for _, f := range partial.Failed {
		e.logf("%s: %v", f.Target.String(), f.Err)
		for i, p := range of {
			if !l.shared || p.id == uint32(f.Target.Cookie) {
				refused[p] = e.explain(e.named(&targets[i]), f.Err)
			}
		}
	}
	return refused, nil
}

// Iterate goes through the objects of the iterators that are attached.
func (e *Engine) Iterate() error {
	var errs []error
	for _, l := range e.loads {
		if l.link != nil && l.programs[0].at.v.target.Kind == bpf.Iter {
			errs = append(errs, l.link.Iterate())
		}
	}
	return errors.Join(errs...)
}

// targets are where a load is attached for its programs that are on, and these.
func (l *load) targets() (targets []bpf.Target, of []*program) {
	for _, p := range l.programs {
		if !p.on {
			continue
		}
		t := p.at.v.target
		if l.shared { // kernels that have cookies for some kinds only refuse others
			t.Cookie = uint64(p.id)
		}
		targets, of = append(targets, t), append(of, p)
	}
	return targets, of
}

// named is a target with the name of the function at its address, for messages.
func (e *attacher) named(t *bpf.Target) *bpf.Target {
	n := *t
	if n.Kind == bpf.Kprobe && n.Symbol == "" {
		at, _ := e.facts.kernel.At(n.Addr)
		n.Symbol = at.Name
	}
	return &n
}

// A perf user may have an event open for a moment, for example to look at it, as
// another jalon does here.
const (
	pairAttempts = 50
	pairPause    = 10 * time.Millisecond
)

// mayPair refuses the second program of a pair if another perf user already has the event:
// the kernel would call the second program before the first. The first one is attached now,
// so the kernel calls later perf users after it.
func (e *attacher) mayPair(l *load) error {
	p := l.programs[0]
	if p.first == nil || e.run.Ordered {
		return nil
	}
	t := &p.at.v.target
	n, err := e.k.PerfUsers(t.Group, t.Name)
	for i := 1; i < pairAttempts && err == nil && n > 0; i++ {
		if err := e.step("", 0, 0); err != nil {
			return err
		}
		time.Sleep(pairPause)
		n, err = e.k.PerfUsers(t.Group, t.Name)
	}
	if err == nil && n > 0 {
		err = &fail.Error{
			Op:     "select the tracepoint's own record by a condition on its raw arguments",
			Err:    errors.New("another program has this event open by perf, and the kernel would call the condition too late"),
			Remedy: "collect expressions of the arguments in place of $_sdata, or end the other program",
		}
	}
	return err
}

// detach ends the hits of programs. Hits in progress complete their records. The second of a pair is
// detached last, so that hits begun by the first are completed.
func (e *attacher) detach(list []*program) error {
	errs := []error{detachCalls(list)}
	for _, gives := range []bool{true, false} {
		var loads []*load
		for _, p := range list {
			if p.gives != gives {
				continue
			}
			p.on = false
			if p.load != nil && p.load.link != nil && !slices.Contains(loads, p.load) {
				loads = append(loads, p.load)
			}
		}
		failed := make([]error, len(loads))
		removal(len(loads), quietly, e.step, func(i int) { failed[i] = loads[i].detach() })
		errs = append(errs, failed...)
		for _, l := range loads {
			e.listeners.unlisten(l)
			refused, _ := e.attachOne(l, nil) // the programs that are left
			for _, err := range refused {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// last is 1 for loads that are attached after the others: the second program of a pair must be the first user of raw_syscalls' events.
func (l *load) last() int {
	if l.via != nil {
		return 1
	}
	return 0
}

func (l *load) detach() error {
	if l.link == nil {
		return nil
	}
	err := l.link.Close()
	l.link = nil
	return err
}

// explain adds a likely reason to the kernel's refusal of a function.
func (e *attacher) explain(t *bpf.Target, err error) error {
	function, _, _ := strings.Cut(t.Symbol, ".") // for NAME.cold and NAME.part.0 the kernel checks NAME
	why := t.Kind.Untraced()
	if function == "" || why == "" {
		return err
	}
	if may := e.facts.traceable(); may == nil || may[function] || may[t.Symbol] {
		return err
	}
	return fmt.Errorf("%w; %s is no function that ftrace traces (it is marked notrace, or was needed at start-up only), and %s", err, function, why)
}

// quietly is how long a removal takes before its progress is shown.
const quietly = 500 * time.Millisecond

// removal calls remove for 0 to n-1, many at once, and step for each that is done, but not in the first time: the kernel takes some
// 20 ms to remove a program of a trace event, one after the other, and half a second on a machine that is very busy.
func removal(n int, first time.Duration, step func(what string, done, of int) error, remove func(int)) {
	var done atomic.Int64
	begin := time.Now()
	sideBySide(n, func(i int) {
		remove(i)
		if d := done.Add(1); time.Since(begin) >= first {
			_ = step("removing", int(d), n) // it cannot be ended
		}
	})
}

// sideBySide calls f for 0 to n-1 in several threads: the kernel takes tens of
// milliseconds to be sure that no CPU is in a program that is detached (before it is
// attached, to try whether the kernel takes the place), and calls that wait together
// wait once.
func sideBySide(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, 64) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
