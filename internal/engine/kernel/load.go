package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// bufferName is the name of the buffer's map in instructions.
const bufferName = "jalon"

// load is a program in the kernel with the sites that it serves: one, or many
// whose programs are the same but for their number, which the cookie tells.
type load struct {
	halves []*half
	sites  []*site
	loaded *bpf.Loaded
	link   *bpf.Link
	shared bool
	// listens are the tracepoints that this program needs to be on.
	listens []string
}

// oldLimit is how large the value of an array map may be on kernels before 6.10
// or so (KMALLOC_MAX_SIZE).
const oldLimit = 4 << 20

// defaultBuffer is the ring of one CPU.
const defaultBuffer = 4 << 20

// makeBuffer makes the memory for records and counters of the sites.
func (e *Engine) makeBuffer() error {
	largest := ring.RecHeader
	if e.opt.Spare > 0 {
		largest = rigRecord
	}
	for _, s := range e.sites {
		largest = max(largest, s.schema.RecordSize)
	}
	m, err := e.newMemory(e.opt.BufferSize, largest, len(e.sites)+e.opt.Spare)
	if err == nil {
		e.buffer, e.mem, e.flat = m.buffer, m.shared, m.flat
	}
	return err
}

// memory is a buffer as programs and the reader see it.
type memory struct {
	buffer *bpf.Buffer
	shared *ring.Shared
	flat   ring.Flat
}

// newMemory makes a buffer with a ring of size bytes for each CPU, for records of
// largest bytes and the counters of so many sites.
func (e *Engine) newMemory(size, largest, sites int) (m memory, err error) {
	cpus, err := ring.PossibleCPUs()
	if err != nil {
		return m, fmt.Errorf("counting the CPUs: %w", err)
	}
	if size <= 0 {
		size = defaultBuffer
	}
	for _, limit := range []uint64{ring.MaxFlat, oldLimit} {
		if m.flat, err = ring.NewFlat(cpus, size, largest, sites, limit); err != nil {
			return m, err
		}
		if m.buffer, err = e.k.NewBuffer(bufferName, m.flat.Size()); err == nil || !errors.Is(err, unix.E2BIG) {
			break
		}
	}
	if err != nil {
		return m, err
	}
	m.shared, err = m.flat.Wrap(m.buffer.Memory())
	return m, err
}

// load compiles and loads all programs. Equal ones are loaded once.
func (e *Engine) load() error {
	e.loads = e.group(e.sites)
	var bad lang.Diagnostics
	for i, l := range e.loads {
		if err := e.step("loading", i, len(e.loads)); err != nil {
			return err
		}
		if err := e.loadOne(l); err != nil {
			bad = tracepoint.Append(bad, probe.Error(l.sites[0].tp.Place, err))
		}
	}
	return bad.Err()
}

// group puts sites with equal programs together.
func (e *Engine) group(sites []*site) (loads []*load) {
	type key struct {
		tp      *tracepoint.Tracepoint // each is enabled and disabled by itself
		kind    bpf.Kind
		context ebpf.Context
		space   ebpf.Space
		text    string
	}
	groups := map[key]*load{}
	for _, s := range sites {
		for _, h := range s.halves {
			named := *h.prog
			named.Name = ""
			k := key{s.tp, h.v.target.Kind, h.v.context, space(h), named.String()}
			l := groups[k]
			if l == nil || !h.v.target.Kind.Cookies() {
				l = &load{}
				groups[k] = l
				loads = append(loads, l)
			}
			l.halves, l.sites = append(l.halves, h), append(l.sites, s)
			h.load = l
		}
	}
	return loads
}

// space is whose addresses a program's loads are given. A program in user code
// that also looks at its task_struct tells them apart at the hit.
func space(h *half) ebpf.Space {
	if h.v.kin.User && !usesTask(h.prog) {
		return ebpf.User
	}
	return ebpf.Kernel
}

