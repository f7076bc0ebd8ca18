package bounded

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Patience is how long a Prompt waits for its reader.
const Patience = 200 * time.Millisecond

// Prompt writes text, such as messages, before Write returns. If the reader does not read, it waits for
// Patience only. Then it gives text to a Writer. When that is full, the oldest lines that wait are left out, with a line that
// counts them in their place: what comes last says how things are. Any goroutine may use it.
type Prompt struct {
	mu    sync.Mutex
	w     *Writer
	stuck uint64 // bytes written when the reader was found not to read; 0 and !late: it reads
	late  bool
}

// NewPrompt returns a Prompt to w.
func NewPrompt(w io.Writer) *Prompt { return &Prompt{w: New(w)} }

// Write implements io.Writer.
func (p *Prompt) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.w.leaveOut()
	if n, err := p.w.Write(text); err != nil {
		return n, err
	}
	if p.late && p.w.progress() == p.stuck {
		return len(text), nil
	}
	p.flush(Patience)
	return len(text), p.w.Err()
}

// Flush waits until everything is written, at most for the given time.
func (p *Prompt) Flush(patience time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flush(patience)
}

func (p *Prompt) flush(patience time.Duration) {
	end := time.Now().Add(patience)
	p.late = !p.w.await(p.w.Empty, func() bool { return time.Now().After(end) })
	p.stuck = p.w.progress()
}

// leaveOut halves what waits if the Writer is full. The first piece is being written.
func (w *Writer) leaveOut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size < Limit || len(w.pieces) < 2 {
		return
	}
	note, to := piece{}, 1
	for ; to < len(w.pieces) && w.size > Limit/2; to++ {
		p := &w.pieces[to]
		if note.lost += p.lost; p.lost == 0 {
			note.lost += bytes.Count(p.text, []byte("\n"))
		}
		w.size -= len(p.text)
	}
	note.text = fmt.Appendf(nil, "jalon: %d lines are left out here: they were not read in time\n", note.lost)
	w.size += len(note.text)
	w.pieces = slices.Replace(w.pieces, 1, to, note)
}

func (w *Writer) progress() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written
}
