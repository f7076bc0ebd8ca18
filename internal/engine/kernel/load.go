package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// bufferName is the name of the buffer's map in instructions.
const bufferName = "jalon"

// oldLimit is how large the value of an array map may be on kernels before 6.10
// or so (KMALLOC_MAX_SIZE).
const oldLimit = 4 << 20

// defaultBuffer is the ring of one CPU.
const defaultBuffer = 4 << 20

// memory is a buffer as programs and the reader see it.
type memory struct {
	buffer *bpf.Buffer
	shared *ring.Shared
	flat   ring.Flat
}

// loader makes eBPF of programs and has the kernel verify it.
type loader struct {
	*base
	follower follower
	facts    *facts
	pids     *pids
	run      *EngineOptions
	mem      memory
	// tables are the maps of the session, stacks the tables of stacks in their keys.
	tables  []*table
	stacks  []*stackTable
	walks   walkTables
	users   userStacks
	watched codeWatch
	sleeps  bool // a program that may sleep was loaded
}

// need is what a buffer is made for: the size of the largest record, and how many sites
// have counters.
type need struct{ largest, sites int }

// newMemory makes a buffer with a ring of size bytes for each CPU: for the requested number of sites, or,
// if the size of an array's value is limited, for the needed number.
func (e *loader) newMemory(size int, needed, wished need) (m memory, err error) {
	cpus, err := ring.PossibleCPUs()
	if err != nil {
		return m, fmt.Errorf("counting the CPUs: %w", err)
	}
	if size <= 0 {
		size = defaultBuffer
	}
	for _, try := range []struct {
		need
		limit uint64
	}{{wished, ring.MaxFlat}, {needed, oldLimit}} {
		if m.flat, err = ring.NewFlat(cpus, size, try.largest, try.sites, e.run.Overwrite, try.limit); err != nil {
			return m, err
		}
		m.flat.Fill()
		if m.buffer, err = e.k.NewBuffer(bufferName, m.flat.Size()); err == nil || !errors.Is(err, unix.E2BIG) {
			break
		}
	}
	if err != nil {
		return m, err
	}
	e.otherSize(m.flat, size)
	m.shared, err = m.flat.Wrap(m.buffer.Memory())
	return m, err
}

// otherSize warns of rings that have not the size that the user wants: smaller ones lose events sooner, and where the oldest
// are overwritten, it is how far back they go.
func (e *loader) otherSize(f ring.Flat, size int) {
	why := ""
	switch {
	case f.RingSize < size && (size > defaultBuffer || e.run.Overwrite):
		why = fmt.Sprintf("the kernel's programs can address %d MiB in all", uint64(ring.MaxFlat)>>20)
	case e.run.Overwrite && f.RingSize >= 2*max(size, ring.PageSize): // more than rounded to a power of two
		why = "its parts have room for the largest event"
	default:
		return
	}
	what := "the buffers of the kernel's places have"
	if e.run.Overwrite {
		what = "the newest events of the kernel's places are kept in"
	}
	e.warn(fmt.Sprintf("%s %d KiB for each CPU, not %d: %s", what, f.RingSize>>10, max(size>>10, 1), why))
}

// space is the address space of a program's loads. A program in user code that also reads its task_struct
// distinguishes them at the hit.
func space(p *program) ebpf.Space {
	if p.at.v.kernel.User && !usesTask(p.IR) {
		return ebpf.User
	}
	return ebpf.Kernel
}

func usesTask(p *ir.Program) bool {
	for in := range p.Instrs() {
		if in.Op == ir.Env && in.Imm == ir.EnvTask {
			return true
		}
	}
	return false
}

