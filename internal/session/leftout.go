package session

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// One bad address does not end a session. What cannot be traced is left out; it
// is an error when a tracepoint has no address left, and a warning else.

// leaveOut notes why a site is not installed.
func (s *Session) leaveOut(x *site, err error) {
	l := s.left[x.tp]
	if l == nil {
		l = &tracepoint.LeftOut{}
		s.left[x.tp] = l
	}
	l.Add(probe.Error(x.tp.Place, err))
	s.logf("%s at %#x: left out: %v", x.tp.Place.Text, x.addr, err)
	if x.code != nil && s.user != nil { // it has a number
		s.drain.dropSchema(s.user, x.id)
	}
}

func (s *Session) leaveOutAll(p *placed, err error) {
	for _, x := range p.sites {
		s.leaveOut(x, err)
	}
}

// keep returns the plans that f does; those with an error are left out.
func (s *Session) keep(plans []*placed, f func(*placed) error) (kept []*placed) {
	for i, p := range plans {
		if s.step("generating code", i, len(plans)) != nil {
			return kept // the caller asks, too
		}
		if err := f(p); err != nil {
			s.leaveOutAll(p, err)
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// hopeless gives the error of a first arming before anything is done to the
// program: tracepoints of which no address is planned.
func (s *Session) hopeless(plans []*placed) error {
	if s.state.phase != starting {
		return nil
	}
	planned := map[*tracked]bool{}
	for _, p := range plans {
		for _, x := range p.sites {
			planned[x.tp] = true
		}
	}
	var bad lang.Diagnostics
	for _, tp := range s.tps {
		if l := s.left[tp]; l != nil && tp.sites == 0 && !planned[tp] {
			bad = tracepoint.Append(bad, l.First)
		}
	}
	return bad.Err()
}

// judgeLeftOut tells what was left out of an installation.
func (s *Session) judgeLeftOut() error {
	var bad lang.Diagnostics
	for _, tp := range s.tps {
		switch l := s.left[tp]; {
		case l == nil:
		case tp.sites == 0:
			tp.refused = true
			bad = tracepoint.Append(bad, l.First)
		default:
			s.warn(tp.Place.Text + ": " + l.Text(l.N+tp.sites))
		}
	}
	return bad.Err()
}

// errReplaced: the program called exec since its code was looked at. What was
// planned for the old one must not be done to the new one.
var errReplaced = errors.New("the program has called exec")

// stopped runs f with the world stopped, in the program that arm looked at.
func (s *Session) stopped(f func(*process.Stopped) error) error {
	pause, err := s.p.Stopped(func(st *process.Stopped) error {
		if s.execs.Load() != s.image {
			return errReplaced
		}
		return f(st)
	})
	s.notePause(pause)
	return err
}
