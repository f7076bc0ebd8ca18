package kernel

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestRemoval: the progress of a removal that takes long is shown.
func TestRemoval(t *testing.T) {
	const n = 300
	for _, c := range []struct {
		first time.Duration
		want  int64
	}{{0, n}, {time.Hour, 0}} {
		var removed, steps atomic.Int64
		removal(n, c.first, func(what string, done, of int) error {
			if what != "removing" || of != n || done < 1 || done > n {
				t.Errorf("%s: %d of %d", what, done, of)
			}
			steps.Add(1)
			return nil
		}, func(int) { removed.Add(1) })
		if removed.Load() != n || steps.Load() != c.want {
			t.Errorf("%d removed, %d steps, want %d", removed.Load(), steps.Load(), c.want)
		}
	}
}
