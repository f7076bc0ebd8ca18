package kernel

import (
	"sync"
	"testing"

	"github.com/jalon-trace/jalon/internal/engine"
)

// TestSideBySide: calls run concurrently. One after the other they would wait for ever.
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

// TestSitesTakenBack: removed sites are not counted.
func TestSitesTakenBack(t *testing.T) {
	e := newHost(&base{}).NewEngine(EngineOptions{})
	var list []*engine.Program
	for range 5 {
		x := &engine.Program{}
		p := &program{Program: x, id: uint32(len(e.programs)), at: Instruction(1), load: &load{}}
		e.programs, e.known[x] = append(e.programs, p), p
		list = append(list, x)
	}
	if err := e.Remove([]*engine.Program{list[1], list[3]}); err != nil {
		t.Fatal(err)
	}
	if e.Sites() != 3 {
		t.Errorf("%d sites of 5, 2 were taken back", e.Sites())
	}
}
