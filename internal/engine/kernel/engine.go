package kernel

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Options say what an engine does.
type Options struct {
	Tgid    int    // trace this process only; 0: all
	Program string // the file of places in programs that name none; "": they must
	// File gives the path by which jalon opens what the process means by a file's name;
	// "" where that is the same file. May be nil.
	File        func(name string) string
	Cgroup      uint64 // trace this cgroup only (its id); 0: all
	BufferSize  int    // bytes of ring a CPU
	Spare       int    // sites that Add may add
	StringLimit int    // as in sema.Input
	RepeatLimit int
	StackLimit  int
	Vmlinux     string   // file with the kernel's debug information; "" = BTF only
	DebugDirs   []string // of separate debug files of programs
	NoOptimise  bool
	// Force arms uprobes where it is not known, though not known to be wrong, that
	// an instruction begins, and uretprobes that endanger the program.
	Force bool
	Cost  bool // measure the time of each hit (bpf_stats; it costs some)
	// Warn takes warnings, Log what is done step by step, IR and Code the stages
	// of compilation; each may be nil.
	Warn, Log func(string)
	IR, Code  func(place, text string)
	// Progress is called in long loops of arming and may end them by an error, which Arm
	// or Add returns; what was attached is taken back. Nil is allowed.
	Progress func(what string, done, of int) error
}

// Engine is the kernel engine of one session. It is used from one goroutine;
// Symbol and Frames too.
type Engine struct {
	opt    Options
	k      *bpf.Kernel
	src    *sources
	buffer *bpf.Buffer
	mem    *ring.Shared
	flat   ring.Flat
	sites  []*site
	loads  []*load
	gates  []*bpf.Gate
	// listeners keep tracepoints on whose calls are probed.
	listeners map[string]*listener
	stats     io.Closer
	user      userSymbols
	namespace *ebpf.Namespace // of jalon, when it is not the machine's first one

	once sync.Once // of Disarm
}

// site is one place in the kernel with its programs.
type site struct {
	id     uint32
	tp     *tracepoint.Tracepoint
	halves []*half
	schema *event.Schema
	how    string // by what it is reached
	off    bool   // not attached: the user disabled it
	gone   bool   // not attached, and not to be any more: see Detach
	enable string // the tracepoint that must be on for the site to be reached
}

// Open looks at what this kernel and user allow.
func Open(opt Options) (*Engine, error) {
	e := &Engine{opt: opt}
	e.src = newSources(e)
	var err error
	if e.k, err = bpf.Open(bpf.Options{Types: e.src.types}); err != nil {
		return nil, err
	}
	return e, nil
}

