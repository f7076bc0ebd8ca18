package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// key names a location of a tracepoint in packets.
type key struct{ number, addr uint64 }

func (k key) String() string { return fmt.Sprintf("tracepoint %d at %#x", k.number, k.addr) }

// tracepoint is a location of a tracepoint.
type tracepoint struct {
	key
	spec    Spec
	index   uint32 // in Experiment.byIndex
	pass    uint64 // the run ends after so many hits; 0: never
	fast    *uint64
	cond    rsp.Expr
	actions []rsp.Action // as they came, for the upload
	steps   []rsp.Action
	sources []rsp.UploadedSource // whole texts
	more    bool                 // the definition goes on
	// again: it is defined once more while the trace runs, as GDB does for all
	// locations when a library brings one more. What follows is known.
	again bool
	tally
}

// tally is what happened at a location in the run.
type tally struct {
	known      bool // to the engine
	hits       uint64
	unreadable uint64 // actions that ended early
	counts     Counts // of the engine; at the end of the run
	// The forms of its last hit and step, +1; 0: there was none.
	form, stepForm uint32
}

// catalogue has the locations of tracepoints.
type catalogue struct {
	list    []*tracepoint // in the order of definition
	byIndex []*tracepoint // for frames
	byKey   map[key]*tracepoint
	bySpec  map[*Spec]*tracepoint
}

func (x *catalogue) reset() {
	*x = catalogue{byKey: map[key]*tracepoint{}, bySpec: map[*Spec]*tracepoint{}}
}

func (x *catalogue) add(tp *tracepoint) {
	x.list = append(x.list, tp)
	x.byIndex = append(x.byIndex, tp)
	x.byKey[tp.key] = tp
	x.bySpec[&tp.spec] = tp
}

// remove forgets a location of which there are no frames.
func (x *catalogue) remove(tp *tracepoint) {
	delete(x.byKey, tp.key)
	delete(x.bySpec, &tp.spec)
	x.list = slices.DeleteFunc(x.list, func(t *tracepoint) bool { return t == tp })
	x.byIndex[tp.index] = nil
	if last := len(x.byIndex) - 1; int(tp.index) == last {
		x.byIndex = x.byIndex[:last]
	}
}

// find gives the location that a packet names.
func (x *catalogue) find(number, addr uint64) (*tracepoint, error) {
	k := key{number, addr}
	if tp := x.byKey[k]; tp != nil {
		return tp, nil
	}
	return nil, fmt.Errorf("%v is not defined", k)
}

// incomplete names the locations whose definitions were cut off.
func (x *catalogue) incomplete() error {
	var all []error
	for _, tp := range x.list {
		if tp.more {
			all = append(all, fmt.Errorf("%v: its definition is not complete", tp.key))
		}
	}
	return errors.Join(all...)
}
