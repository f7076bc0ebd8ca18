package session

import (
	"github.com/jalon-trace/jalon/internal/ring"
)

// share gives the process the kernel's memory of the maps that sites of both engines use (sema.Map.Both), before programs are compiled. If that is
// not possible, nothing of it is left, and the caller changes the tracepoints.
func (s *Session) share() error {
	list := s.opt.maps(true)
	if len(list) == 0 {
		return nil
	}
	if s.kern.Engine == nil && s.subject.p != nil {
		var err error
		if s.kern.Engine, err = s.kern.Open(); err != nil {
			return err
		}
	}
	err := s.shareAll(list)
	if err == nil || s.subject.p.Ended() || s.interrupted() != nil {
		return nil // arming reports how the session ends
	}
	if s.opt.Unshared == nil {
		return err
	}
	return s.opt.Unshared(err)
}

// correct makes the time that hits in the process compute that of the kernel's hits, with which a map that both use compares it: the counter's rate is
// known to a millionth only, and that of the kernel's clock changes.
func correct(s *Session, mem *ring.Shared) {
	if !s.corrected || mem == nil {
		return
	}
	ticks, now, err := s.names.clock.Now()
	if err == nil {
		mem.SetVariable(ring.ClockVariable, uint64(now)-s.moment().At(ticks))
	}
}
