package session

import (
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
)

// config is what the tracer's goroutine asks and tells.
func (s *Session) config() process.Config {
	return process.Config{
		OnFault:   s.onFault,
		OnClock:   s.onClock,
		OnTrap:    s.onTrap,
		PCBack:    s.pcBack,
		OnSignal:  s.onSignal,
		OnThread:  s.onThread,
		OnModules: func(tid int) bool { s.post.put(message{ev: ev{kind: evModules}, tid: tid}); return true },
		OnExec:    func(tid int) bool { s.execs.Add(1); s.post.put(message{ev: ev{kind: evExec}, tid: tid}); return true },
		OnFork:    s.onFork,
		OnPanic:   s.opt.OnPanic,
		Interrupt: s.opt.Interrupt,
		OnTyped:   func() { s.typed.seen.Add(1) },
	}
}

func (s *Session) onFault(_ int, _ int, pc uint64) (uint64, bool) {
	to, ok := s.tables.get().fault[pc]
	return to, ok
}

func (s *Session) onTrap(_ int, addr uint64) (uint64, bool) {
	to, ok := s.tables.get().trap[addr]
	return to, ok
}

func (s *Session) pcBack(pc uint64) (process.Origin, bool) { return s.tables.get().back(pc) }

func (s *Session) onThread(e process.ThreadEvent) {
	tsc := event.TSC()
	switch e.Kind {
	case process.ThreadBorn, process.ThreadMoved:
		if e.FSBase != 0 {
			s.thr.Born(e.TID, e.FSBase, e.Comm, tsc)
		}
	case process.ThreadDied:
		s.thr.Died(e.TID, tsc)
	}
}

// onFork restores the original bytes in a forked child's copy of the memory; it
// is let go afterwards and runs without us.
func (s *Session) onFork(child *process.Stopped) {
	s.placedMu.Lock()
	list := slices.Concat(s.placed, s.old)
	s.placedMu.Unlock()
	for _, p := range list {
		for _, e := range p.edits {
			if !ours(child, e.Addr, e.New) {
				continue
			}
			if err := child.WriteMem(e.Addr, e.Old); err != nil {
				s.logf("forked child: restoring %#x: %v", e.Addr, err)
			}
		}
	}
	if err := s.unguard(child); err != nil {
		s.logf("forked child: the protection of pages: %v", err)
	}
	if err := s.removeTraps(child); err != nil {
		s.logf("forked child: restoring the action of SIGTRAP: %v", err)
	}
}

// message is an event with the thread that waits for its answer.
type message struct {
	ev  ev
	tid int      // to be resumed when the event is dealt with; 0 = none
	req *request // of evRequest
}

// queue hands messages from the tracer's goroutine to the session's without
// ever blocking the former.
type queue struct {
	mu    sync.Mutex
	list  []message
	ready chan struct{}
}

func (q *queue) put(m message) {
	q.mu.Lock()
	q.list = append(q.list, m)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) take() []message {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.list
	q.list = nil
	return l
}