func usesTask(p *ir.Program) bool {
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			if in := &b.Instrs[i]; in.Op == ir.Env && in.Imm == ir.EnvTask {
				return true
			}
		}
	}
	return false
}

func (e *Engine) loadOne(l *load) error {
	h, s := l.halves[0], l.sites[0]
	l.shared = len(l.halves) > 1
	cfg := e.config(s, h)
	cfg.SiteFromCookie = l.shared
	insns, err := e.code(s, h, cfg)
	if err != nil {
		return err
	}
	l.loaded, err = e.k.Load(bpf.Program{
		Name: fmt.Sprintf("jalon_%d", s.id), Insns: insns, Kind: h.v.target.Kind, Target: h.v.target, Buffers: []*bpf.Buffer{e.buffer},
		Sleepable: cfg.Sleeps,
	})
	if err != nil {
		var refused *bpf.Error
		if errors.As(err, &refused) && refused.Verbose() != "" {
			e.logf("%s: the verifier's log:\n%s", s.schema.Place, refused.Verbose())
		}
		return err
	}
	e.logf("%s: %d instructions of eBPF, %s, %d sites", s.schema.Place, len(insns), h.v.how, len(l.sites))
	return nil
}

// code makes the instructions of a half, and shows them to who wants to see them.
func (e *Engine) code(s *site, h *half, cfg ebpf.Config) (asm.Instructions, error) {
	insns, err := ebpf.Compile(h.prog, cfg)
	if err == nil && e.opt.Code != nil {
		e.opt.Code(s.schema.Place, ebpf.Listing(insns))
	}
	return insns, err
}

// config is what the code generator is told of a half.
func (e *Engine) config(s *site, h *half) ebpf.Config {
	kind := h.v.target.Kind
	return ebpf.Config{
		Name: bufferName, Layout: e.flat.Layout(s.id), Slack: uint64(e.flat.Slack), MapSize: e.flat.Size(), Sites: uint32(e.flat.Sites),
		Context: h.v.context, Space: space(h), Features: e.features(), Return: kind.Return(),
		Atomic: kind == bpf.Uprobe || kind == bpf.Uretprobe,
		Sleeps: (kind == bpf.Uprobe || kind == bpf.Uretprobe) && e.k.Features().Sleepable.OK && readsMemory(h.prog),
	}
}

// readsMemory: only then a program need wait for it.
func readsMemory(p *ir.Program) bool {
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			if b.Instrs[i].Op.Info().Reads {
				return true
			}
		}
	}
	return false
}

// features translates what the kernel can do for the code generator.
func (e *Engine) features() ebpf.Features {
	f := e.k.Features()
	return ebpf.Features{
		RdonlyCast: f.RdonlyCastID, V4: f.V4.OK,
		FSBase:   e.src.offset("task_struct", "thread.fsbase"),
		TaskComm: e.src.offset("task_struct", "comm"), Namespace: e.namespace,
	}
}

