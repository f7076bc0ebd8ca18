package kernel

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// EngineOptions say how an engine runs programs; zero means the default.
type EngineOptions struct {
	BufferSize int  // bytes of ring a CPU
	Room       int  // programs, beside those of the first Load
	Record     int  // bytes of the largest record of those
	Cost       bool // measure the time of each hit (bpf_stats; it costs some)
	// Ordered: the caller makes sure that no program of others is called between the
	// two of a pair. Otherwise Arm refuses pairs where it could be.
	Ordered bool
	// IR and Code take the stages of code generation; each may be nil.
	IR, Code func(place, text string)
}

// roomRecord is the largest record of programs that come later, by default.
const roomRecord = 16 << 10

// Engine runs hit programs in the kernel; it implements engine.Engine. Many may be at
// one place. It is used from one goroutine.
type Engine struct {
	*Host
	run       EngineOptions
	mem       memory
	programs  []*program // by number
	known     map[*engine.Program]*program
	loads     []*load
	gates     []*bpf.Gate
	listeners map[string]*listener // keep tracepoints on whose calls are probed
	stats     io.Closer
	once      sync.Once // of Stop
}

// program is a program with what the engine knows of it.
type program struct {
	*engine.Program
	id    uint32
	at    *Point
	first *program // that decides, and records too; its counters count for both
	gives bool     // it is the first of a pair
	load  *load
	on    bool
	gone  bool // refused, or taken back
}

// load is a program in the kernel with the programs that it serves: one, or many
// that are the same but for their number, which the cookie gives.
type load struct {
	programs []*program
	loaded   *bpf.Loaded
	link     *bpf.Link
	shared   bool
	// listens are the tracepoints that this program needs to be on.
	listens []string
}

// NewEngine makes an engine.
func (e *Host) NewEngine(opt EngineOptions) *Engine {
	return &Engine{Host: e, run: opt, known: map[*engine.Program]*program{}}
}

// Rings implements engine.Engine.
func (e *Engine) Rings() *ring.Shared { return e.mem.shared }

// Reserve makes the memory, with room for as many programs as the options say, before
// the first Load.
func (e *Engine) Reserve() error { return e.reserve(nil) }

// reserve makes the memory for the records and counters of a list and of Room programs.
func (e *Engine) reserve(list []*engine.Program) error {
	if err := e.Permitted(); err != nil || e.mem.shared != nil {
		return err
	}
	largest := ring.RecHeader
	if e.run.Room > 0 {
		largest = max(e.run.Record, roomRecord)
	}
	for _, x := range list {
		if x.Schema != nil {
			largest = max(largest, x.Schema.RecordSize)
		}
	}
	m, err := e.newMemory(e.run.BufferSize, largest, len(list)+e.run.Room)
	if err == nil {
		e.mem = m
	}
	return err
}

// Load implements engine.Engine: it compiles, and has the kernel verify. Equal programs
// of one key are loaded once.
func (e *Engine) Load(list []*engine.Program) (errs []error, err error) {
	errs = make([]error, len(list))
	if err := e.reserve(list); err != nil {
		return errs, err
	}
	index := map[*program]int{}
	var fresh []*program
	for i, x := range list {
		p, err := e.number(x)
		if err != nil {
			errs[i] = err
			continue
		}
		if p.first != nil && p.first.load == nil {
			index[p.first] = i
			fresh = append(fresh, p.first)
		}
		index[p] = i
		fresh = append(fresh, p)
	}
	loads := group(fresh)
	for i, l := range loads {
		if err := e.step("loading", i, len(loads)); err != nil {
			return errs, err
		}
		if err := e.loadOne(l); err != nil {
			for _, p := range l.programs {
				errs[index[p]], p.gone = err, true
			}
			continue
		}
		e.loads = append(e.loads, l)
	}
	return errs, nil
}

// number gives a program its number, and the first of a pair too.
func (e *Engine) number(x *engine.Program) (*program, error) {
	if p := e.known[x]; p != nil {
		return p, nil
	}
	if len(e.programs) >= e.mem.flat.Sites {
		return nil, fmt.Errorf("the kernel engine's buffer was made for %d sites, and no more", e.mem.flat.Sites)
	}
	p := &program{Program: x, at: x.Site.(*Point)}
	if x.First != nil {
		if x.First.Schema == nil { // it has no records: one number is enough
			p.first = &program{Program: x.First, at: x.First.Site.(*Point), gives: true}
			e.known[x.First] = p.first
		} else {
			var err error
			if p.first, err = e.number(x.First); err != nil {
				return nil, err
			}
			p.first.gives = true
		}
	}
	if x.Schema.RecordSize > e.mem.flat.Slack {
		return nil, fmt.Errorf("its records of %d bytes are too large for the kernel engine's buffer, which has room for %d", x.Schema.RecordSize, e.mem.flat.Slack)
	}
	p.id = uint32(len(e.programs))
	x.Schema.SiteID = p.id
	if p.first != nil && x.First.Schema == nil {
		p.first.id = p.id
	}
	e.programs = append(e.programs, p)
	e.known[x] = p
	if e.run.IR != nil {
		if p.first != nil {
			e.run.IR(x.Label, x.First.IR.String())
		}
		e.run.IR(x.Label, x.IR.String())
	}
	return p, nil
}

