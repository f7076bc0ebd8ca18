// Package bounded writes to readers that may stop reading. A Writer accepts text at once, and a goroutine
// writes it, so the caller's Write never waits for the reader. The caller checks Full before it produces more
// text, which limits the memory.
//
// Import rule: bounded imports no package of jalon.
package bounded

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limit is the number of bytes at which a Writer is full.
const Limit = 1 << 20

// Writer writes in the background. Its methods are called from one goroutine, except Write, which any
// goroutine may call.
type Writer struct {
	w io.Writer

	mu      sync.Mutex
	pieces  []piece
	writing bool // the goroutine runs
	size    int  // of pieces, bytes
	written uint64
	err     error // the first error of w
	given   bool  // the rest is dropped
	moved   chan struct{}
}

// End is an offset in a text at which this number of events ends.
type End struct {
	At     int
	Events uint64
}

// piece is the text of one call.
type piece struct {
	text []byte
	ends []End
	lost int // lines that are left out, and about which this text is
}

// New returns a Writer to w, which it does not close.
func New(w io.Writer) *Writer { return &Writer{w: w, moved: make(chan struct{}, 1)} }

// Write implements io.Writer. The error may belong to an earlier text.
func (w *Writer) Write(text []byte) (int, error) {
	if err := w.WriteEvents(text, nil); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WriteEvents writes a text with events. Events that are never written are counted.
func (w *Writer) WriteEvents(text []byte, ends []End) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.given {
		return ErrGivenUp
	}
	if len(text) == 0 {
		return nil
	}
	w.pieces = append(w.pieces, piece{text: append([]byte(nil), text...), ends: append([]End(nil), ends...)})
	w.size += len(text)
	if !w.writing {
		w.writing = true
		go w.write()
	}
	return nil
}

// ErrGivenUp is the error of a Write after Finish has dropped the rest.
var ErrGivenUp = errors.New("the reader does not read: the output is given up")

// write writes pieces until there are no more.
func (w *Writer) write() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.pieces) > 0 && w.err == nil && !w.given {
		text := w.pieces[0].text
		w.mu.Unlock()
		n, err := w.w.Write(text)
		w.mu.Lock()
		w.took(n, err)
	}
	w.writing = false
	w.signal()
}

// took records that n bytes of the first piece were written.
func (w *Writer) took(n int, err error) {
	w.written += uint64(n)
	if len(w.pieces) == 0 { // Finish has dropped them
		w.signal()
		return
	}
	p := &w.pieces[0]
	w.size -= n
	p.text = p.text[n:]
	left := p.ends[:0]
	for _, e := range p.ends {
		if e.At > n {
			left = append(left, End{e.At - n, e.Events})
		}
	}
	p.ends = left
	switch {
	case err != nil && w.given: // the deadline set by Finish
	case err != nil:
		w.err = err
	case len(p.text) > 0:
		w.err = io.ErrShortWrite
	default:
		w.pieces = w.pieces[1:]
	}
	w.signal()
}

func (w *Writer) signal() {
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// Err returns the first error of writing.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Full reports whether the limit is reached, so that no more text should be produced.
func (w *Writer) Full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size >= Limit && w.err == nil && !w.given
}

// Empty reports whether everything is written.
func (w *Writer) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pieces) == 0 && !w.writing || w.err != nil || w.given
}

// askEvery is the interval at which a wait calls late.
const askEvery = 10 * time.Millisecond

// Wait waits while the Writer is full. It returns false if late returns true first. late may be nil.
func (w *Writer) Wait(late func() bool) bool { return w.await(func() bool { return !w.Full() }, late) }

func (w *Writer) await(cond, late func() bool) bool {
	for !cond() {
		if late != nil && late() {
			return false
		}
		select {
		case <-w.moved:
		case <-time.After(askEvery):
		}
	}
	return true
}

// Finish waits until everything is written or late returns true. Then it drops the rest and returns the
// number of events in it. After that, no Write to w is in progress if w has write deadlines, as pipes
// opened by Reopen have. Otherwise the last Write may still wait for the reader, and its events count as
// not written.
func (w *Writer) Finish(late func() bool) (unwritten uint64, err error) {
	if !w.await(w.Empty, late) {
		w.giveUp()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pieces {
		for _, e := range p.ends {
			unwritten += e.Events
		}
	}
	if w.err == nil && !w.given {
		return 0, nil
	}
	w.pieces, w.size = nil, 0
	return unwritten, w.err
}

// stopPatience is how long giveUp waits for a Write whose deadline has passed.
const stopPatience = time.Second

// giveUp ends the Write that is in progress, if possible.
func (w *Writer) giveUp() {
	w.mu.Lock()
	w.given = true
	w.mu.Unlock()
	d, ok := w.w.(interface{ SetWriteDeadline(time.Time) error })
	if !ok || d.SetWriteDeadline(time.Unix(1, 0)) != nil {
		return
	}
	end := time.Now().Add(stopPatience)
	w.await(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.writing
	}, func() bool { return time.Now().After(end) })
}

// Reopen opens a pipe or a terminal again, without blocking. A Write to it can then be ended by a deadline,
// and the number of written bytes is known. The open file of f, which other processes share, is not
// changed. If f is something else, or cannot be opened again, Reopen returns f.
func Reopen(f *os.File) *os.File {
	var st unix.Stat_t
	fd := int(f.Fd())
	if unix.Fstat(fd, &st) != nil {
		return f
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
	case unix.S_IFCHR:
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			return f
		}
	default:
		return f
	}
	own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(own), f.Name())
}
