package engine

import (
	"errors"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
)

// TestInterruptible: work on a long program ends with the error of a step, and otherwise when it is done; that on a short one
// is not interrupted.
func TestInterruptible(t *testing.T) {
	long := &ir.Program{Blocks: make([]*ir.Block, longProgram)}
	over := errors.New("over")
	never := make(chan struct{})
	defer close(never)
	if err := Interruptible(long, func(string, int, int) error { return over }, func() { <-never }); !errors.Is(err, over) {
		t.Errorf("work without end: %v", err)
	}
	done := false
	if err := Interruptible(long, func(string, int, int) error { return nil }, func() { done = true }); err != nil || !done {
		t.Errorf("%v, done %v", err, done)
	}
	done = false
	if err := Interruptible(&ir.Program{}, func(string, int, int) error { return over }, func() { done = true }); err != nil || !done {
		t.Errorf("a short program: %v, done %v", err, done)
	}
	defer func() {
		if r := recover(); r != "BUG: x" {
			t.Errorf("a panic of the work: %v", r)
		}
	}()
	_ = Interruptible(long, func(string, int, int) error { return nil }, func() { panic("BUG: x") })
}