// group puts equal programs together.
func group(list []*program) (loads []*load) {
	type key struct {
		of      any // each key is enabled and disabled by itself
		kind    bpf.Kind
		context ebpf.Context
		space   ebpf.Space
		text    string
	}
	groups := map[key]*load{}
	for _, p := range list {
		named := *p.IR
		named.Name = ""
		v := p.at.v
		k := key{p.Key, v.target.Kind, v.context, space(p), named.String()}
		l := groups[k]
		if l == nil || !v.target.Kind.Cookies() {
			l = &load{}
			groups[k] = l
			loads = append(loads, l)
		}
		l.programs = append(l.programs, p)
		p.load = l
	}
	return loads
}

// Arm implements engine.Engine. The deciding program of a pair is attached first: the
// kernel calls the programs of a tracepoint in the order in which they came.
func (e *Engine) Arm(list []*engine.Program) (errs []error, err error) {
	errs = make([]error, len(list))
	if e.run.Cost && e.stats == nil {
		if e.stats, err = e.k.EnableStats(); err != nil {
			return errs, err
		}
	}
	if e.opt.Tgid != 0 { // while it is there
		e.user.Watch(e.opt.Tgid)
	}
	refused, err := e.attach(e.chosen(list), e.step)
	for i, x := range list {
		p := e.known[x]
		errs[i] = refused[p]
		if errs[i] == nil && p.first != nil {
			errs[i] = refused[p.first]
		}
	}
	return errs, err
}

// chosen are the programs of a list with the first ones of pairs.
func (e *Engine) chosen(list []*engine.Program) (out []*program) {
	for _, x := range list {
		p := e.known[x]
		if p == nil {
			panic("BUG: a program was not loaded")
		}
		if p.first != nil {
			out = append(out, p.first)
		}
		out = append(out, p)
	}
	return out
}

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
			e.unlisten(p.load)
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
		err = e.listen(l)
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
		if syms, err := e.src.kallsyms(); err == nil {
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

// Enable implements engine.Engine: programs stay loaded.
func (e *Engine) Enable(list []*engine.Program, on bool) error {
	programs := e.chosen(list)
	if !on {
		return e.detach(programs)
	}
	refused, _ := e.attach(programs, nil)
	for _, err := range refused {
		return err
	}
	return nil
}

// Remove implements engine.Engine.
func (e *Engine) Remove(list []*engine.Program) error {
	programs := e.chosen(list)
	for _, p := range programs {
		p.gone = true
	}
	return e.detach(programs)
}

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
			e.unlisten(l)
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

// Armed reports whether hits of a program may come.
func (e *Engine) Armed(x *engine.Program) bool { return e.known[x] != nil && e.known[x].on }

// Counts implements engine.Engine. Of a program that is loaded once for many sites the
// kernel does not say which of them it kept hits from.
func (e *Engine) Counts(x *engine.Program) (c engine.Counts) {
	p := e.known[x]
	if p == nil {
		return c
	}
	id := p.id
	if p.first != nil {
		id = p.first.id
	}
	c.False = e.mem.shared.Counter(id, ring.CounterFalse)
	c.Faults = e.mem.shared.Counter(id, ring.CounterCondFault)
	c.Lost = e.mem.shared.Counter(id, ring.CounterLost)
	p.account(&c)
	return c
}

// account adds what the kernel counted for a program, and for the first of a pair.
func (p *program) account(c *engine.Counts) {
	if p.first != nil {
		p.first.account(c)
	}
	if p.load == nil || p.load.loaded == nil || p.load.shared {
		return
	}
	st, err := p.load.loaded.Stats()
	if err != nil {
		return
	}
	c.Missed += st.Missed
	c.Cost += time.Duration(st.PerHit())
}

// Account implements engine.Engine.
func (e *Engine) Account(sums []event.SiteSummary) {
	for i := range sums {
		id := sums[i].Schema.SiteID
		if int(id) >= len(e.programs) {
			continue
		}
		p := e.programs[id]
		sums[i].Tactic = p.how()
		var c engine.Counts
		p.account(&c)
		sums[i].Missed += c.Missed
		sums[i].Cost += c.Cost
	}
}

// how is by what a program is reached.
func (p *program) how() string {
	if p.first != nil {
		return p.first.how() + " and " + p.at.v.how
	}
	return p.at.v.how
}

// Sites implements engine.Engine: those that were refused, or taken back, are left out.
func (e *Engine) Sites() (n int) {
	for _, p := range e.programs {
		if !p.gone {
			n++
		}
	}
	return n
}

// Stop implements engine.Engine: it detaches everything. Programs that are running at
// that moment finish.
func (e *Engine) Stop() error {
	e.once.Do(func() {
		sideBySide(len(e.loads), func(i int) { _ = e.loads[i].detach() }) // closing a link ends it
		for _, l := range e.loads {
			e.unlisten(l)
		}
		for _, g := range e.gates {
			_ = g.Close()
		}
		if e.stats != nil {
			_ = e.stats.Close()
		}
	})
	return nil
}

// Close implements engine.Engine. The host stays open.
func (e *Engine) Close() error {
	errs := []error{e.Stop()}
	for _, l := range e.loads {
		if l.loaded != nil {
			errs = append(errs, l.loaded.Close())
		}
	}
	for _, on := range e.listeners {
		errs = append(errs, on.prog.Close())
	}
	if e.mem.buffer != nil {
		errs = append(errs, e.mem.buffer.Close())
	}
	return errors.Join(errs...)
}