func (e *loader) loadOne(l *load) error {
	p := l.programs[0]
	l.shared = len(l.programs) > 1
	cfg := e.config(p)
	cfg.SiteFromCookie = l.shared
	tables, err := e.tablesOf(p.IR)
	if err != nil {
		return err
	}
	buffers := []*bpf.Buffer{e.mem.buffer}
	if l.via = p.via; l.via != nil && l.shared {
		cfg.SiteByCall, buffers = ebpf.Bytes{Name: sitesName, Size: callTable}, append(buffers, l.via.sites)
	}
	for _, t := range tables {
		cfg.Maps, buffers = append(cfg.Maps, t.code), append(buffers, t.buffer)
	}
	var stacks []*bpf.Stacks
	of, err := e.stackTablesOf(p.IR)
	if err != nil {
		return err
	}
	for _, t := range of {
		cfg.Stacks, stacks = append(cfg.Stacks, t.code), append(stacks, t.stacks)
	}
	if readsFollowed(p.IR) {
		if err := e.follow(); err != nil {
			return fmt.Errorf("following children: %w", err)
		}
		cfg.Followed = ebpf.Bytes{Name: followedName, Size: e.follower.size}
		buffers = append(buffers, e.follower.buffer)
	}
	if walk := p.at.v.walk; walk != nil && walks(p.IR) {
		var err error
		if cfg.Walk, err = walk(); err != nil {
			return err
		}
	}
	if p.Schema != nil && slices.ContainsFunc(p.Schema.Fields, ofProgram) {
		e.watched.watch()
	}
	ofUser := uses(p.IR, ir.UserStack)
	if byTables(p.IR) || ofUser && e.followed() {
		if err := e.walks.open(); err != nil {
			return fmt.Errorf("tables for following stacks: %w", err)
		}
		cfg.Tables = e.walks.code
		buffers = append(buffers, e.walks.buffer)
	}
	if ofUser {
		e.watched.watch()
		if e.followed() {
			if err := e.users.open(&e.walks); err != nil {
				return fmt.Errorf("the table of stacks: %w", err)
			}
			cfg.UserStacks = e.users.code
			buffers = append(buffers, e.users.buffer)
		}
	}
	v := p.at.v
	var insns asm.Instructions
	e.sleeps = e.sleeps || cfg.Sleeps
	load := func() error {
		type made struct {
			insns  asm.Instructions
			loaded *bpf.Loaded
			err    error
		}
		m, cfg := &made{}, cfg
		err := engine.Interruptible(p.IR, e.step, func() { // the verifier too takes seconds for long programs
			if m.insns, m.err = e.code(p, cfg); m.err == nil {
				m.loaded, m.err = e.k.Load(bpf.Program{
					Name: fmt.Sprintf("jalon_%d", p.id), Insns: m.insns, Kind: v.target.Kind, Target: v.target, Buffers: buffers, Stacks: stacks,
					Sleepable: cfg.Sleeps,
				})
			}
		})
		if err != nil {
			return err
		}
		insns, l.loaded = m.insns, m.loaded
		return m.err
	}
	if err = load(); err != nil && cfg.UserStacks.Name != "" { // several such walks are more than a verifier follows
		e.logf("%s: stacks in keys are by frame pointers: %v", p.Label, err)
		cfg.UserStacks = ebpf.UserStacks{}
		err = load()
	}
	if err != nil {
		if log := bpf.VerifierLog(err); log != "" {
			e.logf("%s: the verifier's log:\n%s", p.Label, log)
		}
		return err
	}
	e.logf("%s: %d instructions of eBPF, %s, %d sites", p.Label, len(insns), v.how, len(l.programs))
	return nil
}

// code generates the instructions of a program, and dumps them if requested.
func (e *loader) code(p *program, cfg ebpf.Config) (asm.Instructions, error) {
	insns, err := ebpf.Compile(p.IR, cfg)
	if err == nil && e.run.Code != nil {
		e.run.Code(p.Label, ebpf.Listing(insns))
	}
	return insns, err
}

