package kernel

import (
	"sync"
	"testing"
)

// TestSideBySide: calls wait together. One after the other they would wait for ever.
func TestSideBySide(t *testing.T) {
	const together = 64
	var all sync.WaitGroup
	all.Add(together)
	calls := make([]int, 3*together)
	sideBySide(len(calls), func(i int) {
		if i < together {
			all.Done()
			all.Wait()
		}
		calls[i]++
	})
	for i, n := range calls {
		if n != 1 {
			t.Errorf("%d is called %d times", i, n)
		}
	}
}