// attach attaches what is loaded, the deciding half of a pair first: the kernel
// calls the programs of a tracepoint in the order in which they came.
func (e *Engine) attach() error {
	for _, decider := range []bool{true, false} {
		for i, l := range e.loads {
			if l.halves[0].gives != decider {
				continue
			}
			if err := e.attachOne(l, func() error { return e.step("attaching", i, len(e.loads)) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// attachOne attaches a program to its sites. One site that the kernel refuses is
// left out with a warning; that all are refused is the error, or that of check, which
// may be nil.
func (e *Engine) attachOne(l *load, check func() error) error {
	var targets []bpf.Target
	var of []*site
	for i, h := range l.halves {
		if l.sites[i].off || l.sites[i].gone {
			continue
		}
		t := h.v.target
		if l.shared { // kernels that have cookies for some kinds only refuse others
			t.Cookie = uint64(l.sites[i].id)
		}
		targets, of = append(targets, t), append(of, l.sites[i])
	}
	if len(targets) == 0 {
		return nil
	}
	if err := e.mayPair(l); err != nil {
		return err
	}
	if err := e.listen(l); err != nil {
		return err
	}
	var stop error // of check: the user's, and no place's
	link, err := l.loaded.AttachAll(targets, func() error {
		if check != nil {
			stop = check()
		}
		return stop
	})
	l.link = link
	if err == nil || stop != nil {
		return stop
	}
	var partial *bpf.AttachError
	if link == nil || !errors.As(err, &partial) || len(partial.Failed) == 0 {
		return probe.Error(of[0].tp.Place, e.explain(&targets[0], err))
	}
	var left tracepoint.LeftOut
	for _, f := range partial.Failed {
		left.Add(f.Err)
		e.logf("%s: %v", f.Target.String(), f.Err)
	}
	e.warn(of[0].tp.Place.Text + ": " + left.Text(len(targets)))
	return nil
}

// explain adds to the kernel's refusal of a function why that may be.
func (e *Engine) explain(t *bpf.Target, err error) error {
	function, _, _ := strings.Cut(t.Symbol, ".") // of NAME.cold, NAME.part.0 the kernel looks at NAME
	why := t.Kind.Untraced()
	if function == "" || why == "" {
		return err
	}
	if may := e.src.traceable(); may == nil || may[function] || may[t.Symbol] {
		return err
	}
	return fmt.Errorf("%w; %s is no function that ftrace traces (it is marked notrace, or was needed at start-up only), and %s", err, function, why)
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
	s := l.sites[0]
	if len(s.halves) < 2 || l.halves[0].gives {
		return nil
	}
	t := &l.halves[0].v.target
	n, err := e.k.PerfUsers(t.Group, t.Name)
	for i := 1; i < pairAttempts && err == nil && n > 0; i++ {
		if err := e.step("", 0, 0); err != nil {
			return err
		}
		time.Sleep(pairPause)
		n, err = e.k.PerfUsers(t.Group, t.Name)
	}
	switch {
	case err != nil:
		return probe.Error(s.tp.Place, err)
	case n > 0:
		return probe.Error(s.tp.Place, errors.New("another program has this event open by perf; beside it a condition on the raw arguments cannot select the tracepoint's own record: collect expressions of the arguments in place of $_sdata, or end the other one"))
	}
	return nil
}

// detachAll detaches all programs.
func (e *Engine) detachAll() {
	sideBySide(len(e.loads), func(i int) { e.loads[i].detach() })
	for _, l := range e.loads {
		e.unlisten(l)
	}
}

func (l *load) detach() {
	if l.link != nil {
		_ = l.link.Close()
		l.link = nil
	}
}

// account adds what the kernel counted for a program. Of a program that serves
// many sites nothing is known about each.
func (h *half) account(sum *event.SiteSummary) {
	if h.load == nil || h.load.loaded == nil || h.load.shared {
		return
	}
	st, err := h.load.loaded.Stats()
	if err != nil {
		return
	}
	sum.Missed += st.Missed
	sum.Cost += time.Duration(st.PerHit())
}

// SetEnabled attaches or detaches a tracepoint's sites; their programs stay loaded.
func (e *Engine) SetEnabled(tp *tracepoint.Tracepoint, on bool) error {
	var mine []*load
	for _, l := range e.loads {
		if slices.ContainsFunc(l.sites, func(s *site) bool { return s.tp == tp }) {
			mine = append(mine, l)
		}
	}
	sideBySide(len(mine), func(i int) { mine[i].detach() })
	for _, l := range mine {
		e.unlisten(l)
		for _, s := range l.sites {
			if s.tp == tp {
				s.off = !on
			}
		}
	}
	for _, decider := range []bool{true, false} {
		for _, l := range e.loads {
			if l.link != nil || l.halves[0].gives != decider {
				continue
			}
			if err := e.attachOne(l, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
