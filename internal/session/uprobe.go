package session

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/probe"
)

// A site that the in-process engine cannot reach (another tracer's breakpoint is there),
// or only slowly, becomes a uprobe of the kernel engine, for this process only. Its
// records are merged with those of the other sites.

// uprobe is such a site.
type uprobe struct {
	x *engine.Program
	k *engine.Program // of the kernel engine
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
	var add []*engine.Program
	var at []int
	for i, x := range list {
		if u := s.uprobeAt(x.Program); u != nil { // its library was loaded anew
			u.absent, u.x = false, x.Program
			continue
		}
		var k *engine.Program
		if k, errs[i] = s.inKernel(x.Program); errs[i] == nil {
			add, at = append(add, k), append(at, i)
		}
	}
	for i, err := range s.addUprobes(add) {
		x := list[at[i]]
		if err == nil {
			if err = x.Site.(*inproc.Site).Trapped(); err != nil {
				err = errors.Join(err, s.kern.Remove(add[i:i+1]))
			}
		}
		if err != nil {
			errs[at[i]] = err
			continue
		}
		s.know(s.ksrc, add[i])
		s.uprobes = append(s.uprobes, &uprobe{x: x.Program, k: add[i], foreign: x.Shared})
		s.logf("%s at %#x in %s: a uprobe of the kernel", x.Label, x.Site.Addr(), x.Site.(*inproc.Site).Function())
	}
	return errs
}

// inKernel makes the program for the kernel engine of one of the process.
func (s *Session) inKernel(x *engine.Program) (*engine.Program, error) {
	if s.opt.NoUprobes {
		return nil, errNoUprobes
	}
	site := x.Site.(*inproc.Site)
	if err := site.MayUprobe(); err != nil {
		return nil, err
	}
	if err := s.needKernel(); err != nil {
		return nil, err
	}
	tp := trackedOf(x)
	dw, path, at := site.File()
	k, err := s.host.UserSite(tp.Place, dw, path, at, s.p.Pid())
	if err != nil {
		return nil, err
	}
	progs, err := s.compiling().Compile(tp, tp.Tracepoint, k)
	if err != nil {
		return nil, err
	}
	return progs[0], nil
}

// addUprobes loads and attaches programs.
func (s *Session) addUprobes(list []*engine.Program) []error {
	if len(list) == 0 {
		return nil
	}
	errs, err := s.kern.Load(list)
	if err == nil {
		s.readKernel()
		var good []*engine.Program
		for i, x := range list {
			if errs[i] == nil {
				good = append(good, x)
			}
		}
		var refused []error
		refused, err = s.kern.Arm(good)
		for i := range list {
			if errs[i] == nil {
				errs[i], refused = refused[0], refused[1:]
			}
		}
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// errNoUprobes: the user wants none.
var errNoUprobes = errors.New("only code in the process is wanted (--engine process)")

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
	if s.noKernel != nil {
		return s.noKernel
	}
	err := s.openKernel()
	if err == nil {
		if err = s.kern.Reserve(); err != nil {
			_ = s.kern.Close()
			s.host.Close()
			s.host, s.kern = nil, nil
		}
	}
	s.noKernel = err
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
	var list []*engine.Program
	for _, u := range s.uprobes {
		list = append(list, u.k)
		delete(s.of, u.k.Schema)
	}
	s.uprobes = nil
	if len(list) > 0 {
		s.trouble("removing uprobes", s.kern.Remove(list))
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
	delete(s.of, u.k.Schema)
	s.trouble("removing a uprobe", s.kern.Remove([]*engine.Program{u.k}))
}

// enableUprobes attaches or detaches the uprobes of a tracepoint that has some. Those that the kernel
// does not take any more, in pages that are guarded since, are to become int3s.
func (s *Session) enableUprobes(tp *tracked, on bool) (trapping []*engine.Program, err error) {
	var mine []*engine.Program
	for _, u := range s.uprobes {
		if u.x.Key == tp {
			mine = append(mine, u.k)
		}
	}
	if err := s.kern.Enable(mine, on); err != nil {
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
			return nil, errors.Join(probe.Error(tp.Place, err), s.kern.Enable(mine, false))
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
