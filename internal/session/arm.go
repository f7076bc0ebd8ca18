package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// arm resolves what has no site yet and installs it. It returns how many
// tracepoints still have no site, and the diagnostics: those of places that are
// not there (unless they may come later), and of expressions.
func (s *Session) arm() (pending int, err error) {
	pending, err = s.armAll()
	if err != nil && s.p.Ended() {
		err = process.ErrGone // whatever could not be read of it
	}
	return pending, err
}

func (s *Session) armAll() (pending int, err error) {
	select {
	case <-s.p.Done():
		return 0, nil
	default:
	}
	first := s.state.phase == starting
	if err := s.mine.Refresh(); err != nil {
		return 0, err
	}
	s.forgetGone()
	var fresh []*engine.Program
	var bad lang.Diagnostics
	for _, tp := range s.tps {
		if len(tp.programs) > 0 || tp.Disabled || tp.refused {
			continue
		}
		list, found, perr := s.programsOf(s.mine, tp)
		if err := s.interrupted(); err != nil {
			return pending, err
		}
		if tp.pending = nil; !found {
			tp.pending = perr
			pending++
			if first && !s.opt.Pending {
				bad = tracepoint.Append(bad, tp.pending)
			}
			continue
		}
		if perr != nil {
			tp.refused = true
			bad = tracepoint.Append(bad, perr)
			continue
		}
		fresh = append(fresh, list...)
	}
	if len(bad) > 0 && first {
		return pending, bad.Err()
	}
	if err := s.install(fresh); isEnd(err) {
		return pending, err
	} else if err != nil {
		bad = tracepoint.Append(bad, err)
	}
	return pending, bad.Err()
}

// programsOf resolves and compiles one tracepoint. found is false for a place that is
// not found, and why. When a place has several addresses, those where the expressions
// mean nothing are left out with a warning; the error is that none is left.
func (s *Session) programsOf(e engine.Engine, tp *tracked) (list []*engine.Program, found bool, err error) {
	at, err := e.Resolve(tp.Place)
	if err != nil {
		return nil, false, err
	}
	for _, w := range at {
		if text := w.Warning(); text != "" {
			s.warn(tp.Place.Text + ": " + text)
		}
	}
	how := s.compiling()
	var left tracepoint.LeftOut
	for i, w := range at {
		if err := s.step("compiling", i, len(at)); err != nil {
			return nil, true, err
		}
		progs, err := how.Compile(tp, tp.Tracepoint, w)
		if err != nil {
			left.Add(err)
			s.logf("%s at %s: left out: %v", tp.Place.Text, w, err)
			continue
		}
		list = append(list, progs...)
	}
	if len(list) == 0 {
		return nil, true, left.First
	}
	if left.N > 0 {
		s.warn(tp.Place.Text + ": " + left.Text(len(at)))
	}
	return list, true, nil
}

// compiling is how tracepoints are compiled.
func (s *Session) compiling() *engine.Compiling {
	return &engine.Compiling{
		StringLimit: s.opt.StringLimit, RepeatLimit: s.opt.RepeatLimit, StackLimit: s.opt.StackLimit,
		NoOptimise: s.opt.NoOptimise, Warn: s.warn,
	}
}

// know has the records of a program decoded.
func (s *Session) know(src *drain.Source, x *engine.Program) {
	tp := trackedOf(x)
	s.of[x.Schema] = tp.Tracepoint
	s.drain.AddSchema(src, x.Schema, tp.pass())
}

// install puts programs into the process. One bad address does not end a session: what
// cannot be traced is left out. It is an error when a tracepoint has no address left,
// and a warning otherwise.
func (s *Session) install(fresh []*engine.Program) error {
	defer s.warnSlow()
	if len(fresh) == 0 {
		return nil
	}
	left := map[*tracked]*tracepoint.LeftOut{}
	errs, err := s.mine.Load(fresh)
	good := s.sortOut(fresh, errs, left)
	if err != nil {
		return err
	}
	if err := s.unresolvable(good, left); err != nil {
		return err
	}
	inKernel := s.uprobed()
	errs, err = s.mine.Arm(good)
	maps.Copy(inKernel, s.uprobed()) // a jump that could not be written may have become one
	for i, x := range good {
		// Also where Arm ended early: the hits that came are to be read.
		if errs[i] == nil && !inKernel[x] && s.user != nil {
			s.know(s.user, x)
		}
	}
	if err != nil {
		return err
	}
	for _, x := range s.sortOut(good, errs, left) {
		tp := trackedOf(x)
		tp.programs = append(tp.programs, x)
	}
	return s.reportLeftOut(left)
}

// sortOut notes what cannot be traced and returns the other programs.
func (s *Session) sortOut(list []*engine.Program, errs []error, left map[*tracked]*tracepoint.LeftOut) (good []*engine.Program) {
	for i, x := range list {
		if errs[i] == nil {
			good = append(good, x)
			continue
		}
		tp := trackedOf(x)
		if left[tp] == nil {
			left[tp] = &tracepoint.LeftOut{}
		}
		left[tp].Add(probe.Error(tp.Place, errs[i]))
	}
	return good
}

