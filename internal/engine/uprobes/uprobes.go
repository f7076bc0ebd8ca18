// Package uprobes attaches uprobes at sites of a traced process that the in-process engine cannot patch
// (another tracer's breakpoint is there), or only with an int3. Each uprobe is for this process only. The
// kernel engine serves it, and its records are read with that engine's.
//
// Import rule: uprobes imports both engines; neither imports uprobes.
package uprobes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Spare is how many sites of a process can become uprobes.
const Spare = 4096

// Config connects a set of uprobes with its engines and its caller.
type Config struct {
	// Kernel returns the kernel engine; the first call opens it.
	Kernel func() (*kernel.Host, *kernel.Engine, error)
	// None returns why uprobes are not allowed, or nil.
	None error
	// Pid returns the number of the process.
	Pid func() int
	// Tracepoint returns the tracepoint of a program of the process.
	Tracepoint func(*engine.Program) *tracepoint.Tracepoint
	Compiling  func() *engine.Compiling
	// Slow returns the engine of the sites.
	Slow func() *inproc.Engine
	// Loaded is called when the kernel engine has rings, before the first hit.
	Loaded func()
	// Added is called when a program runs in the kernel instead of x, and Removed when it no longer does.
	Added   func(k *engine.Program)
	Removed func(x, k *engine.Program)
	// Gone is called when x no longer has code in the process.
	Gone func(x *engine.Program)
	Logf func(format string, args ...any)
	// Trouble receives errors of removing uprobes.
	Trouble func(what string, err error)
}

// Set has the uprobes of a process. It implements inproc.Uprobes.
type Set struct {
	Config
	host *kernel.Host
	kern *kernel.Engine
	list []*uprobe
}

// uprobe is one uprobe.
type uprobe struct {
	x *engine.Program
	k *engine.Program // of the kernel engine
	// absent: its library is unloaded. The kernel inserts the breakpoint again when the file is mapped
	// again.
	absent bool
	// foreign: another tracer's breakpoint is at the address.
	foreign bool
}

func (u *uprobe) site() *inproc.Site { return u.x.Site.(*inproc.Site) }

// New returns an empty set.
func New(c Config) *Set { return &Set{Config: c} }

// Add implements inproc.Uprobes: it attaches uprobes, in this process only. The process may run or be
// stopped.
func (s *Set) Add(list []inproc.Wanted) []error {
	errs := make([]error, len(list))
	var add []*engine.Program
	var at, both []int
	for i, x := range list {
		if u := s.before(x.Program); u != nil { // its library was loaded again
			u.absent, u.x = false, x.Program
			continue
		}
		if s.served(x.Program, list, at) {
			both = append(both, i)
			continue
		}
		var k *engine.Program
		if k, errs[i] = s.inKernel(x.Program); errs[i] == nil {
			add, at = append(add, k), append(at, i)
		} else if x.Shared {
			errs[i] = s.becauseOfOther(errs[i])
		}
	}
	for i, err := range s.attach(add) {
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
		s.Added(add[i])
		s.list = append(s.list, &uprobe{x: x.Program, k: add[i], foreign: x.Shared})
		s.Logf("%s at %#x in %s: a uprobe of the kernel", x.Label, x.Site.Addr(), x.Site.(*inproc.Site).Function())
	}
	for _, i := range both {
		errs[i] = list[i].Site.(*inproc.Site).Trapped()
	}
	return errs
}

// becauseOfOther gives the errors of a program the hint that another tracer's breakpoint makes its site one of the kernel
// engine.
func (s *Set) becauseOfOther(err error) error {
	var list lang.Diagnostics
	if !errors.As(err, &list) {
		return err
	}
	out := slices.Clone(list)
	for i, d := range out {
		copied := *d
		copied.Hint = fmt.Sprintf("another tracer has a uprobe there, beside which only the kernel engine can be, which lacks this: end that tracer first (jalon check -p %d names the place)", s.Pid())
		out[i] = &copied
	}
	return out
}

// inKernel makes the program for the kernel engine from one of the process.
func (s *Set) inKernel(x *engine.Program) (*engine.Program, error) {
	if s.None != nil {
		return nil, s.None
	}
	site := x.Site.(*inproc.Site)
	if err := site.MayUprobe(); err != nil {
		return nil, err
	}
	if s.kern == nil {
		host, kern, err := s.Kernel()
		if err != nil {
			return nil, err
		}
		s.host, s.kern = host, kern
	}
	tp := s.Tracepoint(x)
	dw, path, at := site.File()
	if tp.UsesVariables {
		return nil, errVariables
	}
	k, err := s.host.UserSite(tp.Place, dw, path, at, site.Exit(), s.Pid())
	if err != nil {
		return nil, err
	}
	k.FollowBy(s.Slow().StackArea)
	k.LookIn(site.Other)
	c := s.Compiling()
	c.Lenient = len(x.Absent) > 0
	progs, err := c.Compile(x.Key, tp, k)
	if err != nil {
		return nil, err
	}
	if why := lost(x.Schema, progs[0].Schema); why != "" {
		return nil, errors.New(why)
	}
	return progs[0], nil
}

