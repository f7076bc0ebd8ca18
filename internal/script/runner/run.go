// Package runner runs scripts: their probes become tracepoints of a session, whose events the interpreter executes.
//
// Import rule: runner imports session, the packages of scripts, and what their contract has: drain, event, probe,
// process, tracepoint.
package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/session"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Options is what a script runs with.
type Options struct {
	interp.Options
	Argv []string // the program to start; nil: none
	Kill bool     // it ends with the script
	// Uprobes: places in the process become uprobes of the kernel, never code in the process.
	Uprobes bool
	InJalon bool // all maps are in jalon: each hit leaves a record. Tests compare with that
	Pid     int  // only this process; 0: none is named
	IO      session.IO
	USR1    <-chan struct{} // a value for each SIGUSR1
	// Warn receives warnings, Log each step; Ready is called when all probes are attached. Each may be nil.
	Warn, Log func(string)
	// Maps receives where each map is; nil: it is not wanted.
	Maps      func(string)
	Ready     func()
	DebugDirs []string
	// PlaceText: an error of a place shows the place alone and not where it is in the script, for messages in bpftrace's words.
	PlaceText bool
}

// running is a script that runs.
type running struct {
	opt     Options
	program *check.Program
	machine *interp.Machine
	maps    *siteMaps
	planned plan.Options // of the sites
	list    []*plan.Site
	held    *heldBack
	known   bool // whether the probes could be attached is known
	traced  bool // the session ran; it does not if begin probes end the script
	sites   map[*tracepoint.Tracepoint]*plan.Site
	sess    *session.Session
	ctx     context.Context // of what the probes do
	err     error           // of a probe at a site
	result  *session.Result // nil before the end of the session
	over    chan struct{}   // is closed at that end
	ready   chan struct{}   // is closed when the probes are attached, or could not be
	cancel  context.CancelFunc
	// lostBefore is how many events were reported as lost.
	lostBefore uint64
}

// errEarly: a signal came before anything was attached.
var errEarly = errors.New("ended before the probes were attached")

// sitesOf plans the sites of a script. That takes long for long scripts, and goes on by itself where ctx ends meanwhile.
func sitesOf(ctx context.Context, p *check.Program, opt plan.Options, kernel bool) ([]*plan.Site, []*plan.SiteMap, error) {
	type planned struct {
		sites []*plan.Site
		maps  []*plan.SiteMap
		err   error
		bug   any
	}
	done := make(chan *planned, 1)
	go func() {
		r := &planned{}
		defer func() {
			r.bug = recover()
			done <- r
		}()
		if r.sites, r.maps, r.err = plan.Sites(p, opt); r.err == nil {
			r.err = interp.Refuse(p, r.sites, kernel)
		}
	}()
	select {
	case r := <-done:
		if r.bug != nil {
			panic(r.bug)
		}
		return r.sites, r.maps, r.err
	case <-ctx.Done():
		return nil, nil, errEarly
	}
}

// Run runs a script to its end: exit(), the end of ctx, the end of the program or process. The machine has its maps.
func Run(ctx context.Context, p *check.Program, opt Options) (*interp.Machine, error) {
	opt.Uprobes = opt.Uprobes || !host.Processor.CanDecode
	planned := plan.Options{Process: !opt.Uprobes && (opt.Pid != 0 || opt.Argv != nil), Program: programOf(opt), Files: matching, InJalon: opt.InJalon, Keeps: !session.GivesBack()}
	planned.Foreign = foreign(planned.Program)
	if opt.Boot != nil && opt.Mono != nil {
		planned.Slept = interp.Slept(opt.Boot, opt.Mono)
	}
	sites, siteMaps, err := sitesOf(ctx, p, planned, opt.Kernel != nil)
	if err != nil {
		return nil, err
	}
	s := &running{opt: opt, over: make(chan struct{}), ready: make(chan struct{}), program: p, maps: newSiteMaps(siteMaps, p.Config.Int("max_map_keys")), sites: map[*tracepoint.Tracepoint]*plan.Site{}}
	s.opt.Warn = warningsOf(p, opt.Warn)
	s.planned, s.list = planned, sites
	s.whereMaps(sites, siteMaps, planned.Process)
	tps, err := s.tracepoints(sites)
	if err != nil {
		return nil, err
	}
	s.held = &heldBack{to: opt.Out}
	s.opt.Out, s.opt.Names, s.opt.Cgroup, s.opt.Load, s.opt.Stack, s.opt.ClearSites = s.held, names{s}, CgroupPath, s.load, s.maps.stack, s.clear
	s.opt.SiteName, s.opt.Process = s.maps.name, s.maps.process
	if len(tps) > 0 || opt.Pid != 0 || opt.Argv != nil {
		if err := s.open(tps); err != nil {
			return nil, err
		}
		defer s.close()
		if opt.Argv != nil {
			s.opt.Child, s.planned.Child = s.sess.Pid(), s.sess.Pid()
			if err := s.started(); err != nil {
				return nil, err
			}
		}
	}
	s.machine = interp.New(p, s.opt.Options)
	return s.machine, s.asWritten(s.run(ctx))
}

// programOf is the file of the process.
func programOf(opt Options) string {
	if opt.Argv != nil {
		path, err := exec.LookPath(opt.Argv[0])
		if err != nil {
			return ""
		}
		return path
	}
	if opt.Pid == 0 {
		return ""
	}
	link := fmt.Sprintf("/proc/%d/exe", opt.Pid)
	path, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	if !openfile.Same(path, link) {
		return link // the file was replaced or removed
	}
	return path
}