// unresolvable gives the error of a first arming before anything is done to the
// program: tracepoints of which no address can be traced.
func (s *Session) unresolvable(good []*engine.Program, left map[*tracked]*tracepoint.LeftOut) error {
	if s.state.phase != starting {
		return nil
	}
	has := map[*tracked]bool{}
	for _, x := range good {
		has[trackedOf(x)] = true
	}
	var bad lang.Diagnostics
	for _, tp := range s.tps {
		if l := left[tp]; l != nil && len(tp.programs) == 0 && !has[tp] {
			bad = tracepoint.Append(bad, l.First)
		}
	}
	return bad.Err()
}

// reportLeftOut reports what was left out of an installation.
func (s *Session) reportLeftOut(left map[*tracked]*tracepoint.LeftOut) error {
	var bad lang.Diagnostics
	for _, tp := range s.tps {
		switch l := left[tp]; {
		case l == nil:
		case len(tp.programs) == 0:
			tp.refused = true
			bad = tracepoint.Append(bad, l.First)
		default:
			s.warn(tp.Place.Text + ": " + l.Text(l.N+len(tp.programs)))
		}
	}
	return bad.Err()
}

// stopCost is what is said of a hit at an int3: measured on metal, and where traps are
// dear (virtual machines).
const stopCost = "5 to 80 microseconds"

// warnSlow reports the sites that are reached by int3 since it was last called.
func (s *Session) warnSlow() {
	var l tracepoint.LeftOut
	for _, why := range s.mine.Slow() {
		l.AddText(why)
	}
	if l.N == 0 {
		return
	}
	all := 0
	for _, tp := range s.tps {
		all += len(tp.programs)
	}
	s.warn(fmt.Sprintf("%d of %d addresses are reached by an int3, which stops the thread for %s at each hit; the kernel's uprobes are faster, but %s", l.N, all, stopCost, l.Reasons()))
}

// forgetGone drops the programs in libraries that the process has unloaded. Their
// tracepoints look for places again.
func (s *Session) forgetGone() {
	s.forgetUprobes()
	gone := map[*engine.Program]bool{}
	for _, x := range s.mine.Gone() {
		gone[x] = true
	}
	if len(gone) > 0 {
		for _, tp := range s.tps {
			tp.programs = slices.DeleteFunc(tp.programs, func(x *engine.Program) bool { return gone[x] })
		}
		s.poll() // what is in the rings belongs to the sites as they were
	}
}

// enableInProcess enables or disables a tracepoint in a running process. One that was
// never armed is armed now.
func (s *Session) enableInProcess(tp *tracked, on bool) error {
	if tp.Disabled == !on {
		return nil
	}
	if s.p == nil || s.state.replaced {
		return fmt.Errorf("tracepoint %d: the program that it was in is gone", tp.Number)
	}
	if len(tp.programs) == 0 && on {
		tp.Disabled, tp.refused = false, false
		_, err := s.arm()
		if err == nil && tp.pending != nil {
			err = tp.pending
		}
		if err != nil {
			tp.Disabled = true
		}
		return err
	}
	inKernel := s.uprobed()
	patched := slices.DeleteFunc(slices.Clone(tp.programs), func(x *engine.Program) bool { return inKernel[x] })
	if err := s.mine.Enable(patched, on); err != nil {
		return err
	}
	var trapping []*engine.Program // whose uprobe cannot be had again
	var err error
	if len(patched) < len(tp.programs) {
		if trapping, err = s.enableUprobes(tp, on); err != nil {
			return errors.Join(err, s.mine.Enable(patched, !on))
		}
	}
	tp.Disabled = !on
	if len(trapping) > 0 {
		err = s.install(trapping)
	}
	return err
}

// Arming a glob of a large program can take seconds. Its long loops ask now and then
// whether the user has ended the session, and give errInterrupted up to begin.

// errInterrupted: the user ends the session while it is being armed.
var errInterrupted = errors.New("interrupted")

// interrupted is errInterrupted when the user has ended the session.
func (s *Session) interrupted() error {
	if s.ctx == nil || s.ctx.Err() == nil {
		return nil
	}
	return errInterrupted
}

// step is interrupted for item i of n of a long loop, and shows how far it is.
func (s *Session) step(what string, i, n int) error {
	if s.opt.Progress != nil && what != "" && i%64 == 0 {
		s.opt.Progress(what, i, n)
	}
	return s.interrupted()
}

// endedEarly ends a session that the user has ended before it was armed. held waits.
func (s *Session) endedEarly(held int) bool {
	if s.interrupted() == nil {
		return false
	}
	s.warn("ended before the tracepoints were in place")
	s.dispatch(ev{kind: evStop}, held)
	return true
}
