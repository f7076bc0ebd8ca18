package kernel

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// EngineOptions configure an engine; zero means the default.
type EngineOptions struct {
	BufferSize int // bytes of ring a CPU
	Room       int // programs, beside those of the first Load
	Record     int // bytes of the largest record of those
	// Later is how many more programs can be loaded if memory is not limited (Linux 6.10). Older kernels
	// have room for as many as fit beside the others.
	Later int
	// Overwrite: the rings' oldest records are overwritten.
	Overwrite bool
	Cost      bool // measure the time of each hit (bpf_stats; it costs some)
	// Ordered: the caller ensures that no other program runs between the two of a pair.
	// Otherwise Arm refuses pairs if one could.
	Ordered bool
	// IR and Code take the stages of code generation; each may be nil.
	IR, Code func(place, text string)
}

// roomRecord is the largest record of programs that are loaded later, by default.
const roomRecord = 16 << 10

// Engine runs hit programs in the kernel; it implements engine.Engine. One place may
// have several programs. It is used from one goroutine.
type Engine struct {
	*Host
	run    EngineOptions
	loader loader
	graces
	early
	attacher attacher
	programs []*program // by number
	known    map[*engine.Program]*program
	loads    []*load
	gates    []*bpf.Gate
	stats    io.Closer
	calls    syscalls
	once     sync.Once // of Stop
	switches switches
}

// program is a program with its state in the engine.
type program struct {
	*engine.Program
	id    uint32
	at    *Point
	first *program // that decides, and records too; its counters count for both
	gives bool     // it is the first of a pair
	load  *load
	on    bool // attached
	off   bool // disabled
	gone  bool // refused, or removed
	// via calls the program at the system call with the number; nil: it is attached by itself.
	via    *dispatcher
	number uint32
}

// load is a program in the kernel with the programs that it serves: one, or many
// that are the same but for their number, which the cookie gives.
type load struct {
	programs []*program
	loaded   *bpf.Loaded
	link     *bpf.Link
	shared   bool
	via      *dispatcher // calls the programs; nil: link does
	// listens are the tracepoints that this program needs to be on.
	listens []string
}

// NewEngine makes an engine.
func (e *Host) NewEngine(opt EngineOptions) *Engine {
	x := &Engine{Host: e, run: opt, known: map[*engine.Program]*program{}}
	x.loader = loader{base: e.base, facts: e.facts, pids: e.pids, run: &x.run}
	x.loader.walks = walkTables{base: e.base, facts: e.facts, user: e.user}
	x.early = early{&x.loader.walks}
	x.loader.users = userStacks{base: e.base, facts: e.facts, user: e.user}
	x.loader.watched = codeWatch{base: e.base, user: e.user}
	x.graces = graces{&x.loader}
	x.calls = syscalls{base: e.base, facts: e.facts}
	x.attacher = attacher{base: e.base, facts: e.facts, run: &x.run, listeners: listeners{k: e.k, on: map[string]*listener{}}}
	return x
}

// Rings implements engine.Engine.
func (e *Engine) Rings() *ring.Shared { return e.loader.mem.shared }

// Reserve allocates the memory, with room for the number of programs in the options, before the first Load.
func (e *Engine) Reserve() error { return e.reserve(nil) }

