package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Requests of other goroutines to a running session. They post an event; the session's goroutine carries it out
// between its own events.

// request is a question to a running session.
type request struct {
	do     func() error
	answer chan error // with room for one
}

// errNotRunning: there is nothing to enable, disable or count.
var errNotRunning = errors.New("the session is not running: its tracepoints are not armed yet, or not any more")

// ask has f carried out by the session's goroutine while the session runs.
func (p *post) ask(ctx context.Context, f func() error) error {
	r := &request{f, make(chan error, 1)}
	p.put(message{ev: ev{kind: evRequest}, req: r})
	select {
	case err := <-r.answer:
		return err
	case <-p.ended:
		return errNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Look has f read what belongs to the session's goroutine, such as symbols, while Run runs. It
// may be called by any goroutine.
func (s *Session) Look(ctx context.Context, f func()) error {
	return s.post.ask(ctx, func() error { f(); return nil })
}

// Pid is the process that the session is about; 0: all.
func (s *Session) Pid() int {
	if p := s.subject.life(); p != nil {
		return p.Pid()
	}
	return 0
}

// SiteStatus is what happened at a site so far.
type SiteStatus struct {
	Tracepoint int // its number
	Enabled    bool
	event.SiteSummary
}

// Status returns the current counters of all sites. It may be called by any goroutine while Run runs.
func (s *Session) Status(ctx context.Context) ([]SiteStatus, error) {
	var out []SiteStatus
	err := s.post.ask(ctx, func() error {
		s.poll()
		out = s.status()
		return nil
	})
	return out, err
}

// status lists the sites by tracepoint, and the state of tracepoints without sites.
func (s *Session) status() []SiteStatus {
	var out []SiteStatus
	has := map[*tracepoint.Tracepoint]bool{}
	for _, src := range s.records.Sources() {
		for _, sum := range s.count(src) {
			tp := s.records.Of(sum.Schema)
			if tp == nil {
				continue // of a library that is gone, or of a tracepoint that was removed
			}
			has[tp] = true
			out = append(out, SiteStatus{tp.Number, !tp.Disabled, sum})
		}
	}
	for _, tp := range s.opt.Tracepoints {
		if !has[tp] {
			out = append(out, SiteStatus{tp.Number, !tp.Disabled, event.SiteSummary{Schema: &event.Schema{Place: tp.Place.Text}}})
		}
	}
	return out
}

// SetEnabled enables or disables a tracepoint, by its number. It may be called by
// any goroutine while Run runs.
func (s *Session) SetEnabled(ctx context.Context, number int, on bool) error {
	return s.post.ask(ctx, func() error {
		switch tp, kernel := s.tracked(number); {
		case tp == nil:
			return s.opt.noTracepoint(number)
		case kernel:
			return s.enable(tp, on, s.kern.Enable)
		default:
			return s.enable(tp, on, s.enableInProcess)
		}
	})
}

func (s *Session) enable(tp *arming.Tracked, on bool, do func(*arming.Tracked, bool) error) error {
	if tp.Disabled == !on {
		return nil
	}
	return do(tp, on)
}

func (s *Session) enableInProcess(tp *arming.Tracked, on bool) error {
	if s.subject.p == nil || s.state.replaced {
		return fmt.Errorf("tracepoint %d: the program that it was in is gone", tp.Number)
	}
	return s.mine.Enable(tp, on)
}
