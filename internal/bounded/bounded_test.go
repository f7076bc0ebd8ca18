package bounded

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func now() bool { return true }

// pipe is one that Reopen has opened, and its reader.
func pipe(t *testing.T) (r, w *os.File) {
	r, plain, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w = Reopen(plain)
	if w == plain {
		t.Fatal("the pipe is not opened anew")
	}
	plain.Close()
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// lines gives n lines of 100 bytes, each an event.
func lines(n int) (text []byte, ends []End) {
	for range n {
		text = append(append(text, strings.Repeat("x", 99)...), '\n')
		ends = append(ends, End{len(text), 1})
	}
	return text, ends
}

// TestFinish: a reader that reads gets everything in order.
func TestFinish(t *testing.T) {
	r, f := pipe(t)
	got := make(chan []byte)
	go func() { b, _ := io.ReadAll(r); got <- b }()
	w := New(f)
	var want []byte
	for i := range 500 {
		text, ends := lines(i % 40)
		want = append(want, text...)
		if err := w.WriteEvents(text, ends); err != nil {
			t.Fatal(err)
		}
		w.Wait(nil)
	}
	if n, err := w.Finish(nil); n != 0 || err != nil {
		t.Errorf("%d events not written: %v", n, err)
	}
	f.Close()
	if b := <-got; !bytes.Equal(b, want) {
		t.Errorf("the reader has %d bytes of %d", len(b), len(want))
	}
}

// TestGiveUp: what a reader that stops does not get is counted to the event, and no goroutine
// is left behind.
func TestGiveUp(t *testing.T) {
	r, f := pipe(t)
	before := runtime.NumGoroutine()
	w := New(f)
	given := uint64(0)
	for ; !w.Full(); given += 777 {
		text, ends := lines(777)
		if err := w.WriteEvents(text, ends); err != nil {
			t.Fatal(err)
		}
	}
	if w.Wait(now) {
		t.Error("Wait says that there is room")
	}
	unwritten, err := w.Finish(now)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("a goroutine is left")
		}
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrGivenUp) {
		t.Errorf("a Write behind it: %v", err)
	}
	f.Close()
	b, _ := io.ReadAll(r)
	if got := uint64(bytes.Count(b, []byte("\n"))); got == 0 || unwritten == 0 || got+unwritten != given || w.written != uint64(len(b)) {
		t.Errorf("%d events given, %d read, %d not written; %d bytes of %d", given, got, unwritten, len(b), w.written)
	}
}

// stuck is a writer whose reader never reads, without deadlines.
type stuck struct{ release chan struct{} }

func (s stuck) Write(b []byte) (int, error) { <-s.release; return len(b), nil }

// TestStuck: a Write that cannot be ended is left; when it ends, nothing more is written.
func TestStuck(t *testing.T) {
	s := stuck{make(chan struct{})}
	w := New(s)
	text, ends := lines(3)
	_ = w.WriteEvents(text, ends)
	_ = w.WriteEvents(text, ends)
	if n, err := w.Finish(now); n != 6 || err != nil {
		t.Errorf("%d events not written, %v", n, err)
	}
	close(s.release)
	for w.isWriting() {
		runtime.Gosched()
	}
	if w.written > uint64(len(text)) {
		t.Errorf("%d bytes written", w.written)
	}
}

func (w *Writer) isWriting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writing
}

// TestError: a closed pipe is the error of a later call, also of one that writes nothing.
func TestError(t *testing.T) {
	r, f := pipe(t)
	r.Close()
	w := New(f)
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	w.await(w.Empty, nil)
	if w.Err() == nil {
		t.Error("no error")
	}
	if _, err := w.Finish(nil); err == nil {
		t.Error("Finish without the error")
	}
}

// TestPrompt: messages are written before Write returns; a reader that does not read keeps
// the writer once, not for each message, and costs a bounded room.
func TestPrompt(t *testing.T) {
	r, f := pipe(t)
	p := NewPrompt(f)
	if _, err := p.Write([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := r.Read(b); n != 4 || err != nil { // it is there already
		t.Fatalf("%d bytes, %v", n, err)
	}
	text, _ := lines(100)
	for i := 0; !p.w.Full(); i++ {
		if _, err := p.Write(text); err != nil || i > Limit {
			t.Fatal(i, err)
		}
	}
	start, n := time.Now(), 10000
	for range n {
		if _, err := p.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(start); d > time.Duration(n)*Patience/10 {
		t.Errorf("%d messages took %v", n, d)
	}
	if p.w.size > 2*Limit {
		t.Errorf("%d bytes wait", p.w.size)
	}
}