// reserve makes the memory for the records and counters of a list and of Room programs.
func (e *Engine) reserve(list []*engine.Program) error {
	if err := e.Permitted(); err != nil || e.loader.mem.shared != nil {
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
	needed := need{largest, len(list) + e.run.Room}
	wished := needed
	if e.run.Later > 0 {
		wished = need{max(largest, roomRecord), needed.sites + e.run.Later}
	}
	m, err := e.loader.newMemory(e.run.BufferSize, needed, wished)
	if err == nil {
		e.loader.mem = m
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
	if !e.run.Cost { // the kernel measures no programs that others call
		e.calls.choose(fresh)
	}
	loads := group(fresh)
	for i := 0; i < len(loads); i++ {
		l := loads[i]
		if err := e.step("loading", i, len(loads)); err != nil {
			return errs, err
		}
		if err := e.loader.loadOne(l); err != nil {
			if l.ofSeveralKeys() { // a verifier may accept them without the cookie
				loads = append(loads, apart(l)...)
				continue
			}
			for _, p := range l.programs {
				errs[index[p]], p.gone = err, true
			}
			continue
		}
		e.addLoad(l)
	}
	return errs, nil
}

// number gives a program its number, and the first of a pair too.
func (e *Engine) number(x *engine.Program) (*program, error) {
	if p := e.known[x]; p != nil {
		return p, nil
	}
	if len(e.programs) >= e.loader.mem.flat.Sites {
		return nil, fmt.Errorf("the kernel engine's buffer was made for %d sites, and no more", e.loader.mem.flat.Sites)
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
	if x.Schema.RecordSize > e.loader.mem.flat.Slack {
		return nil, fmt.Errorf("its records of %d bytes are too large for the kernel engine's buffer, which has room for %d", x.Schema.RecordSize, e.loader.mem.flat.Slack)
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

// Arm implements engine.Engine. Hits count from when all programs are attached, which takes a second for some hundred: the rings
// would be full of those of the first ones. The deciding program of a pair is attached first: the kernel calls the programs of a
// tracepoint in the order of attachment.
func (e *Engine) Arm(list []*engine.Program) (errs []error, err error) {
	errs = make([]error, len(list))
	if e.run.Cost && e.stats == nil {
		if e.stats, err = e.k.EnableStats(); err != nil {
			return errs, err
		}
	}
	if near := cmp.Or(e.opt.Tgid, e.opt.Near); near != 0 {
		e.loader.walks.update(near)
		e.user.Watch(near) // while it exists
	}
	programs := e.chosen(list)
	defer e.switches.lock()()
	if err := e.detachOff(); err != nil {
		return errs, err
	}
	if err := e.turn(programs, false); err != nil {
		return errs, err
	}
	refused, err := e.attacher.attach(programs, e.step)
	if err := e.turn(programs, true); err != nil {
		return errs, err
	}
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

// Detach disables programs, which stay loaded. Behind it no CPU is in one of them: all hits have completed their records.
func (e *Engine) Detach(list []*engine.Program) error {
	defer e.switches.lock()()
	return e.attacher.detach(e.chosen(list))
}

// Remove implements engine.Engine.
func (e *Engine) Remove(list []*engine.Program) error {
	programs := e.chosen(list)
	defer e.switches.lock()()
	for _, p := range programs {
		p.gone = true
	}
	return e.attacher.detach(programs)
}

// Armed reports whether a program is attached.
func (e *Engine) Armed(x *engine.Program) bool {
	defer e.switches.lock()()
	return e.known[x] != nil && e.known[x].on && !e.known[x].off
}

// Counts implements engine.Engine. If one loaded program serves many sites, the kernel does
// not report missed hits by site.
func (e *Engine) Counts(x *engine.Program) (c engine.Counts) {
	p := e.known[x]
	if p == nil {
		return c
	}
	id := p.id
	if p.first != nil {
		id = p.first.id
	}
	c.False = e.loader.mem.shared.Counter(id, ring.CounterFalse)
	c.Faults = e.loader.mem.shared.Counter(id, ring.CounterCondFault)
	c.Lost = e.loader.mem.shared.Counter(id, ring.CounterLost)
	p.account(&c)
	return c
}

// account adds what the kernel counted for a program, and for the first of a pair.
func (p *program) account(c *engine.Counts) {
	if p.first != nil {
		p.first.account(c)
	}
	if p.load == nil || p.load.loaded == nil || p.load.shared || p.via != nil { // see warnOfMissed
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
		sums[i].Tactic, sums[i].Reached = p.how(), p.at.reached
		var c engine.Counts
		p.account(&c)
		sums[i].Missed += c.Missed
		sums[i].Cost += c.Cost
	}
}

// how returns the tactic of the program's site.
func (p *program) how() string {
	if p.first != nil {
		return p.first.how() + " and " + p.at.v.how
	}
	return p.at.v.how
}

// Sites implements engine.Engine. It does not count refused and removed sites.
func (e *Engine) Sites() (n int) {
	for _, p := range e.programs {
		if !p.gone {
			n++
		}
	}
	return n
}

// Stop implements engine.Engine: it disables all programs at once and then detaches them, which takes the kernel tens of milliseconds
// for some of them: hits in this time do not count. Programs that are running when it begins finish.
func (e *Engine) Stop() error {
	e.once.Do(func() {
		defer e.switches.end()()
		defer noteReached(e)()
		if err := e.turn(e.programs, false); err != nil {
			e.logf("disabling programs before they are detached: %v", err)
		}
		list := e.calls.list
		removal(len(list)+len(e.loads), quietly, e.step, func(i int) { // closing a link ends it
			if i < len(list) {
				_ = list[i].to.Detach()
				return
			}
			_ = e.loads[i-len(list)].detach()
		})
		e.calls.warnOfMissed()
		for _, l := range e.loads {
			e.attacher.listeners.unlisten(l)
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
