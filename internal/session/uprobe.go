package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/kengine"
	"github.com/jalon-trace/jalon/internal/probe"
)

// A site that no code of ours may reach (another tracer's breakpoint is there), or
// that it would reach slowly, becomes a uprobe of the kernel engine: one more consumer
// of the kernel's breakpoint at that instruction, for this process only. Its records
// are merged with those of the other sites.

// uprobe is such a site.
type uprobe struct {
	x  *site
	id uint32 // in the kernel engine
	// absent: its library is unloaded. The kernel puts the breakpoint there again when
	// the file is mapped again.
	absent bool
	// foreign: another tracer's breakpoint is at its address.
	foreign bool
}

// spareUprobes is how many sites of a session can become uprobes.
const spareUprobes = 4096

// errNoUprobes: what is asked of the kernel engine it cannot do.
var errNoUprobes = errors.New("GDB's hit programs run in the process only")

// asUprobes makes uprobes, in this process only, of sites. The result has an error
// for each site that it cannot make one of, and nil for those that are traced from now
// on: they need no patch. The process may run or stand still.
func (s *Session) asUprobes(list []*site) []error {
	errs := make([]error, len(list))
	var add []kengine.UserSite
	var at []int
	for i, x := range list {
		if u := s.uprobeAt(x); u != nil { // its library was loaded anew
			u.absent, u.x = false, x
			x.tp.sites++
			continue
		}
		if errs[i] = s.mayUprobe(x); errs[i] == nil {
			add = append(add, kengine.UserSite{Tracepoint: x.tp.Tracepoint, Module: x.where.mod.dw, Path: x.where.mod.file, Site: x.where.site, Pid: s.p.Pid()})
			at = append(at, i)
		}
	}
	if len(add) == 0 {
		return errs
	}
	if err := s.needKernel(); err != nil {
		for _, i := range at {
			errs[i] = err
		}
		return errs
	}
	schemas := make([]*event.Schema, len(add))
	ids, refused := s.kern.Add(add, func(i int, sc *event.Schema) {
		schemas[i] = sc
		s.drain.addSchema(s.ksrc, sc, list[at[i]].tp.pass())
	})
	for i, err := range refused {
		x := list[at[i]]
		if err == nil {
			err = s.uprobePlaced(x, ids[i])
		}
		if err != nil {
			errs[at[i]] = err
			if schemas[i] != nil {
				s.drain.dropSchema(s.ksrc, schemas[i].SiteID)
			}
			continue
		}
		x.tactic = "uprobe"
		x.tp.sites++
		if x.numbered { // it was to have a jump, and is no site of the process any more
			s.moved++
			s.drain.dropSchema(s.user, x.id)
		}
		s.uprobes = append(s.uprobes, &uprobe{x: x, id: ids[i], foreign: s.foreign.within(x.addr, x.addr+1)})
		s.logf("%s at %#x in %s: a uprobe of the kernel", x.tp.Place.Text, x.addr, x.where.site.Func)
	}
	return errs
}

// uprobeAt is the uprobe that a site has from before its library was unloaded.
func (s *Session) uprobeAt(x *site) *uprobe {
	for _, u := range s.uprobes {
		if u.absent && u.x.tp == x.tp && u.x.where.mod.path == x.where.mod.path && u.x.where.site.Addr == x.where.site.Addr && s.trapped(x) == nil {
			return u
		}
	}
	return nil
}

