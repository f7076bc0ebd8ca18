package tracepoint

import (
	"errors"
	"fmt"
	"testing"
)

func TestLeftOut(t *testing.T) {
	var l Skipped
	for i := range 3 {
		l.Add(fmt.Errorf("error: the function at %#x is too large\n  --> place", 0x1000+i))
	}
	if got, want := l.Text(10), "3 of 10 addresses are skipped: the function at 0x1000 is too large"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 5 {
		l.Add(fmt.Errorf("no symbol %q", string(rune('a'+i))))
	}
	for range 4 {
		l.Add(errors.New("it jumps"))
	}
	want := `12 of 20 addresses are skipped: 4 (it jumps), 3 (the function at 0x1000 is too large), 1 (no symbol "a"), 1 (no symbol "b"), 3 for other reasons (-v lists all)`
	if got := l.Text(20); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if l.N != 12 || l.First.Error()[:6] != "error:" {
		t.Errorf("%+v", l)
	}
}
