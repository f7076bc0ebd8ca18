package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
)

// Flame counts the stacks of events.
type Flame struct {
	Root    *FlameNode
	Without uint64 // events without a stack, which are under their places
}

// FlameNode is a function in a tree of calls.
type FlameNode struct {
	Name  string       `json:"name"`
	Value uint64       `json:"value"` // events in it and what it calls
	Calls []*FlameNode `json:"children,omitempty"`

	index map[string]*FlameNode
}

// stackKey identifies what events are counted together.
type stackKey struct {
	stack  uint32
	schema *event.Schema
	comm   string
}

// maxStacks limits the different stacks that are counted apart.
const maxStacks = 1 << 17

// MakeFlame counts events by their stacks.
func MakeFlame(r *Reader) (*Flame, error) {
	x := &Flame{Root: &FlameNode{Name: "all"}}
	counts := map[stackKey]uint64{}
	err := r.Each(func(ev *event.Event) error {
		k := stackKey{r.Stack(ev), nil, ev.Comm}
		if k.stack == 0 {
			k.schema = ev.Schema
			x.Without++
		}
		if _, known := counts[k]; !known && len(counts) >= maxStacks {
			k = stackKey{comm: "[other stacks]"}
		}
		counts[k]++
		return nil
	})
	for k, n := range counts {
		x.Root.add(pathOf(k, r.Trace.State.Frames(k.stack)), n)
	}
	x.Root.sort()
	return x, err
}

// pathOf are the names of a stack, outermost first.
func pathOf(k stackKey, frames []debuginfo.Frame) []string {
	path := []string{k.comm}
	for _, f := range slices.Backward(frames) {
		path = append(path, FrameName(&f))
	}
	if k.stack == 0 && k.schema != nil {
		path = append(path, k.schema.Place)
	}
	return path
}

// FrameName is the name of a frame; its address if it has none.
func FrameName(f *debuginfo.Frame) string {
	if f.Function == "" {
		return "0x" + strconv.FormatUint(f.PC, 16)
	}
	return f.Function
}

// maxDepthShown limits the depth of the tree.
const maxDepthShown = 512

func (n *FlameNode) add(path []string, count uint64) {
	n.Value += count
	for _, name := range path[:min(len(path), maxDepthShown)] {
		c := n.index[name]
		if c == nil {
			if n.index == nil {
				n.index = map[string]*FlameNode{}
			}
			c = &FlameNode{Name: name}
			n.index[name] = c
			n.Calls = append(n.Calls, c)
		}
		c.Value += count
		n = c
	}
}

func (n *FlameNode) sort() {
	slices.SortFunc(n.Calls, func(a, b *FlameNode) int { return cmp.Or(-cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name)) })
	for _, c := range n.Calls {
		c.sort()
	}
}

// JSON writes the tree as d3-flame-graph reads it.
func (x *Flame) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(x.Root) }

// Folded writes a line for each stack, as flamegraph.pl and speedscope read them.
func (x *Flame) Folded(w io.Writer) error { return x.Root.folded(w, "") }

var foldedName = strings.NewReplacer(";", ":", "\n", " ", "\t", " ", "\r", " ")

func (n *FlameNode) folded(w io.Writer, path string) error {
	own := n.Value
	for _, c := range n.Calls {
		own -= min(own, c.Value)
		below := foldedName.Replace(c.Name)
		if path != "" {
			below = path + ";" + below
		}
		if err := c.folded(w, below); err != nil {
			return err
		}
	}
	if own > 0 && path != "" {
		if _, err := fmt.Fprintf(w, "%s %d\n", path, own); err != nil {
			return err
		}
	}
	return nil
}

// Text draws the tree: each function with its part of the events. Parts below least are left out.
func (x *Flame) Text(w io.Writer, width int, least float64) error {
	if x.Root.Value == 0 {
		_, err := fmt.Fprintln(w, "no events")
		return err
	}
	d := &flameDrawing{w: w, all: float64(x.Root.Value), width: max(width, 40), least: least}
	for _, c := range x.Root.Calls {
		d.node(c, 0)
	}
	if d.hidden > 0 && d.err == nil {
		_, d.err = fmt.Fprintf(w, "%d functions with less than %.1f%% are not shown\n", d.hidden, 100*least)
	}
	if x.Without > 0 && d.err == nil {
		_, d.err = fmt.Fprintf(w, "%d events have no stack ($bt was not recorded there): they are shown by their places\n", x.Without)
	}
	return d.err
}

type flameDrawing struct {
	w      io.Writer
	all    float64
	width  int
	least  float64
	hidden int
	err    error
}

const flameBar = 20

func (d *flameDrawing) node(n *FlameNode, depth int) {
	part := float64(n.Value) / d.all
	if part < d.least {
		d.hidden++
		return
	}
	bar := strings.Repeat("█", int(part*flameBar+0.5))
	indent := strings.Repeat("  ", min(depth, 40))
	name := []rune(oneLine(indent + n.Name))
	if room := d.width - flameBar - 20; len(name) > room {
		name = append(name[:room-1], '…')
	}
	if _, err := fmt.Fprintf(d.w, "%6.1f%% %9d %s%s %s\n", 100*part, n.Value, bar, strings.Repeat("·", flameBar-len([]rune(bar))), string(name)); err != nil && d.err == nil {
		d.err = err
	}
	for _, c := range n.Calls {
		d.node(c, depth+1)
	}
}
