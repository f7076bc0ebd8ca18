package engine

import (
	"time"

	"github.com/jalon-trace/jalon/internal/ir"
)

const (
	longProgram = 4096 // blocks: it takes long
	interrupts  = 50 * time.Millisecond
)

// Interruptible does work on a program. If the program is long and step, which may be nil, returns an error meanwhile, that is
// the result, and the work goes on by itself: nothing else may use its memory.
func Interruptible(p *ir.Program, step func(what string, done, of int) error, work func()) error {
	if len(p.Blocks) < longProgram || step == nil {
		work()
		return nil
	}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		work()
	}()
	for {
		select {
		case bug := <-done:
			if bug != nil {
				panic(bug)
			}
			return nil
		case <-time.After(interrupts):
			if err := step("", 0, 0); err != nil {
				return err
			}
		}
	}
}
