package session

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/probe"
)

// A site that the in-process engine cannot reach (another tracer's breakpoint is there),
// or only slowly, becomes a uprobe of the kernel engine, for this process only. Its
// records are merged with those of the other sites.

// uprobe is such a site.
type uprobe struct {
	x  *engine.Program
	id uint32 // in the kernel engine
	// absent: its library is unloaded. The kernel puts the breakpoint there again when
	// the file is mapped again.
	absent bool
	// foreign: another tracer's breakpoint is at its address.
	foreign bool
}

func (u *uprobe) site() *inproc.Site { return u.x.Site.(*inproc.Site) }

// spareUprobes is how many sites of a session can become uprobes.
const spareUprobes = 4096

// uprobes are the session's, as the in-process engine wants them.
type uprobes struct{ s *Session }

// Add implements inproc.Uprobes: it makes uprobes, in this process only. The process
// may run or be stopped.
func (us uprobes) Add(list []inproc.Wanted) []error {
	s := us.s
	errs := make([]error, len(list))
	var add []kernel.UserSite
	var at []int
	for i, x := range list {
		if u := s.uprobeAt(x.Program); u != nil { // its library was loaded anew
			u.absent, u.x = false, x.Program
			continue
		}
		site := x.Site.(*inproc.Site)
		if errs[i] = site.MayUprobe(); errs[i] == nil {
			dw, path, where := site.File()
			add = append(add, kernel.UserSite{Tracepoint: trackedOf(x.Program).Tracepoint, Module: dw, Path: path, Site: where, Pid: s.p.Pid()})
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
		s.drain.AddSchema(s.ksrc, sc, trackedOf(list[at[i]].Program).pass())
	})
	for i, err := range refused {
		x := list[at[i]]
		if err == nil {
			err = s.uprobePlaced(x.Program, ids[i])
		}
		if err != nil {
			errs[at[i]] = err
			if schemas[i] != nil {
				s.drain.DropSchema(s.ksrc, schemas[i].SiteID)
			}
			continue
		}
		s.uprobes = append(s.uprobes, &uprobe{x: x.Program, id: ids[i], foreign: x.Shared})
		s.logf("%s at %#x in %s: a uprobe of the kernel", x.Label, x.Site.Addr(), x.Site.(*inproc.Site).Function())
	}
	return errs
}

// Drop implements inproc.Uprobes.
func (us uprobes) Drop(x *engine.Program) { us.s.dropUprobe(x) }

// uprobeAt is the uprobe that a site has from before its library was unloaded.
func (s *Session) uprobeAt(x *engine.Program) *uprobe {
	site := x.Site.(*inproc.Site)
	for _, u := range s.uprobes {
		if u.absent && u.x.Key == x.Key && u.site().Same(site) && site.Trapped() == nil {
			return u
		}
	}
	return nil
}

// uprobed are the programs that run in the kernel.
func (s *Session) uprobed() map[*engine.Program]bool {
	set := map[*engine.Program]bool{}
	for _, u := range s.uprobes {
		if !u.absent {
			set[u.x] = true
		}
	}
	return set
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
	eng, err := kernel.Open(s.kernelOptions())
	if err != nil {
		return err
	}
	if err := eng.Arm(nil, func() {}); err != nil {
		eng.Close()
		return err
	}
	s.kern = eng
	s.ksrc = s.reading().Add(eng.Shared(), true, event.Decoder{})
	return nil
}

// uprobePlaced makes sure that the kernel did put its breakpoint into the process.
func (s *Session) uprobePlaced(x *engine.Program, id uint32) error {
	err := x.Site.(*inproc.Site).Trapped()
	if err != nil {
		err = errors.Join(err, s.kern.Detach([]uint32{id}))
	}
	return err
}

// forgetUprobes notes whose libraries are gone.
func (s *Session) forgetUprobes() {
	for _, u := range s.uprobes {
		if !u.absent && !u.site().Loaded() {
			u.absent = true
			u.forget()
		}
	}
}

// forget takes the program from its tracepoint's list.
func (u *uprobe) forget() {
	tp := trackedOf(u.x)
	tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == u.x })
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
func (s *Session) dropUprobe(x *engine.Program) {
	i := slices.IndexFunc(s.uprobes, func(u *uprobe) bool { return u.x == x })
	if i < 0 {
		return
	}
	u := s.uprobes[i]
	s.uprobes = slices.Delete(s.uprobes, i, i+1)
	u.forget()
	s.trouble("removing a uprobe", s.kern.Detach([]uint32{u.id}))
}

// enableUprobes attaches or detaches the uprobes of a tracepoint that has some. Those that the kernel
// does not take any more, in pages that are guarded since, are to become int3s.
func (s *Session) enableUprobes(tp *tracked, on bool) (trapping []*engine.Program, err error) {
	if err := s.kern.SetEnabled(tp.Tracepoint, on); err != nil {
		return nil, err
	}
	if !on {
		return nil, nil
	}
	for _, u := range slices.Clone(s.uprobes) {
		if u.x.Key != tp || u.absent {
			continue
		}
		err := u.site().Trapped()
		switch {
		case err == nil:
		case u.foreign: // another tracer's breakpoint is there, or was
			return nil, errors.Join(probe.Error(tp.Place, err), s.kern.SetEnabled(tp.Tracepoint, false))
		default:
			s.dropUprobe(u.x)
			s.mine.NoUprobe(u.x)
			trapping = append(trapping, u.x)
		}
	}
	return trapping, nil
}

// SlowTactic is how a site that no jump reaches is reached: by a uprobe where this user
// may have them and the kernel engine can do what is asked there.
func SlowTactic() string {
	if kernel.MayUprobe() == nil {
		return "uprobe, or int3 where the kernel engine cannot do what is asked"
	}
	return "int3 (uprobes are not permitted)"
}
