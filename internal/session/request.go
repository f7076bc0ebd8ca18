package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Other goroutines send requests to a running session as events. The session's goroutine serves a request
// between other events.

// request is a request to a running session.
type request struct {
	do    func() error
	reply chan error // with room for one
}

// errNotRunning: there are no armed tracepoints to enable, disable or count.
var errNotRunning = errors.New("the session is not running: its tracepoints are not armed yet, or not any more")

// call posts f, to be called on the session's goroutine while the session runs, and waits for it.
func (p *post) call(ctx context.Context, f func() error) error {
	r := &request{f, make(chan error, 1)}
	p.put(message{ev: ev{kind: evRequest}, req: r})
	select {
	case err := <-r.reply:
		return err
	case <-p.ended:
		return errNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Look calls f on the session's goroutine, where f may read the session's tables such as symbols. Any
// goroutine may call it while Run runs.
func (s *Session) Look(ctx context.Context, f func()) error {
	return s.post.call(ctx, func() error { f(); return nil })
}

// Pid returns the process of the session; 0: all processes.
func (s *Session) Pid() int {
	if p := s.subject.life(); p != nil {
		return p.Pid()
	}
	return 0
}

// Undelivered reports whether one of the signals (bit N-1 is signal N) may be on its way to the session's process.
func (s *Session) Undelivered(signals uint64) bool {
	pid := s.Pid()
	return pid != 0 && procdir.Undelivered(pid, signals)
}

// SiteStatus has the current numbers of a site.
type SiteStatus struct {
	Tracepoint int // its number
	Enabled    bool
	event.SiteSummary
}

// Status returns the current counters of all sites. Any goroutine may call it while Run runs.
func (s *Session) Status(ctx context.Context) ([]SiteStatus, error) {
	var out []SiteStatus
	err := s.post.call(ctx, func() error {
		s.poll()
		out = s.status()
		return nil
	})
	return out, err
}

// status lists the sites by tracepoint, and the tracepoints without sites with their state.
func (s *Session) status() []SiteStatus {
	var out []SiteStatus
	has := map[*tracepoint.Tracepoint]bool{}
	for _, src := range s.records.Sources() {
		for _, sum := range s.count(src) {
			tp := s.records.Of(sum.Schema)
			if tp == nil {
				continue // of an unloaded library or a removed tracepoint
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

// Snapshot shows the events that are in the rings, if these are overwritten. Any goroutine may call it while Run runs.
func (s *Session) Snapshot(ctx context.Context) error {
	return s.post.call(ctx, s.records.Snapshot)
}

// SetEnabled enables or disables a tracepoint by its number. Any goroutine may call it while Run runs.
func (s *Session) SetEnabled(ctx context.Context, number int, on bool) error {
	return s.post.call(ctx, func() error {
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
