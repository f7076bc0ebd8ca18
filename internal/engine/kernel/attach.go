package kernel

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// attach lets hits of programs come. The result has those that the kernel refuses, and
// the error of step, which may be nil and ends the work.
func (e *Engine) attach(list []*program, step func(what string, done, of int) error) (refused map[*program]error, err error) {
	if step == nil {
		step = func(string, int, int) error { return nil }
	}
	refused = map[*program]error{}
	var loads []*load
	beside := true // uprobes of one process wait together
	for _, p := range list {
		if p.on {
			continue
		}
		if p.load.link != nil { // its link has others' places: it is made again
			p.load.detach()
			e.listeners.unlisten(p.load)
		}
		p.on, p.gone = true, false
		if !slices.Contains(loads, p.load) {
			loads = append(loads, p.load)
		}
		beside = beside && p.at.v.target.Pid != 0
	}
	if beside {
		failed := make([]map[*program]error, len(loads))
		stop := make([]error, len(loads))
		sideBySide(len(loads), func(i int) {
			failed[i], stop[i] = e.attachOne(loads[i], func() error { return step("", 0, 0) })
		})
		for i, m := range failed {
			maps.Copy(refused, m)
			if stop[i] != nil {
				err = stop[i]
			}
		}
	} else {
		for _, gives := range []bool{true, false} {
			for i, l := range loads {
				if l.programs[0].gives != gives || err != nil {
					continue
				}
				var m map[*program]error
				m, err = e.attachOne(l, func() error { return step("attaching", i, len(loads)) })
				maps.Copy(refused, m)
			}
		}
	}
	for p := range refused {
		p.on, p.gone = false, true
	}
	return refused, err
}

// attachOne attaches a load for its programs that are on, as long as check, which may be
// nil, has no error.
func (e *Engine) attachOne(l *load, check func() error) (refused map[*program]error, stop error) {
	var targets []bpf.Target
	var of []*program
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
	if len(targets) == 0 {
		return nil, nil
	}
	refused = map[*program]error{}
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
	var partial *bpf.AttachError
	switch {
	case err == nil || stop != nil:
	case errors.As(err, &partial):
		for _, f := range partial.Failed {
			e.logf("%s: %v", f.Target.String(), f.Err)
			for i, p := range of {
				if !l.shared || p.id == uint32(f.Target.Cookie) {
					refused[p] = e.explain(e.named(&targets[i]), f.Err)
				}
			}
		}
	default:
		for i, p := range of {
			refused[p] = e.explain(e.named(&targets[i]), err)
		}
	}
	if len(refused) == 0 {
		refused = nil
	}
	return refused, stop
}

// named is a target with the name of the function at its address, for messages.
func (e *Engine) named(t *bpf.Target) *bpf.Target {
	n := *t
	if n.Kind == bpf.Kprobe && n.Symbol == "" {
		if syms, err := e.facts.kernel.Symbols(); err == nil {
			if at, ok := syms.At(n.Addr); ok {
				n.Symbol = at.Name
			}
		}
	}
	return &n
}

// A perf user may have an event open for a moment, for example to look at it, as
// another jalon does here.
const (
	pairAttempts = 50
	pairPause    = 10 * time.Millisecond
)

// mayPair refuses the second program of a pair when another perf user has the
// event already: then it would be called before the first one. The first one is attached:
// whichever perf user comes from here on is called behind it.
func (e *Engine) mayPair(l *load) error {
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
		err = errors.New("another program has this event open by perf; beside it a condition on the raw arguments cannot select the tracepoint's own record: collect expressions of the arguments in place of $_sdata, or end the other one")
	}
	return err
}

// Others is how many perf events are open on a static tracepoint, those of this process
// included.
func (e *Engine) Others(m *Marker) (int, error) { return e.k.PerfUsers(m.Name.System, m.Name.Event) }

// detach ends the hits of programs. Hits that are under way complete their records. The
// second of a pair goes last: what the first has begun is completed.
func (e *Engine) detach(list []*program) error {
	var errs []error
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
		sideBySide(len(loads), func(i int) { failed[i] = loads[i].detach() })
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

func (l *load) detach() error {
	if l.link == nil {
		return nil
	}
	err := l.link.Close()
	l.link = nil
	return err
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
