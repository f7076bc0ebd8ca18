package session

import (
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// tracked is a tracepoint with what became of it. It is the key of its programs.
type tracked struct {
	*tracepoint.Tracepoint

	counting *drain.Pass       // Pass, counted down
	pending  error             // no site was found yet, and why
	programs []*engine.Program // installed; those in the kernel are loaded, and armed while it is enabled
	refused  bool              // in a library that came later, and said why: not tried again
}

func track(list []*tracepoint.Tracepoint) []*tracked {
	var out []*tracked
	for _, tp := range list {
		out = append(out, &tracked{Tracepoint: tp})
	}
	return out
}

func (tp *tracked) pass() *drain.Pass {
	if tp.Pass > 0 && tp.counting == nil {
		tp.counting = &drain.Pass{Left: tp.Pass}
	}
	return tp.counting
}

// trackedOf is the tracepoint of a program.
func trackedOf(x *engine.Program) *tracked { return x.Key.(*tracked) }
