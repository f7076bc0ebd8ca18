package inproc

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// An int3 of ours costs a stop of the thread at each hit, and two switches to jalon and
// back: 6 to 20 times what the kernel takes for a uprobe. A site that no jump can reach
// becomes a uprobe where Options.Uprobes takes it. So does a site where another tracer's
// breakpoint is: one more consumer of the kernel's breakpoint at that instruction.

// errNoUprobes: the kernel engine does not support the request.
var errNoUprobes = errors.New("GDB's hit programs run in the process only")

// uprober makes uprobes of sites.
type uprober struct {
	*target
	sites  *sites
	others *others
	tables *tableRef
	slow   []string // why sites are reached by int3 and no uprobe, since Slow was called
}

// hasten replaces int3 plans by uprobes and returns the other plans. If the user forbids tactics, it keeps the
// int3.
func (u *uprober) hasten(plans []*placed) []*placed {
	var list []*site
	for _, p := range plans {
		if u.mayHasten(p) {
			list = append(list, p.sites...)
		}
	}
	if len(list) == 0 {
		return plans
	}
	refused := map[*site]error{}
	for i, err := range u.asUprobes(list) {
		if err != nil {
			refused[list[i]] = err
		}
	}
	var kept []*placed
	for _, p := range plans {
		if !u.mayHasten(p) {
			kept = append(kept, p)
			continue
		}
		var errs []error
		for _, x := range p.sites {
			errs = append(errs, refused[x])
		}
		if err := errors.Join(errs...); err != nil {
			// One instruction has either: an int3 of ours, or the kernel's.
			for _, x := range p.sites {
				if refused[x] == nil {
					u.opt.Uprobes.Drop(x.Program)
				}
				u.slow = append(u.slow, engine.Plain(err))
			}
			kept = append(kept, p)
		}
	}
	return kept
}

func (u *uprober) mayHasten(p *placed) bool {
	if p.plan.Tactic != patch.Trapping || u.opt.Avoid != 0 || u.opt.Uprobes == nil {
		return false
	}
	for _, x := range p.sites {
		if x.noUprobe {
			return false
		}
	}
	return true
}

// stopCost is what is said of a hit at an int3: measured on metal, and where traps are
// dear (virtual machines).
const stopCost = "5 to 80 microseconds"

// warning is what Slow gives.
func (u *uprober) warning(all int) string {
	var l tracepoint.Skipped
	for _, why := range u.slow {
		l.AddText(why)
	}
	u.slow = nil
	if l.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d addresses are reached by an int3, which stops the thread for %s at each hit; the kernel's uprobes are faster, but %s", l.N, all, stopCost, l.Reasons())
}

// share makes uprobes of sites where another tracer's breakpoint is.
func (u *uprober) share(list []*site) {
	if len(list) == 0 {
		return
	}
	for i, err := range u.asUprobes(list) {
		if err != nil {
			u.sites.refuse(list[i], foreignError(list[i].addr, err))
		}
	}
}

// asUprobes makes uprobes of sites. The result has an error for each site that is none,
// and nil for those that are traced from now on: they need no patch.
func (u *uprober) asUprobes(list []*site) []error {
	if u.opt.Uprobes == nil {
		errs := make([]error, len(list))
		for i := range errs {
			errs[i] = errNoUprobes
		}
		return errs
	}
	wanted := make([]Wanted, len(list))
	for i, x := range list {
		wanted[i] = Wanted{x.Program, u.others.found.within(x.addr, x.addr+1)}
	}
	errs := u.opt.Uprobes.Add(wanted)
	t := &tables{uprobe: map[uint64][]byte{}}
	defer func() { u.tables.add(t) }()
	for i, x := range list {
		if errs[i] != nil {
			continue
		}
		if b, err := x.where.mod.dw.Text(x.where.site.Addr, uprobeBytes); err == nil {
			t.uprobe[x.addr] = b
		}
		x.tactic = "uprobe"
		if x.numbered { // it was to have a jump, and is no site of the process any more
			u.sites.moved++
		}
	}
	return errs
}

// foreignError says that the bytes of a site are another's.
func foreignError(addr uint64, why error) error {
	return fmt.Errorf("another tracer's breakpoint (a uprobe of perf or bpftrace, or a debugger's) is at %#x, and the kernel engine cannot share it: %w; end the other tracer, or trace all of this program's processes with --engine=kernel", addr, why)
}

// MayUprobe refuses sites where the kernel has no way to put a breakpoint, or would
// put it elsewhere: it takes private mappings of a file that are not writable.
func (w *Site) MayUprobe() error {
	for _, m := range w.mod.Maps {
		if w.Addr() < m.Start || w.Addr() >= m.End {
			continue
		}
		switch {
		case m.Inode == 0:
			return errors.New("its code is not that of a file any more")
		case m.Shared || m.Prot&unix.PROT_WRITE != 0:
			return errors.New("its code is writable, where the kernel puts no breakpoints")
		}
		st, err := os.Stat(w.mod.File())
		if err != nil {
			return err
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Ino != m.Inode {
			return fmt.Errorf("%s is not the file that the process has mapped (was it replaced?)", w.mod.File())
		}
		return nil
	}
	return fmt.Errorf("no mapping of %s is at %#x", w.mod.Path, w.Addr())
}

// Trapped reports an error unless the byte at the site is a breakpoint's, or that of
// the call that the kernel makes of the breakpoint at a five-byte nop: the kernel passes
// over mappings that it does not take without a word.
func (w *Site) Trapped() error {
	mem, err := openMem(w.e.target.p.Pid())
	if err != nil {
		return err
	}
	defer mem.Close()
	var b [1]byte
	if _, err := mem.ReadAt(b[:], int64(w.Addr())); err != nil {
		return fmt.Errorf("reading the code at %#x: %w", w.Addr(), err)
	}
	orig, err := w.mod.dw.Text(w.site.Addr, 1)
	if err != nil {
		return err
	}
	if b[0] != 0xcc && b[0] == orig[0] {
		return errors.New("the kernel has put no breakpoint into the process's code there")
	}
	return nil
}

// uprobeBytes is how many bytes of the code at a uprobe are known, to find it again.
const uprobeBytes = 4

// stray answers an int3 where a uprobe was put: the program has moved a copy of the
// page, with the kernel's breakpoint in it, over the page, and the kernel does not know
// it there. The program's byte is put back in the copy. Another thread may have come to
// the same int3 before that.
func (u *uprober) stray(addr uint64) bool {
	own := u.tables.get().uprobe[addr]
	b := make([]byte, len(own))
	if len(own) < 2 || own[0] == int3 {
		return false
	}
	if n, err := u.p.ReadMemory(addr, b); err != nil || n < len(b) || b[1] != own[1] {
		return false
	}
	switch b[0] {
	case own[0]:
		return true
	case int3:
		return u.p.WriteMemory(addr, own[:1]) == nil
	}
	return false
}
