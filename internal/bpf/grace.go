package bpf

import (
	"errors"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// Grace waits for programs: it is over when all programs have ended that were running when it began.
//
// The kernel frees a program, and then the maps that only the program has, when all programs of its kind have ended that were running when it was closed:
// it cannot know that none of them calls it (__bpf_prog_put_noref: call_rcu, and call_rcu_tasks_trace for programs that may sleep). So a program with
// a map is loaded and closed. When the map does not exist any more, the grace is over. Only the identifier of the map is looked at: that needs
// CAP_SYS_ADMIN.
type Grace struct{ ids []ebpf.MapID }

// MayGrace reports whether graces are permitted.
func MayGrace() bool {
	return procdir.HasCapability(unix.CAP_SYS_ADMIN)
}

// Grace begins one. sleepable: also for programs that may sleep.
func (k *Kernel) Grace(sleepable bool) (*Grace, error) {
	g := &Grace{}
	kinds := []Program{{Kind: RawTracepoint}}
	if sleepable {
		kinds = append(kinds, Program{Kind: Uprobe, Sleepable: true})
	}
	for _, p := range kinds {
		id, err := k.closed(p)
		if err != nil {
			return nil, err
		}
		g.ids = append(g.ids, id)
	}
	return g, nil
}

// closed loads and closes a program, and returns the identifier of its map.
func (k *Kernel) closed(p Program) (id ebpf.MapID, err error) {
	b, err := k.NewBuffer("jalon_grace", 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	info, err := b.m.Info()
	if err != nil {
		return 0, wrap("asking for the identifier of a map", err)
	}
	id, ok := info.ID()
	if !ok {
		return 0, wrap("asking for the identifier of a map", errors.ErrUnsupported)
	}
	p.Name, p.Buffers = "jalon_grace", []*Buffer{b}
	p.Insns = asm.Instructions{
		asm.LoadMapValue(asm.R1, 0, 0).WithReference(b.name),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
	prog, err := k.Load(p)
	if err != nil {
		return 0, err
	}
	return id, prog.Close()
}

// Over reports whether the grace is over.
func (g *Grace) Over() (bool, error) {
	for len(g.ids) > 0 {
		m, err := ebpf.NewMapFromID(g.ids[0])
		switch {
		case errors.Is(err, os.ErrNotExist):
			g.ids = g.ids[1:]
		case err != nil:
			return false, wrap("looking for a map", err)
		default:
			return false, m.Close()
		}
	}
	return true, nil
}
