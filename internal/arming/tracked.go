package arming

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Tracked is a tracepoint with its state. It is the key of its programs.
type Tracked struct {
	*tracepoint.Tracepoint

	counting *drain.Pass       // counts Pass down
	pending  error             // why no site has been found yet
	loads    int               // how many times the files of programs are loaded
	programs []*engine.Program // installed; those in the kernel are loaded, and armed while it is enabled
	refused  bool              // could not be installed in a later library: not tried again
}

// Track makes the state of tracepoints.
func Track(list []*tracepoint.Tracepoint) []*Tracked {
	var out []*Tracked
	for _, tp := range list {
		out = append(out, &Tracked{Tracepoint: tp})
	}
	return out
}

func (tp *Tracked) pass() *drain.Pass {
	if tp.Pass > 0 && tp.counting == nil {
		tp.counting = &drain.Pass{Left: tp.Pass}
	}
	return tp.counting
}

// without leaves out of a list what is installed.
func (tp *Tracked) without(list []*engine.Program) []*engine.Program {
	at := map[uint64]bool{}
	for _, x := range tp.programs {
		at[x.Site.Addr()] = true
	}
	return slices.DeleteFunc(list, func(x *engine.Program) bool { return at[x.Site.Addr()] })
}

// TrackedOf returns the tracepoint of a program.
func TrackedOf(x *engine.Program) *Tracked { return x.Key.(*Tracked) }
