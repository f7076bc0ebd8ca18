package kernel

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
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

// otherSize warns of rings that have not the requested size: smaller ones lose events sooner, and where the oldest
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
