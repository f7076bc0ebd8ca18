package bounded

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestWholeLines lets two writers share a pipe: no line is interrupted by the other's.
func TestWholeLines(t *testing.T) {
	r, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const count = 20000
	text := strings.Repeat(strings.Repeat("a", 99)+"\n", count)
	done := make(chan error, 2)
	go func() {
		w := New(WholeLines(Reopen(end)))
		for at := 0; at < len(text); at += 50000 {
			if _, err := w.Write([]byte(text[at : at+50000])); err != nil {
				done <- err
				return
			}
			w.Wait(nil)
		}
		_, err := w.Finish(nil)
		done <- err
	}()
	other, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", end.Fd()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		line := []byte(strings.Repeat("b", 49) + "\n")
		for range count {
			if _, err := other.Write(line); err != nil {
				done <- err
				return
			}
		}
		done <- other.Close()
	}()
	ended := make(chan error, 1)
	go func() {
		err := <-done
		if err2 := <-done; err == nil {
			err = err2
		}
		_ = end.Close()
		ended <- err
	}()
	var as, bs int
	for s := bufio.NewScanner(r); as+bs < 2*count && s.Scan(); {
		switch line := s.Text(); line {
		case strings.Repeat("a", 99):
			as++
		case strings.Repeat("b", 49):
			bs++
		default:
			t.Fatalf("a line is %q", line)
		}
	}
	if err := <-ended; err != nil || as != count || bs != count {
		t.Errorf("%d and %d lines of %d: %v", as, bs, count, err)
	}
}

// TestWholeLinesOfOthers: a file is written as it is, and a deadline still ends a Write to a pipe.
func TestWholeLinesOfOthers(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if w := WholeLines(f); w != io.Writer(f) {
		t.Errorf("a file has the writer %T", w)
	}
	r, w := pipe(t)
	_ = r
	out := New(WholeLines(Reopen(w)))
	long := append(bytes.Repeat([]byte("x"), 1<<19), '\n')
	if err := out.WriteEvents(long, []End{{len(long), 1}}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	left, err := out.Finish(func() bool { return time.Since(begin) > 0 })
	if left != 1 || out.isWriting() {
		t.Errorf("%d events left, %v; it is writing: %v", left, err, out.isWriting())
	}
}