// mayUprobe refuses sites where the kernel has no way to put a breakpoint, or would
// put it elsewhere: it takes private mappings of a file that are not writable.
func (s *Session) mayUprobe(x *site) error {
	if x.tp.program != nil {
		return errNoUprobes
	}
	for _, m := range x.where.mod.maps {
		if x.addr < m.Start || x.addr >= m.End {
			continue
		}
		switch {
		case m.Inode == 0:
			return errors.New("its code is not that of a file any more")
		case m.Shared || m.Prot&unix.PROT_WRITE != 0:
			return errors.New("its code is writable, where the kernel puts no breakpoints")
		}
		st, err := os.Stat(x.where.mod.file)
		if err != nil {
			return err
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Ino != m.Inode {
			return fmt.Errorf("%s is not the file that the process has mapped (was it replaced?)", x.where.mod.file)
		}
		return nil
	}
	return fmt.Errorf("no mapping of %s is at %#x", x.where.mod.path, x.addr)
}

// needKernel opens the kernel engine for this process, where the session has no places
// that opened it before.
func (s *Session) needKernel() error {
	if s.kern != nil {
		return nil
	}
	if s.noKernel == nil {
		s.noKernel = s.openKernel()
	}
	return s.noKernel
}

func (s *Session) openKernel() error {
	eng, err := kengine.Open(s.kernelOptions())
	if err != nil {
		return err
	}
	if err := eng.Arm(nil, func() {}); err != nil {
		eng.Close()
		return err
	}
	s.kern = eng
	s.ksrc = s.reading().add(eng.Shared(), true, event.Decoder{})
	return nil
}

// uprobePlaced makes sure that the kernel did put its breakpoint into the process:
// it passes over mappings that it does not take without a word.
func (s *Session) uprobePlaced(x *site, id uint32) error {
	err := s.trapped(x)
	if err != nil {
		err = errors.Join(err, s.kern.Detach([]uint32{id}))
	}
	return err
}

// trapped reports an error unless the byte at a site is a breakpoint's, or that of
// the call that the kernel makes of the breakpoint at a five-byte nop.
func (s *Session) trapped(x *site) error {
	mem, err := openMem(s.p.Pid())
	if err != nil {
		return err
	}
	defer mem.Close()
	var b [1]byte
	if _, err := mem.ReadAt(b[:], int64(x.addr)); err != nil {
		return fmt.Errorf("reading the code at %#x: %w", x.addr, err)
	}
	orig, err := x.where.mod.dw.Text(x.where.site.Addr, 1)
	if err != nil {
		return err
	}
	if b[0] != 0xcc && b[0] == orig[0] {
		return errors.New("the kernel has put no breakpoint into the process's code there")
	}
	return nil
}

// forgetUprobes notes whose libraries are gone.
func (s *Session) forgetUprobes(there map[*module]bool) {
	for _, u := range s.uprobes {
		if !u.absent && !there[u.x.where.mod] {
			u.absent = true
			u.x.tp.sites--
		}
	}
}

// removeUprobes detaches them: the process is another program now.
func (s *Session) removeUprobes() {
	var ids []uint32
	for _, u := range s.uprobes {
		ids = append(ids, u.id)
	}
	s.uprobes = nil
	if len(ids) > 0 {
		s.trouble("removing uprobes", s.kern.Detach(ids))
	}
}

// dropUprobe takes back the one that a site was just given.
func (s *Session) dropUprobe(x *site) {
	i := slices.IndexFunc(s.uprobes, func(u *uprobe) bool { return u.x == x })
	if i < 0 {
		return
	}
	u := s.uprobes[i]
	s.uprobes = slices.Delete(s.uprobes, i, i+1)
	x.tp.sites--
	s.trouble("removing a uprobe", s.kern.Detach([]uint32{u.id}))
}

// hasUprobes reports whether a tracepoint has sites that are uprobes.
func (s *Session) hasUprobes(tp *tracked) bool {
	for _, u := range s.uprobes {
		if u.x.tp == tp && !u.absent {
			return true
		}
	}
	return false
}

// enableUprobes attaches or detaches the uprobes of a tracepoint. Those that the kernel
// does not take any more, in pages that are guarded since, are to become int3s.
func (s *Session) enableUprobes(tp *tracked, on bool) (trapping []*site, err error) {
	if err := s.kern.SetEnabled(tp.Tracepoint, on); err != nil {
		return nil, err
	}
	if !on {
		return nil, nil
	}
	for _, u := range slices.Clone(s.uprobes) {
		if u.x.tp != tp || u.absent {
			continue
		}
		err := s.trapped(u.x)
		switch {
		case err == nil:
		case u.foreign: // another tracer's breakpoint is there, or was
			return nil, errors.Join(probe.Error(tp.Place, err), s.kern.SetEnabled(tp.Tracepoint, false))
		default:
			s.dropUprobe(u.x)
			u.x.noUprobe, u.x.tactic = true, ""
			trapping = append(trapping, u.x)
		}
	}
	return trapping, nil
}
