package session

import "sync"

// post passes events and requests of other goroutines to the session's goroutine. The tracer's goroutine
// must never wait for the session.
type post struct {
	queue
	ended chan struct{} // closed when Run is over
}

func newPost() *post {
	return &post{queue: queue{ready: make(chan struct{}, 1)}, ended: make(chan struct{})}
}

// event posts an event; the thread tid waits until it has been handled.
func (p *post) event(kind evKind, tid int) (holds bool) {
	p.put(message{ev: ev{kind: kind}, tid: tid})
	return true
}

// do posts f, to be called on the session's goroutine; its error is dropped.
func (p *post) do(f func() error) {
	p.put(message{ev: ev{kind: evRequest}, req: &request{f, make(chan error, 1)}})
}

// message is an event with the thread that waits until it has been handled.
type message struct {
	ev  ev
	tid int      // resumed when the event has been handled; 0: none
	req *request // of evRequest
}

// queue passes messages from the tracer's goroutine to the session's without blocking the former.
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
