package kernel

import (
	"slices"
	"sync"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/tracepoint"
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

// TestSitesTakenBack: sites that were taken back, or refused, are not listed.
func TestSitesTakenBack(t *testing.T) {
	e := &Engine{}
	for i := range 5 {
		e.sites = append(e.sites, &site{schema: &event.Schema{SiteID: uint32(i)}, tp: &tracepoint.Tracepoint{}})
	}
	if err := e.Detach([]uint32{1, 3}); err != nil {
		t.Fatal(err)
	}
	var ids []uint32
	e.Schemas(func(s *event.Schema, _ *tracepoint.Tracepoint) { ids = append(ids, s.SiteID) })
	if want := []uint32{0, 2, 4}; !slices.Equal(ids, want) || e.Sites() != len(want) {
		t.Errorf("sites %d of %d, want %d", ids, e.Sites(), want)
	}
}
