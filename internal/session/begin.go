package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// begin arms for the first time. A launched program with libraries runs until ld.so has mapped and
// relocated them. Then every place can be found, the rseq areas of the threads are known, and neither main
// nor a constructor has run.
func (s *Session) begin(ctx context.Context) {
	held := 0
	if s.launched {
		held = s.subject.p.Pid()
		if s.subject.p.WatchesModules() && hasLinker(held) {
			s.subject.resume(held)
			held = s.awaitModules(ctx)
		}
	}
	if s.endedEarly(held) { // the state of the program does not matter
		return
	}
	err := s.share()
	var none error // no place of the kernel engine has the names that they use
	if err == nil {
		if err = s.kern.Arm(); arming.IsAbsent(err) && len(s.mine.Tracepoints) > 0 {
			none, err = err, nil
		}
	}
	pending := 0
	if err == nil {
		if pending, err = s.mine.Arm(); arming.IsAbsent(err) && none == nil && s.Sites() > 0 {
			s.mine.LeftOut(err)
			err = nil
		}
	}
	switch {
	case none == nil:
	case err == nil && s.Sites() > 0:
		s.kern.LeftOut(none)
	case err == nil || arming.IsAbsent(err):
		err = arming.Absent(none, err)
	}
	if s.endedEarly(held) {
		return
	}
	if arming.IsEnd(err) {
		err = nil // an event for this will arrive
	}
	s.setArmed(err)
	s.dispatch(ev{kind: evArmed, pending: pending, err: err}, held)
}

// beginKernel arms a session of the kernel engine alone.
func (s *Session) beginKernel(ctx context.Context) {
	if ctx.Err() != nil {
		s.dispatch(ev{kind: evStop}, 0)
		return
	}
	err := s.kern.Arm()
	if s.endedEarly(0) {
		return
	}
	s.setArmed(err)
	s.dispatch(ev{kind: evArmed, err: err}, 0)
}

// ErrEnded is what OnArmed gets at the end of a session: if it was not called before, nothing has been armed.
var ErrEnded = errors.New("the session ended before it was armed")

// endedEarly ends a session that the user has ended before it was armed. The process held stays stopped
// meanwhile.
func (s *Session) endedEarly(held int) bool {
	if s.interrupted() == nil {
		return false
	}
	s.warn("ended before the tracepoints were in place")
	s.dispatch(ev{kind: evStop}, held)
	return true
}

func (s *Session) setArmed(err error) {
	s.armed = time.Since(s.opt.Started)
	s.pausesToArmed = len(s.pauses)
	s.mine.Engine.Started()
	s.opt.armingOver(err)
	if err == nil && s.kern.Engine != nil && slices.ContainsFunc(s.opt.Tracepoints, func(tp *tracepoint.Tracepoint) bool { return tp.Place.Kind == probe.Iter }) {
		go s.iterate()
	}
}

// iterate goes through the objects of iterators.
func (s *Session) iterate() {
	if err := s.kern.Engine.Iterate(); err != nil {
		s.warn(err.Error())
	}
	if s.opt.OnIterated != nil {
		s.opt.OnIterated()
	}
}

func (o *Options) armingOver(err error) {
	if o.OnArmed != nil {
		o.OnArmed(err)
	}
}

// awaitModules returns the thread that is stopped at ld.so's breakpoint, 0 if the program or the user has
// ended the session before.
func (s *Session) awaitModules(ctx context.Context) int {
	for {
		select {
		case <-s.post.ready:
			for _, m := range s.post.take() {
				if m.req != nil {
					m.req.reply <- errNotRunning
				}
				if m.tid != 0 {
					return m.tid
				}
			}
		case <-s.subject.done():
			return 0
		case <-ctx.Done():
			return 0
		}
	}
}
