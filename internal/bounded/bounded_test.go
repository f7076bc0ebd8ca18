package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func now() bool { return true }

// pipe returns a pipe opened by Reopen, and its reader.
func pipe(t *testing.T) (r, w *os.File) {
	r, plain, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w = Reopen(plain)
	if w == plain {
		t.Fatal("the pipe was not opened again")
	}
	plain.Close()
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// lines returns n lines of 100 bytes, each an event.
func lines(n int) (text []byte, ends []End) {
	for range n {
		text = append(append(text, strings.Repeat("x", 99)...), '\n')
		ends = append(ends, End{len(text), 1})
	}
	return text, ends
}

// TestFinish: a reader that reads receives everything in order.
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

// TestGiveUp: the events that a stopped reader does not receive are counted exactly, and no goroutine
// remains.
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
		t.Error("Wait returned true on a full Writer")
	}
	// The goroutine has begun to write; with one CPU it may not have run yet.
	for end := time.Now().Add(5 * time.Minute); ; runtime.Gosched() {
		if n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ); err != nil || n > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing is written")
		}
	}
	unwritten, err := w.Finish(now)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("a goroutine still runs")
		}
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrGivenUp) {
		t.Errorf("a Write after Finish: %v", err)
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

// TestStuck: a Write that cannot be ended is abandoned; when it ends, nothing more is written.
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

// TestError: the error of a closed pipe is returned by a later call, also by one that writes nothing.
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

// TestPrompt: messages are written before Write returns. A reader that does not read delays the writer
// once, not for each message, and needs bounded memory.
func TestPrompt(t *testing.T) {
	r, f := pipe(t)
	p := NewPrompt(f)
	if _, err := p.Write([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := r.Read(b); n != 4 || err != nil { // it has already been written
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

// TestPromptLeavesOut: a reader that comes late gets the first and the last messages, and the number of those between that were left out.
func TestPromptLeavesOut(t *testing.T) {
	r, f := pipe(t)
	p := NewPrompt(f)
	const n = 4 * Limit / 100
	for i := range n {
		if _, err := fmt.Fprintf(p, "%-99d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string)
	go func() { b, _ := io.ReadAll(r); got <- string(b) }()
	for !p.w.Empty() {
		p.Flush(time.Second)
	}
	f.Close()
	next, counted := 0, 0
	for line := range strings.Lines(<-got) {
		if k := 0; strings.HasPrefix(line, "jalon: ") {
			if _, err := fmt.Sscanf(line, "jalon: %d lines are left out here", &k); err != nil {
				t.Fatal(err, line)
			}
			counted += k
			next += k
		} else if line != fmt.Sprintf("%-99d\n", next) {
			t.Fatalf("%q, want %d", line, next)
		} else {
			next++
		}
	}
	if next != n || counted == 0 || counted > n-Limit/2/100 {
		t.Errorf("%d of %d lines, %d left out", next, n, counted)
	}
}
