package format

import (
	"io"
	"sort"

	"github.com/jalon-trace/jalon/internal/event"
)

// Output is a way to show events. Each is in its own file, which registers it by one call of addOutput.
// `jalon trace -f`, its help and the public package use this list.
type Output struct {
	Name string
	Doc  string // a short description
	New  func(w io.Writer, t *Trace) Sink

	order int // in the help; the first is the default
}

// Trace is the information about a trace that an output may use.
type Trace struct {
	Unwind   Unwinder                 // frames for $bt; nil shows the innermost only, or addresses where the kernel gave them
	Symbol   func(addr uint64) string // names of addresses; may be nil
	Elements int                      // maximum number of array elements to show
	Time     TimeStyle
	// Nanoseconds shows all nine digits of a second in text, not six.
	Nanoseconds bool
	// WallOffset is added to CLOCK_MONOTONIC nanoseconds for the wall clock.
	WallOffset int64
	Kernel     event.KernelNames // names for kernel addresses in $_sdata; may be nil
	Colour     bool              // text for a terminal: see TextOptions
}

func (t *Trace) printer() Printer { return Printer{Symbol: t.Symbol, Elements: t.Elements} }

var outputs []*Output

func addOutput(o Output) *Output {
	outputs = append(outputs, &o)
	return &o
}

// Outputs returns all outputs, the default first.
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

// OutputNamed returns the output with a name, or nil.
func OutputNamed(name string) *Output {
	for _, o := range outputs {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// OutputHelp lists the outputs in one line.
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
