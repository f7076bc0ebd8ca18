package main

import (
	"bytes"
	"io"
	"sync"
)

// buffered is an output with one of bpftrace's ways of buffering. Any goroutine may write to it.
type buffered struct {
	mu   sync.Mutex
	w    io.Writer
	mode string
	text []byte
	err  error  // the first; later output is dropped
	fail func() // called with the first error
}

// bufferSize is how much a buffer holds.
const bufferSize = 64 << 10

func newBuffered(w io.Writer, mode string, fail func()) *buffered {
	return &buffered{w: w, mode: mode, fail: fail}
}

// Write keeps text until the buffer is full; by line, it writes what ends with a line; with none, all.
func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	b.text = append(b.text, p...)
	switch {
	case b.mode == "none" || len(b.text) >= bufferSize:
		b.flush(len(b.text))
	case b.mode == "line":
		b.flush(bytes.LastIndexByte(b.text, '\n') + 1)
	}
	return len(p), b.err
}

// flush writes the first n bytes.
func (b *buffered) flush(n int) {
	if n == 0 {
		return
	}
	if _, b.err = b.w.Write(b.text[:n]); b.err != nil {
		b.fail()
	}
	b.text = append(b.text[:0], b.text[n:]...)
}

// writeTo writes everything, and then text to w: what b's own output would change.
func (b *buffered) writeTo(w io.Writer, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.flush(len(b.text))
	if _, err := io.WriteString(w, text); err != nil && b.err == nil {
		b.err = err
		b.fail()
	}
}

// Flush writes everything and returns the first error of the output.
func (b *buffered) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.flush(len(b.text))
	}
	return b.err
}
