package kernel

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/ir"
)

// parts is what a program is compiled with, and the kernel's memory that it addresses.
type parts struct {
	cfg     ebpf.Config
	buffers []*bpf.Buffer
	stacks  []*bpf.Stacks
}

// loadOne compiles a program that is the same for all of l, and has the kernel verify it.
func (e *loader) loadOne(l *load) error {
	p := l.programs[0]
	l.shared = len(l.programs) > 1
	with, err := e.partsOf(l)
	if err != nil {
		return err
	}
	e.sleeps = e.sleeps || with.cfg.Sleeps
	n, err := e.verify(l, with)
	if err != nil && with.cfg.UserStacks.Name != "" { // several such walks are more than a verifier follows
		e.logf("%s: stacks in keys are by frame pointers: %v", p.Label, err)
		with.cfg.UserStacks = ebpf.UserStacks{}
		n, err = e.verify(l, with)
	}
	if err != nil {
		if log := bpf.VerifierLog(err); log != "" {
			e.logf("%s: the verifier's log:\n%s", p.Label, log)
		}
		return err
	}
	e.logf("%s: %d instructions of eBPF, %s, %d sites", p.Label, n, p.at.v.how, len(l.programs))
	return nil
}

// verify compiles a program and loads it into the kernel; n is how many instructions it has.
func (e *loader) verify(l *load, with parts) (n int, err error) {
	type made struct {
		n      int
		loaded *bpf.Loaded
		err    error
	}
	p, m := l.programs[0], &made{}
	target := p.at.v.target
	err = engine.Interruptible(p.IR, e.step, func() { // the verifier too takes seconds for long programs
		var insns asm.Instructions
		if insns, m.err = e.code(p, with.cfg); m.err != nil {
			return
		}
		m.n = len(insns)
		m.loaded, m.err = e.k.Load(bpf.Program{
			Name: fmt.Sprintf("jalon_%d", p.id), Insns: insns, Kind: target.Kind, Target: target, Buffers: with.buffers, Stacks: with.stacks,
			Sleepable: with.cfg.Sleeps,
		})
	})
	if err != nil {
		return 0, err
	}
	l.loaded = m.loaded
	return m.n, m.err
}

// partsOf opens what a program needs.
func (e *loader) partsOf(l *load) (with parts, err error) {
	p := l.programs[0]
	with = parts{cfg: e.config(p), buffers: []*bpf.Buffer{e.mem.buffer}}
	with.cfg.SiteFromCookie = l.shared
	if l.via = p.via; l.via != nil && l.shared {
		with.cfg.SiteByCall = ebpf.Bytes{Name: sitesName, Size: callTable}
		with.buffers = append(with.buffers, l.via.sites)
	}
	for _, open := range []func(*program, *parts) error{e.withMaps, e.withFollowed, e.withWalk, e.withStacks} {
		if err := open(p, &with); err != nil {
			return parts{}, err
		}
	}
	return with, nil
}

// withMaps adds the session's maps, and the tables of stacks in their keys.
func (e *loader) withMaps(p *program, to *parts) error {
	tables, err := e.tablesOf(p.IR)
	if err != nil {
		return err
	}
	for _, t := range tables {
		to.cfg.Maps, to.buffers = append(to.cfg.Maps, t.code), append(to.buffers, t.buffer)
	}
	stacks, err := e.stackTablesOf(p.IR)
	if err != nil {
		return err
	}
	for _, t := range stacks {
		to.cfg.Stacks, to.stacks = append(to.cfg.Stacks, t.code), append(to.stacks, t.stacks)
	}
	return nil
}

// withFollowed adds the set of processes that are followed.
func (e *loader) withFollowed(p *program, to *parts) error {
	if !readsFollowed(p.IR) {
		return nil
	}
	if err := e.follow(); err != nil {
		return fmt.Errorf("following children: %w", err)
	}
	to.cfg.Followed = ebpf.Bytes{Name: followedName, Size: e.follower.size}
	to.buffers = append(to.buffers, e.follower.buffer)
	return nil
}

// withWalk adds the table by which a program at a place of a process walks its stack.
func (e *loader) withWalk(p *program, to *parts) (err error) {
	if walk := p.at.v.walk; walk != nil && walks(p.IR) {
		to.cfg.Walk, err = walk()
	}
	return err
}

// withStacks adds the tables by which stacks of processes are followed, and in keys have numbers.
func (e *loader) withStacks(p *program, to *parts) error {
	if p.Schema != nil && slices.ContainsFunc(p.Schema.Fields, ofProgram) {
		e.watched.watch()
	}
	inKey := uses(p.IR, ir.UserStack)
	if byTables(p.IR) || inKey && e.followed() {
		if err := e.walks.open(); err != nil {
			return fmt.Errorf("tables for following stacks: %w", err)
		}
		to.cfg.Tables, to.buffers = e.walks.code, append(to.buffers, e.walks.buffer)
	}
	if !inKey {
		return nil
	}
	e.watched.watch()
	if !e.followed() {
		return nil
	}
	if err := e.users.open(&e.walks); err != nil {
		return fmt.Errorf("the table of stacks: %w", err)
	}
	to.cfg.UserStacks, to.buffers = e.users.code, append(to.buffers, e.users.buffer)
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
