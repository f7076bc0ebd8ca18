package main

import (
	"errors"
	"strings"
	"testing"
)

// writes records the parts in which text is written.
type writes struct {
	parts []string
	err   error
}

func (w *writes) Write(p []byte) (int, error) {
	w.parts = append(w.parts, string(p))
	return len(p), w.err
}

func TestBuffered(t *testing.T) {
	for mode, want := range map[string]string{"line": "ab\nc\n|d|e", "full": "ab\nc\nde", "none": "ab\nc|\nd|e"} {
		w := &writes{}
		b := newBuffered(w, mode, func() {})
		for _, s := range []string{"ab\nc", "\nd", "e"} {
			if mode == "line" && s == "e" {
				_ = b.Flush()
			}
			if _, err := b.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(w.parts, "|")
		if mode == "line" {
			got = strings.Replace(got, "ab\n|c\n", "ab\nc\n", 1)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
	}
	w := &writes{err: errors.New("full")}
	failed := 0
	b := newBuffered(w, "full", func() { failed++ })
	if _, err := b.Write(make([]byte, bufferSize)); err == nil {
		t.Error("no error")
	}
	if n, err := b.Write([]byte("a")); err == nil || n != 0 || b.Flush() == nil || len(w.parts) != 1 || failed != 1 {
		t.Error("the error is forgotten")
	}
}