// errVariables: the variables of the process's programs are in the process.
var errVariables = errors.New("it uses trace state variables, which the other places have in the process")

// lost is why a value that the process's program has is not available in the kernel, if it is the place's own and no error.
func lost(x, k *event.Schema) string {
	for i := range x.Fields {
		if f := &x.Fields[i]; f.Static == event.OK && i < len(k.Fields) && k.Fields[i].Static != event.OK {
			return f.Name + " has no value: " + k.Fields[i].Reason
		}
	}
	return ""
}

// attach loads and attaches programs.
func (s *Set) attach(list []*engine.Program) []error {
	if len(list) == 0 {
		return nil
	}
	errs, err := s.kern.Load(list)
	if err == nil {
		s.Loaded()
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

// before returns the uprobe that a site had before its library was unloaded.
func (s *Set) before(x *engine.Program) *uprobe {
	site := x.Site.(*inproc.Site)
	for _, u := range s.list {
		if u.absent && u.x.Key == x.Key && u.site().Same(site) && site.Trapped() == nil {
			return u
		}
	}
	return nil
}

// served reports whether another load of the site's file (dlmopen) has the uprobe already, or is among list[at[0]],
// list[at[1]] ... that get it now: the kernel inserts it into all.
func (s *Set) served(x *engine.Program, list []inproc.Wanted, at []int) bool {
	site := x.Site.(*inproc.Site)
	is := func(y *engine.Program) bool {
		other := y.Site.(*inproc.Site)
		return y != x && y.Key == x.Key && other.Same(site) && other.Addr() != site.Addr()
	}
	return slices.ContainsFunc(s.list, func(u *uprobe) bool { return !u.absent && is(u.x) }) ||
		slices.ContainsFunc(at, func(i int) bool { return is(list[i].Program) })
}

// Serving returns the programs of the process that run in the kernel.
func (s *Set) Serving() map[*engine.Program]bool {
	set := map[*engine.Program]bool{}
	for _, u := range s.list {
		if !u.absent {
			set[u.x] = true
		}
	}
	return set
}

// Refresh records which libraries are no longer mapped.
func (s *Set) Refresh() {
	for _, u := range s.list {
		if !u.absent && !u.site().Loaded() {
			u.absent = true
			s.Gone(u.x)
		}
	}
}

// Remove detaches all uprobes after exec.
func (s *Set) Remove() {
	var list []*engine.Program
	for _, u := range s.list {
		list = append(list, u.k)
		s.Removed(u.x, u.k)
	}
	s.list = nil
	if len(list) > 0 {
		s.Trouble("removing uprobes", s.kern.Remove(list))
	}
}

// Drop implements inproc.Uprobes: it removes the uprobe that a site has just been given.
func (s *Set) Drop(x *engine.Program) {
	i := slices.IndexFunc(s.list, func(u *uprobe) bool { return u.x == x })
	if i < 0 {
		return
	}
	u := s.list[i]
	s.list = slices.Delete(s.list, i, i+1)
	s.Gone(u.x)
	s.Removed(u.x, u.k)
	s.Trouble("removing a uprobe", s.kern.Remove([]*engine.Program{u.k}))
}

// Enable attaches or detaches the uprobes of a tracepoint, by the key of its programs. trapping are
// programs that must get an int3, because the kernel no longer accepts a uprobe in their page, which has
// been guarded since.
func (s *Set) Enable(key any, on bool) (trapping []*engine.Program, err error) {
	var mine []*engine.Program
	for _, u := range s.list {
		if u.x.Key == key {
			mine = append(mine, u.k)
		}
	}
	if len(mine) == 0 {
		return nil, nil
	}
	if err := s.kern.Enable(mine, on); err != nil {
		return nil, err
	}
	if !on {
		return nil, nil
	}
	for _, u := range slices.Clone(s.list) {
		if u.x.Key != key || u.absent {
			continue
		}
		err := u.site().Trapped()
		switch {
		case err == nil:
		case u.foreign: // another tracer's breakpoint is or was at the address
			return nil, errors.Join(probe.Error(s.Tracepoint(u.x).Place, err), s.kern.Enable(mine, false))
		default:
			s.Drop(u.x)
			s.Slow().NoUprobe(u.x)
			trapping = append(trapping, u.x)
		}
	}
	return trapping, nil
}

// Tactic returns the tactic of a site where no jump fits: a uprobe, if this user may attach uprobes and the
// kernel engine supports the request.
func Tactic() string {
	if kernel.MayUprobe() == nil {
		return "uprobe, or int3 if the kernel engine does not support the request"
	}
	return "int3 (uprobes are not permitted)"
}