// config returns the code generator's configuration for a program.
func (e *loader) config(p *program) ebpf.Config {
	v, flat := p.at.v, &e.mem.flat
	layout := flat.Layout(p.id)
	if p.first != nil { // a pair counts as one
		of := flat.Layout(p.first.id)
		layout.Counters, layout.Given, layout.Switch = of.Counters, of.Given, 0
	}
	if p.load != nil && p.load.shared { // the cookie has the number
		of := flat.Layout(0)
		layout.Counters, layout.Given, layout.Recorded = of.Counters, of.Given, of.Recorded
	}
	kind := v.target.Kind
	return ebpf.Config{
		Name: bufferName, Layout: layout, Slack: uint64(flat.Slack), MapSize: flat.Size(), Sites: uint32(flat.Sites),
		Context: v.context, Space: space(p), Features: e.features(), Return: kind.Return(),
		Atomic: kind == bpf.Uprobe || kind == bpf.Uretprobe,
		Sleeps: (kind == bpf.Uprobe || kind == bpf.Uretprobe) && e.k.Features().Sleepable.OK && readsMemory(p.IR) && !uses(p.IR, ir.UserStack),
	}
}

// byTables reports whether a program follows the stacks of processes that have tables.
func byTables(p *ir.Program) bool {
	for in := range p.Instrs() {
		if in.Op == ir.Env && in.Imm == ir.EnvTables {
			return true
		}
	}
	return false
}

func walks(p *ir.Program) bool { return uses(p, ir.Walk) }

func uses(p *ir.Program, op ir.Op) bool {
	for in := range p.Instrs() {
		if in.Op == op {
			return true
		}
	}
	return false
}

// followed reports whether programs can follow stacks of processes by tables.
func (e *loader) followed() bool { return e.facts.followable() && e.pids.namespace == nil }

// readsMemory: only then a program need wait for it. Walks along the stack do not wait.
func readsMemory(p *ir.Program) bool {
	for in := range p.Instrs() {
		if in.Op.Info().Reads && in.Op != ir.Walk {
			return true
		}
	}
	return false
}

// features translates what the kernel can do for the code generator.
func (e *loader) features() ebpf.Features {
	f := e.k.Features()
	direct := f.RdonlyCastID
	if !host.Processor.GuardedLoads {
		direct = 0
	}
	return ebpf.Features{
		RdonlyCast: direct, V4: f.V4.OK,
		FSBase:   e.facts.offset("task_struct", host.Processor.Task.ThreadPointer),
		TaskComm: e.facts.offset("task_struct", "comm"), Namespace: e.pids.namespace,
	}
}

// sharedFrom is how many instructions a program has that several keys share: the kernel takes longer to verify it than to detach
// what is disabled alone, and the cookie is nothing beside what a hit executes.
const sharedFrom = 500

func length(p *ir.Program) (n int) {
	for range p.Instrs() {
		n++
	}
	return n
}

// ofSeveralKeys reports whether a load serves programs of several keys.
func (l *load) ofSeveralKeys() bool {
	return slices.ContainsFunc(l.programs, func(p *program) bool { return p.Key != l.programs[0].Key })
}

// apart gives each program of a load one of its own.
func apart(l *load) (loads []*load) {
	for _, p := range l.programs {
		p.load = &load{programs: []*program{p}}
		loads = append(loads, p.load)
	}
	return loads
}

// traceEvent names a trace event; the zero value is for other places.
type traceEvent struct{ group, name string }

func eventOf(p *program) (e traceEvent) {
	if t := &p.at.v.target; t.Kind == bpf.Tracepoint {
		e.group, e.name = t.Group, t.Name
	}
	return e
}

// programsAt counts the programs at each trace event. Where there are several, the kernel calls them in the order in which they are attached, so keys
// share no program there.
func programsAt(list []*program) map[traceEvent]int {
	at := map[traceEvent]int{}
	for _, p := range list {
		at[eventOf(p)]++
	}
	delete(at, traceEvent{})
	return at
}

// group puts equal programs together.
func group(list []*program) (loads []*load) {
	type key struct {
		of      any // each key is enabled and disabled by itself; nil for long programs
		kind    bpf.Kind
		context ebpf.Context
		space   ebpf.Space
		via     *dispatcher
		text    string
	}
	groups, at := map[key]*load{}, programsAt(list)
	for _, p := range list {
		v, of := p.at.v, p.Key
		if p.via == nil && at[eventOf(p)] == 1 && length(p.IR) >= sharedFrom {
			of = nil
		}
		k := key{of, v.target.Kind, v.context, space(p), p.via, p.IR.Unnamed().Key()}
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