// MayUprobe is nil where this kernel lets this user have uprobes of the kernel engine.
var MayUprobe = sync.OnceValue(func() error {
	e, err := Open(Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.permitted(); err != nil {
		return err
	}
	if f := e.k.Features().Uprobe; !f.OK {
		return errors.New(f.Text)
	}
	return nil
})

// Arm finds, compiles, loads and attaches the tracepoints, in this order for all
// of them together: nothing is attached before everything is loaded. ready is
// called in between, when records have a place and their schemas are known. The
// error is the user's diagnostics or what the environment refused.
func (e *Engine) Arm(tps []*tracepoint.Tracepoint, ready func()) error {
	if err := e.permitted(); err != nil {
		return err
	}
	var bad lang.Diagnostics
	for _, tp := range tps {
		sites, err := e.sitesOf(tp)
		if stop := e.step("", 0, 0); stop != nil {
			return stop
		}
		if err != nil {
			bad = tracepoint.Append(bad, err)
			continue
		}
		e.sites = append(e.sites, sites...)
	}
	if len(bad) > 0 {
		return distinct(bad).Err()
	}
	e.number()
	if err := e.makeBuffer(); err != nil {
		return err
	}
	if err := e.load(); err != nil {
		return err
	}
	if e.opt.Cost {
		c, err := e.k.EnableStats()
		if err != nil {
			return err
		}
		e.stats = c
	}
	if e.opt.Tgid != 0 { // while it is there
		if m := e.user.look(e.opt.Tgid); m != nil {
			m.read = time.Time{} // a program that starts has its libraries yet to come
		}
	}
	ready()
	return e.attach()
}

// step reports what is done, and whether to go on.
func (e *Engine) step(what string, done, of int) error {
	if e.opt.Progress == nil {
		return nil
	}
	return e.opt.Progress(what, done, of)
}

// number gives the sites their ids.
func (e *Engine) number() {
	for i, s := range e.sites {
		s.id = uint32(i)
		s.schema.SiteID = s.id
	}
}

// permitted says early, and in the same words for all places, what jalon lacks.
func (e *Engine) permitted() error {
	if p := e.k.Features().Permission; !p.OK {
		return &bpf.Error{Op: "trace by the kernel engine", Err: bpf.Denied("no permission: " + p.Text), Remedy: p.Remedy}
	}
	if e.namespace == nil {
		var err error
		if e.namespace, err = e.ownNamespace(); err != nil {
			return err
		}
	}
	return nil
}

// distinct leaves out diagnostics that are there already: places that share a collect
// list share what is wrong with it.
func distinct(list lang.Diagnostics) lang.Diagnostics {
	var out lang.Diagnostics
	seen := map[string]bool{}
	for _, d := range list {
		if text := d.Error(); !seen[text] {
			seen[text] = true
			out = append(out, d)
		}
	}
	return out
}

// sitesOf finds and compiles a tracepoint. Of several sites those where the
// expressions mean nothing are left out with a warning.
func (e *Engine) sitesOf(tp *tracepoint.Tracepoint) ([]*site, error) {
	at, err := e.resolve(tp.Place)
	if err != nil {
		return nil, err
	}
	var out []*site
	var left tracepoint.LeftOut
	for i := range at {
		if err := e.step("compiling", i, len(at)); err != nil {
			return nil, err
		}
		sites, err := e.sitesAt(tp, &at[i])
		if err == nil {
			out = append(out, sites...)
			continue
		}
		left.Add(err)
		e.logf("%s: left out: %v", at[i].place, err)
	}
	if len(out) == 0 {
		return nil, left.First
	}
	if left.N > 0 {
		e.warn(tp.Place.Text + ": " + left.Text(len(at)))
	}
	return out, nil
}

// Shared is the memory of the rings and counters; nil before Arm.
func (e *Engine) Shared() *ring.Shared { return e.mem }

// Schemas lists the schemas of the sites, by site id, with their tracepoints. Those that
// were taken back, or refused, are left out.
func (e *Engine) Schemas(f func(*event.Schema, *tracepoint.Tracepoint)) {
	for _, s := range e.sites {
		if !s.gone {
			f(s.schema, s.tp)
		}
	}
}

// Sites is the number of sites: those of Schemas.
func (e *Engine) Sites() (n int) {
	e.Schemas(func(*event.Schema, *tracepoint.Tracepoint) { n++ })
	return n
}

// Account adds to the summary of the sites, which are in the order of their ids,
// what only the kernel knows: missed hits, cost, how they were reached.
func (e *Engine) Account(sums []event.SiteSummary) {
	for i := range sums {
		id := sums[i].Schema.SiteID
		if int(id) >= len(e.sites) {
			continue
		}
		s := e.sites[id]
		sums[i].Tactic = s.how
		for _, h := range s.halves {
			h.account(&sums[i])
		}
	}
}

// Disarm detaches everything. Programs that are running at that moment finish.
func (e *Engine) Disarm() {
	e.once.Do(func() {
		e.detachAll()
		for _, g := range e.gates {
			_ = g.Close()
		}
		if e.stats != nil {
			_ = e.stats.Close()
		}
	})
}

// Close frees what the engine holds.
func (e *Engine) Close() {
	e.Disarm()
	for _, l := range e.loads {
		if l.loaded != nil {
			_ = l.loaded.Close()
		}
	}
	for _, on := range e.listeners {
		_ = on.prog.Close()
	}
	if e.buffer != nil {
		_ = e.buffer.Close()
	}
	e.src.close()
	if e.k != nil {
		_ = e.k.Close()
	}
}

func (e *Engine) logf(format string, args ...any) {
	if e.opt.Log != nil {
		e.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (e *Engine) warn(msg string) {
	if e.opt.Warn != nil {
		e.opt.Warn(msg)
	}
}
