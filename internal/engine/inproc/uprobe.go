package inproc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// An int3 of jalon stops the thread at each hit, with two switches to jalon and back: 6 to 20 times the
// cost of a uprobe in the kernel. A site where no jump fits becomes a uprobe if Options.Uprobes accepts it.
// So does a site at another tracer's breakpoint: it becomes another consumer of the kernel's breakpoint at
// that instruction.

// errNoUprobes: the kernel engine does not support the request.
var errNoUprobes = errors.New("GDB's hit programs run in the process only")

// uprober turns sites into uprobes.
type uprober struct {
	*target
	sites  *sites
	others *others
	tables *tableRef
	slow   []string // why sites have an int3 and no uprobe, since the last call of Slow
}

// replaceTraps replaces int3 plans by uprobes and returns the other plans. If the user forbids tactics, it
// keeps the int3.
func (u *uprober) replaceTraps(plans []*placed) []*placed {
	var list []*site
	for _, p := range plans {
		switch why := u.keepsTrap(p); why {
		case "":
			list = append(list, p.sites...)
		case notSlow:
		default:
			u.slow = append(u.slow, why)
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
		if u.keepsTrap(p) != "" {
			kept = append(kept, p)
			continue
		}
		var errs []error
		for _, x := range p.sites {
			errs = append(errs, refused[x])
		}
		if err := errors.Join(errs...); err != nil {
			// An instruction has either an int3 of jalon or one of the kernel.
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

// notSlow is the result of keepsTrap for a plan that has no int3, or one that the user requested.
const notSlow = "not slow"

// keepsTrap returns why an int3 cannot become a uprobe; "" if it can.
func (u *uprober) keepsTrap(p *placed) string {
	if p.plan.Tactic != patch.Trapping || u.opt.Avoid != 0 || u.opt.Uprobes == nil {
		return notSlow
	}
	for _, x := range p.sites {
		switch {
		case x.noUprobe:
			return "the kernel accepts none there any more"
		case onlyHere(x.IR):
			return errOnlyHere.Error()
		}
	}
	return ""
}

// stopCost is the printed cost of a hit at an int3: measured on bare metal, and on machines with slow traps
// (virtual machines).
const stopCost = "5 to 80 microseconds"

// warning is the result of Slow.
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

// share turns sites at another tracer's breakpoint into uprobes.
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

// asUprobes turns sites into uprobes. The result has an error for each site without a uprobe, and nil for
// the sites that are traced now and need no patch.
func (u *uprober) asUprobes(list []*site) []error {
	if u.opt.Uprobes == nil {
		errs := make([]error, len(list))
		for i := range errs {
			errs[i] = errNoUprobes
		}
		return errs
	}
	errs, wanted, at := make([]error, len(list)), []Wanted{}, []int{}
	for i, x := range slices.Backward(list) { // of an address, the kernel runs the one first that was attached last
		if onlyHere(x.IR) {
			errs[i] = errOnlyHere
			continue
		}
		wanted, at = append(wanted, Wanted{x.Program, u.others.found.within(x.addr, x.addr+1)}), append(at, i)
	}
	for n, err := range u.opt.Uprobes.Add(wanted) {
		errs[at[n]] = err
	}
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
		if x.numbered { // it was planned as a jump, and is no longer a site in the process
			u.sites.moved++
		}
	}
	return errs
}

// foreignError returns the error for a site with another tracer's breakpoint.
func foreignError(addr uint64, why error) error {
	return fmt.Errorf("another tracer's breakpoint (a uprobe of perf or bpftrace, a debugger's, or one that a killed jalon has left) is at %#x, and the kernel engine cannot share it: %w; end the other tracer, or let the kernel trace all processes of this program (jalon trace --engine=kernel; jalon run without -p, -c and --)", addr, why)
}

// MayUprobe refuses sites where the kernel cannot insert a breakpoint, or would insert it elsewhere: it
// needs private mappings of a file that are not writable.
func (w *Site) MayUprobe() error {
	for _, m := range w.mod.Maps {
		if w.Addr() < m.Start || w.Addr() >= m.End {
			continue
		}
		switch {
		case m.Inode == 0:
			return errors.New("its code is no longer that of a file")
		case m.Shared || m.Prot&unix.PROT_WRITE != 0:
			return errors.New("its code is writable, and the kernel inserts no breakpoints there")
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

// Trapped returns an error unless the byte at the site is a breakpoint, or the first byte of the call by
// which the kernel replaces the breakpoint at a five-byte nop. The kernel silently skips mappings that it
// does not accept.
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
		return errors.New("the kernel has inserted no breakpoint in the process's code there")
	}
	return nil
}

// uprobeBytes is how many bytes of the code at a uprobe are stored, to recognise it.
const uprobeBytes = 4

// stray handles an int3 at the address of a uprobe that the kernel does not know: the program has moved a
// copy of the page, with the kernel's breakpoint in it, over the page. stray restores the program's byte in
// the copy. Another thread may have reached the same int3 before.
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

// errOnlyHere: the kernel has no such maps, or another table of them, in which nothing would be that programs in the process have there.
var errOnlyHere = errors.New("maps and the values of entries ($elapsed, @entry) are in the process")

// onlyHere reports whether the kernel's programs cannot do what a program does with maps: some are its own, or are read, so
// that all programs need the same table.
func onlyHere(p *ir.Program) bool {
	for i := range p.Maps {
		if m := &p.Maps[i]; !m.Shared || !m.Cells {
			return true
		}
	}
	return false
}
