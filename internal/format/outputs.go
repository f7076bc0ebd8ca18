package format

import (
	"io"
	"sort"

	"github.com/jalon-trace/jalon/internal/event"
)

// Output is a way of showing events. Each has a file of its own that registers it by
// one call of addOutput; `jalon trace -f`, its help and the public package know the
// outputs from here.
type Output struct {
	Name string
	Doc  string // what it writes, in a few words
	New  func(w io.Writer, t *Trace) Sink

	order int // in the help; the first is the default
}

// Trace is what an output may ask of the trace that it shows.
type Trace struct {
	Unwind   Unwinder                 // frames for $bt; nil shows the innermost only, or addresses where the kernel gave them
	Symbol   func(addr uint64) string // names of addresses; may be nil
	Elements int                      // how many of an array are shown
	Time     TimeStyle
	// WallOffset is added to CLOCK_MONOTONIC nanoseconds for the wall clock.
	WallOffset int64
	Kernel     event.KernelNames // names the kernel's addresses in texts of $_sdata; may be nil
}

func (t *Trace) printer() Printer { return Printer{Symbol: t.Symbol, Elements: t.Elements} }

var outputs []*Output

func addOutput(o Output) *Output {
	outputs = append(outputs, &o)
	return &o
}

// Outputs are all of them, the default first.
func Outputs() []*Output {
	list := append([]*Output(nil), outputs...)
	sort.Slice(list, func(i, j int) bool {
		if list[i].order != list[j].order {
			return list[i].order < list[j].order
		}
		return list[i].Name < list[j].Name
	})
	return list
}

// OutputNamed is the output of a name, nil for none.
func OutputNamed(name string) *Output {
	for _, o := range outputs {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// OutputHelp says in one line which outputs there are.
func OutputHelp() (names, help string) {
	for i, o := range Outputs() {
		if i > 0 {
			names, help = names+",", help+", "
		}
		names += o.Name
		help += o.Name + " (" + o.Doc + ")"
	}
	return names, help
}
