package format

import (
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/event"
)

var _ = addOutput(Output{
	Name: "folded", Doc: "the number of events with each stack ($bt, $ubt), for flame graphs", order: 2,
	New: func(w io.Writer, t *Trace) Sink {
		return &folded{output: output{w: w}, t: t, printer: t.printer(), counts: map[string]uint64{}}
	},
})

// folded counts the stacks of events, and writes at the end one line for each, as
// flamegraph.pl and other tools read them:
//
//	COMM;OUTERMOST;...;INNERMOST COUNT
//
// If an event has stacks of the program and of the kernel, they are joined, with the kernel's on top. An event
// without a stack is counted by its place.
type folded struct {
	output
	t       *Trace
	printer Printer
	counts  map[string]uint64
	keys    map[foldedStacks]string // the lines of stacks
}

// foldedStacks identifies an event's stacks: an Unwinder returns the same frames for equal stacks of a program, and
// they are kept as long as they are in the map.
type foldedStacks struct {
	user, kernel *Frame // the first of them
	comm, place  string
}

// maxKeys bounds the map, because other frames are new each time.
const maxKeys = 1 << 12

// maxStacks limits the number of different stacks; further ones are counted together.
const maxStacks = 100_000

func (f *folded) Event(ev *event.Event) error {
	user, kernel := f.stack(ev, event.Stack, event.UserFrames), f.stack(ev, event.KernelFrames, event.KernelFrames)
	at := foldedStacks{first(user), first(kernel), ev.Comm, ev.Schema.Place}
	key, ok := f.keys[at]
	if !ok {
		key = foldedKey(ev, user, kernel)
		if f.keys == nil || len(f.keys) >= maxKeys {
			f.keys = map[foldedStacks]string{}
		}
		f.keys[at] = key
	}
	if _, known := f.counts[key]; !known && len(f.counts) >= maxStacks {
		key = "[other stacks]"
	}
	f.counts[key]++
	return nil
}

func first(list []Frame) *Frame {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// foldedKey is the line of an event with these stacks.
func foldedKey(ev *event.Event, user, kernel []Frame) string {
	names := []string{ev.Comm}
	for _, list := range [][]Frame{user, kernel} {
		for _, fr := range slices.Backward(list) {
			name := fr.Function
			if name == "" {
				name = "0x" + strconv.FormatUint(fr.PC, 16)
			}
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		names = append(names, ev.Schema.Place)
	}
	for i, n := range names {
		names[i] = foldedName.Replace(PlainText(n))
	}
	return strings.Join(names, ";")
}

// foldedName replaces the separators of names and lines.
var foldedName = strings.NewReplacer(";", ":", "\n", " ", "\t", " ")

// stack returns the event's first stack of a kind, innermost first.
func (f *folded) stack(ev *event.Event, a, b event.FieldKind) []Frame {
	for i := range ev.Schema.Fields {
		v := ev.Value(i)
		if v.Status == event.OK && (v.Field.Kind == a || v.Field.Kind == b) {
			return frames(f.t.Unwind, &f.printer, ev, &v)
		}
	}
	return nil
}

// End writes the stacks, the commonest first.
func (f *folded) End() error {
	keys := make([]string, 0, len(f.counts))
	for k := range f.counts {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := f.counts[keys[i]], f.counts[keys[j]]; a != b {
			return a > b
		}
		return keys[i] < keys[j]
	})
	for _, k := range keys {
		f.buf = append(strconv.AppendUint(append(append(f.buf, k...), ' '), f.counts[k], 10), '\n')
		if err := f.eventsEnd(f.counts[k]); err != nil {
			return err
		}
	}
	return nil
}
