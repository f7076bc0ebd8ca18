package kernel

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Rig runs ready-made programs (package agentexpr makes them of what GDB sends) at
// places of the kernel: memory for their records, counters and variables, and the
// programs that use it. Many may be at one place. It is used from one goroutine.
type Rig struct {
	e      *Engine
	m      memory
	probes []*Probe
	next   uint32 // the first number of a site that is free
}

// RigOptions say how much memory a Rig has; zero means the default.
type RigOptions struct {
	BufferSize int // bytes of ring a CPU
	Record     int // bytes of the largest record that programs may have
	Sites      int // programs, at most
}

// The default limits of a Rig.
const (
	rigRecord = 16 << 10
	rigSites  = 1024
)

// NewRig makes the memory. Close it when its records are read.
func (e *Engine) NewRig(opt RigOptions) (*Rig, error) {
	if err := e.permitted(); err != nil {
		return nil, err
	}
	m, err := e.newMemory(opt.BufferSize, max(opt.Record, rigRecord), max(opt.Sites, rigSites))
	if err != nil {
		return nil, err
	}
	return &Rig{e: e, m: m}, nil
}

// Shared is the memory of rings, counters and variables.
func (r *Rig) Shared() *ring.Shared { return r.m.shared }

// Spot is where a program of a Rig runs, and what its context is.
type Spot struct {
	target  bpf.Target
	context ebpf.Context
}

// Instruction is the instruction at an address of the kernel, by a kprobe; the
// context is struct pt_regs.
func Instruction(addr uint64) Spot {
	return Spot{bpf.Target{Kind: bpf.Kprobe, Addr: addr}, ebpf.Regs}
}

// Arguments is a static tracepoint by its raw arguments, each a word of the context.
func (m *Marker) Arguments() Spot {
	return Spot{bpf.Target{Kind: bpf.RawTracepoint, Name: m.Name.Event}, ebpf.Args}
}

// Record is a static tracepoint by the record that the kernel makes of it, which is
// the context.
func (m *Marker) Record() Spot {
	return Spot{bpf.Target{Kind: bpf.Tracepoint, Group: m.Name.System, Name: m.Name.Event}, ebpf.Record}
}

// Others is how many perf events are open on the tracepoint, those of this process
// included.
func (r *Rig) Others(m *Marker) (int, error) { return r.e.k.PerfUsers(m.Name.System, m.Name.Event) }

// Probe is a program of a Rig, loaded.
type Probe struct {
	Site   uint32 // in its records
	r      *Rig
	spot   Spot
	loaded *bpf.Loaded
	link   *bpf.Link
}

// Load optimises, compiles and verifies a program. partner, when not nil, is the
// program that gives it words (ir.Give, ir.Take): they share counters.
func (r *Rig) Load(spot Spot, p *ir.Program, partner *Probe) (*Probe, error) {
	if int(r.next) >= r.m.shared.Sites() {
		return nil, fmt.Errorf("this run has room for %d programs, and they are all in use", r.m.shared.Sites())
	}
	if err := ir.Optimize(p); err != nil {
		panic(fmt.Sprintf("BUG: %s: the program made for it is not valid: %v\n%s", p.Name, err, p.String()))
	}
	pr := &Probe{Site: r.next, r: r, spot: spot}
	layout := r.m.flat.Layout(pr.Site)
	if partner != nil {
		layout.Counters = r.m.flat.Layout(partner.Site).Counters
	}
	insns, err := ebpf.Compile(p, ebpf.Config{
		Name: bufferName, Layout: layout, Slack: uint64(r.m.flat.Slack), MapSize: r.m.flat.Size(), Sites: uint32(r.m.flat.Sites),
		Context: spot.context, Space: ebpf.Kernel, Features: r.e.features(), Return: spot.target.Kind.Return(),
	})
	if err != nil {
		return nil, err
	}
	pr.loaded, err = r.e.k.Load(bpf.Program{
		Name: fmt.Sprintf("jalon_%d", pr.Site), Insns: insns, Kind: spot.target.Kind, Target: spot.target, Buffers: []*bpf.Buffer{r.m.buffer},
	})
	if err != nil {
		var refused *bpf.Error
		if errors.As(err, &refused) && refused.Verbose() != "" {
			r.e.logf("%s: the verifier's log:\n%s", p.Name, refused.Verbose())
		}
		return nil, err
	}
	r.next++
	r.probes = append(r.probes, pr)
	return pr, nil
}

// Attach lets hits come. Attaching what is attached changes nothing, as Detach of
// what is not.
func (p *Probe) Attach() error {
	if p.link != nil {
		return nil
	}
	link, err := p.loaded.Attach(p.spot.target)
	if err != nil {
		return p.r.e.explain(p.named(), err)
	}
	p.link = link
	return nil
}

// named is the target with the name of the function at its address, for messages.
func (p *Probe) named() *bpf.Target {
	t := p.spot.target
	if syms, err := p.r.e.src.kallsyms(); err == nil && t.Kind == bpf.Kprobe {
		if at, ok := syms.At(t.Addr); ok {
			t.Symbol = at.Name
		}
	}
	return &t
}

// Detach ends the hits; the program stays loaded. A hit that is under way may
// still commit its record.
func (p *Probe) Detach() error {
	if p.link == nil {
		return nil
	}
	err := p.link.Close()
	p.link = nil
	return err
}

// Attached reports whether hits may come.
func (p *Probe) Attached() bool { return p.link != nil }

// Missed is how many hits the kernel kept from the program: it does not run inside
// another one of its kind, or inside itself.
func (p *Probe) Missed() uint64 {
	st, err := p.loaded.Stats()
	if err != nil {
		return 0
	}
	return st.Missed
}

// Close ends all hits and frees everything; Shared must not be used afterwards.
func (r *Rig) Close() error {
	var errs []error
	for _, p := range r.probes {
		errs = append(errs, p.Detach(), p.loaded.Close())
	}
	r.probes = nil
	return errors.Join(append(errs, r.m.buffer.Close())...)
}

// ReadMemory reads n bytes of the kernel's memory by a program of eBPF; where a part
// cannot be read the error wraps EFAULT.
func (e *Engine) ReadMemory(addr uint64, n int) ([]byte, error) { return e.k.ReadMemory(addr, n) }

// Address is that of a symbol of the kernel.
func (e *Engine) Address(symbol string) (uint64, bool) { return e.src.address(symbol) }