// matching are the files that a pattern means.
func matching(pattern string) []string {
	list, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(name string) bool { return !isProgram(name) })
}

// isProgram reports whether a file is a program or library.
func isProgram(name string) bool {
	f, err := openfile.Regular(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// HasSites reports whether a script has probes at places of programs or of the kernel.
func HasSites(p *check.Program) bool {
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if !plan.RunsInJalon(p, pr, pl) {
				return true
			}
		}
	}
	return false
}

// tracepoints makes the tracepoints of the sites.
func (s *running) tracepoints(sites []*plan.Site) ([]*tracepoint.Tracepoint, error) {
	var tps, user []*tracepoint.Tracepoint
	var bad lang.Diagnostics
	for i, site := range sites {
		tp, err := tracepoint.New(site.Place, site.Cond, site.Collect)
		if err != nil {
			at := site.Point.Point
			d := at.File().At(at.Span(), err.Error(), "")
			var inner *lang.Diagnostic
			if errors.As(err, &inner) {
				d.Msg, d.Hint = inner.Msg, inner.Hint
			}
			bad = bad.Add(d)
			continue
		}
		tp.Kernel = site.Kernel
		tp.Number, tp.Optional = i+1, s.program.Config.Word("missing_probes") != "error" || spare(site)
		s.maps.actions(tp, site)
		s.sites[tp] = site
		if site.Point.Provider.User {
			user = append(user, tp)
		} else {
			tps = append(tps, tp)
		}
	}
	slices.Reverse(user) // the kernel runs the uprobe of an address first that was attached last
	return append(tps, user...), bad.Err()
}

// spare reports whether a place is a pattern that may match nothing: one of a probe that also has a place without pattern.
func spare(site *plan.Site) bool {
	pattern := func(pl *script.Place) bool { return strings.Contains(pl.Point.Text, "*") }
	return pattern(site.Point) && slices.ContainsFunc(site.Probe.Places, func(pl *script.Place) bool { return !pattern(pl) })
}

// run executes the script's probes in their order:
//
//  1. begin probes, whose output waits until it is known that the others can be attached,
//  2. the sites are armed; the program that is started runs only then,
//  3. hits, timers and signals until the script ends,
//  4. the sites are removed, and what was recorded before the end is executed,
//  5. end probes.
func (s *running) run(signalled context.Context) error {
	ctx, cancel := context.WithCancel(signalled)
	defer cancel()
	s.ctx, s.cancel = context.WithoutCancel(ctx), cancel
	m := s.machine
	err := m.Begin(ctx)
	tracing := make(chan error, 1)
	ended, _ := m.Ended()
	switch {
	case err != nil || ended || s.sess == nil:
		tracing <- nil
		s.armed(nil)
	default:
		s.traced = true
		go func() {
			res, err := s.sess.Run(ctx)
			s.result = res
			close(s.over)
			cancel()
			tracing <- err
		}()
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if s.sess != nil {
			s.watchLost(ctx)
		}
	}()
	select { // timers begin when all probes are attached
	case <-s.ready:
	case <-ctx.Done():
	}
	if err == nil && !ended {
		err = m.Wait(ctx, s.opt.USR1, s.sess != nil)
	}
	cancel()
	<-watched
	err = errors.Join(err, <-tracing, s.err)
	s.held.release(func() {})
	if err != nil && !errors.Is(err, unix.EPIPE) {
		return err
	}
	if s.result != nil {
		s.lost(&s.result.Summary)
	}
	err = m.Finish(signalled)
	s.load()
	s.machine.Exclusive(func() { s.reportFull(s.maps.full) })
	for _, k := range s.maps.list {
		if s.maps.noStack[k.Name] {
			s.warn(fmt.Sprintf("the map %s: some stacks found no place in the tables of stacks; what was counted for them has an empty stack", k.Name))
		}
		if f := s.maps.full[k.Name]; f.updates > 0 {
			s.warn(s.maps.lostUpdates(k, f))
		}
	}
	return err
}

// armed is called when all probes are attached, or could not be.
func (s *running) armed(err error) {
	first := !s.known
	if s.known = true; first {
		defer close(s.ready)
	}
	if err == nil && s.sess != nil && len(s.maps.list) > 0 {
		s.smallMaps()
	}
	if err != nil || !first {
		return
	}
	s.withoutPlaces()
	if s.sess != nil && len(s.sites) > 0 && s.attached() == 0 {
		s.err = errors.New("no probes to attach: none of the script's probes was found")
		s.cancel()
		return
	}
	some, _ := s.iterators()
	interp.Iterating(s.machine, some)
	s.machine.Exclusive(func() {
		s.held.release(func() {
			if !s.opt.Quiet {
				s.machine.Attached(s.attached())
			}
			if s.opt.Ready != nil {
				s.opt.Ready()
			}
		})
	})
}

// heldBack is an output that begins only after what precedes it.
type heldBack struct {
	to   io.Writer
	buf  bytes.Buffer
	open bool
}

func (h *heldBack) Write(b []byte) (int, error) {
	if h.open {
		return h.to.Write(b)
	}
	return h.buf.Write(b)
}

// release writes what was held back, behind what first writes. Later calls do nothing.
func (h *heldBack) release(first func()) {
	if h.open {
		return
	}
	h.open = true
	first()
	_, _ = h.to.Write(h.buf.Bytes())
	h.buf.Reset()
}

var _ drain.Sink = (*sink)(nil)
