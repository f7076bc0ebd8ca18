package session

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/process"
)

// config is what the tracer's goroutine asks and tells.
func (s *Session) config() process.Config {
	calls := s.mine.Callbacks()
	return process.Config{
		OnFault:   calls.Fault,
		OnClock:   calls.Clock,
		OnTrap:    calls.Trap,
		PCBack:    calls.Back,
		InCode:    calls.Inside,
		OnSignal:  s.onSignal,
		OnThread:  func(e process.ThreadEvent) { inproc.Note(s.thr, e) },
		OnModules: func(tid int) bool { s.post.put(message{ev: ev{kind: evModules}, tid: tid}); return true },
		OnExec:    s.onExec,
		OnFork:    calls.Forked,
		OnPanic:   s.opt.OnPanic,
		Interrupt: s.opt.Interrupt,
		OnTyped:   func() { s.typed.seen.Add(1) },
	}
}

// onSignal holds a thread whose signal needs the program's own code. It runs on the
// tracer's goroutine.
func (s *Session) onSignal(tid int, _ bool) bool {
	if !s.mine.Callbacks().MayClear() {
		return false
	}
	s.post.put(message{ev: ev{kind: evSignal}, tid: tid})
	return true
}

// onNoClock has the programs that are there protected.
func (s *Session) onNoClock() {
	s.post.put(message{ev: ev{kind: evRequest}, req: &request{s.mine.ProtectClock, make(chan error, 1)}})
}

// onExec holds the thread that has called exec.
func (s *Session) onExec(tid int) bool {
	s.mine.Callbacks().Forget()
	s.post.put(message{ev: ev{kind: evExec}, tid: tid})
	return true
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
