package format

import (
	"bytes"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/event"
)

// TimeStyle is the way in which Text shows the time of an event.
type TimeStyle uint8

// The styles.
const (
	WallTime     TimeStyle = iota // 15:04:05.123456, local time
	SinceStart                    // seconds since TextOptions.Start
	MonotoneTime                  // seconds of CLOCK_MONOTONIC
)

// TextOptions are the options of Text. The zero value is ready for use.
type TextOptions struct {
	Printer Printer
	Unwind  Unwinder // frames for $bt; nil shows the innermost only, or addresses where the kernel gave them
	Time    TimeStyle
	// Nanoseconds shows all nine digits of a second, not six.
	Nanoseconds bool
	// WallOffset is added to CLOCK_MONOTONIC nanoseconds for the wall clock
	// (event.Clock.WallOffset); Zone is its zone, nil: local.
	WallOffset int64
	Zone       *time.Location
	Start      int64 // CLOCK_MONOTONIC of second 0; 0: the first event
	// Kernel names the kernel's addresses in texts of $_sdata; may be nil.
	Kernel event.KernelNames
	Colour bool // of a terminal: times, places and names of fields differ from values
}

var _ = addOutput(Output{Name: "text", Doc: "one line per event", New: func(w io.Writer, t *Trace) Sink {
	return NewText(w, TextOptions{Kernel: t.Kernel, Printer: t.printer(), Unwind: t.Unwind, Time: t.Time, Nanoseconds: t.Nanoseconds, WallOffset: t.WallOffset, Colour: t.Colour})
}})

// Text writes an event as one line, $regs and $bt as further, indented lines.
type Text struct {
	output
	o          TextOptions
	texts      kernelTexts
	commWidth  int
	placeWidth int
	second     int64 // that clock has
	clock      [8]byte
	painted    painter
	lines      textLines
	// complete is from which time on all events come; 0: all did, or it is marked. last is the time of the last event.
	complete, last int64
}

// NewText returns a Text that writes to w.
func NewText(w io.Writer, o TextOptions) *Text {
	return &Text{output: output{w: w}, o: o, texts: kernelTexts{names: o.Kernel}, commWidth: 12, placeWidth: 8, second: -1}
}

// maxColumn limits the effect of one long name on all lines.
const maxColumn = 40

// Event writes the lines of an event.
func (t *Text) Event(ev *event.Event) error {
	if t.complete != 0 && ev.TimeNS >= t.complete {
		t.mark()
	}
	t.last = ev.TimeNS
	b := t.buf
	if l := t.lines.of(ev.Schema); l.whole && !t.o.Colour && !ev.Overwritten && len(ev.Raw) >= l.end {
		t.buf = t.line(b, ev, l)
		return t.eventsEnd(1)
	}
	start := len(b)
	t.painted.begin(t.o.Colour, start)
	b = t.begin(b, ev)
	t.painted.mark(start, len(b), dim)

	from := len(b)
	b = appendThread(b, ev)
	b = pad(b, from, &t.commWidth)
	from = len(b)
	b = append(b, ev.Schema.Place...)
	t.painted.mark(from, len(b), bold)
	b = pad(b, from, &t.placeWidth)
	blocks := false
	for i := range ev.Schema.Fields {
		f := &ev.Schema.Fields[i]
		if isCallString(f) {
			continue
		}
		v := ev.Value(i)
		if v.Status == event.OK && (f.Kind == event.Regs || f.Kind == event.Stack || isFrames(f.Kind)) {
			blocks = true
			continue
		}
		if hidden, all := otherFrame(ev, &v, i); hidden {
			if all {
				b = appendOtherFrame(b, f)
			}
			continue
		}
		b = append(b, ' ')
		if f.Kind == event.SData && v.Status == event.OK { // the kernel's own text needs no name
			if f.Text != nil && f.Text.Call != "" && !v.Truncated {
				b = t.o.Printer.appendCall(b, ev, &v)
			} else {
				b = t.texts.append(b, ev, &v)
			}
			continue
		}
		from := len(b)
		b = append(b, f.Name...)
		t.painted.mark(from, len(b), cyan)
		b = append(b, '=')
		b = t.o.Printer.appendField(b, ev, &v)
	}
	if ev.Overwritten {
		b = append(b, " <overwritten by the program>"...)
	}
	b = t.painted.paint(endLine(b, start))
	if blocks {
		b = t.blocks(b, ev)
	}
	t.buf = b
	return t.eventsEnd(1)
}

// Completer is a Sink that marks from which time on it has all events.
type Completer interface {
	// CompleteFrom says that all events come from a time on, which is CLOCK_MONOTONIC in nanoseconds, and whether there are gaps before it.
	CompleteFrom(from int64, gaps bool) error
}

// CompleteFrom implements Completer by a line between events.
func (t *Text) CompleteFrom(from int64, gaps bool) error {
	if !gaps || from == 0 {
		return nil
	}
	if t.complete = from; t.last >= from {
		t.mark()
	}
	return nil
}

// mark writes the line if there are events before it.
func (t *Text) mark() {
	if t.last != 0 {
		b := append(t.time(t.buf, t.complete), " --- all events are there from this time on; some of the older ones are missing ---\n"...)
		t.buf = b
	}
	t.complete = 0
}

// begin begins a line with the time and the CPU.
func (t *Text) begin(b []byte, ev *event.Event) []byte {
	if ev.Untimed {
		b = append(b, '-')
	} else {
		b = t.time(b, ev.TimeNS)
	}
	b = append(b, " ["...)
	b = appendPadded(b, ev.CPU, 3)
	return append(b, "] "...)
}

// blocks writes the values that do not fit on one line.
func (t *Text) blocks(b []byte, ev *event.Event) []byte {
	several := severalFrames(ev.Schema)
	for i := range ev.Schema.Fields {
		v := ev.Value(i)
		if v.Status != event.OK {
			continue
		}
		if several && isFrames(v.Field.Kind) {
			start := len(b)
			b = endLine(append(append(b, "    "...), v.Field.Name...), start)
		}
		switch v.Field.Kind {
		case event.Regs:
			b = t.registers(b, v.Data)
		case event.Stack, event.KernelFrames, event.UserFrames:
			for n, f := range frames(t.o.Unwind, &t.o.Printer, ev, &v) {
				start := len(b)
				b = endLine(appendFrame(b, n, &f, v.Field.Kind == event.KernelFrames), start)
				if f.Cut != "" {
					start := len(b)
					b = endLine(append(b, cutText(f.Cut)...), start)
				}
			}
		}
	}
	return b
}

// endLine ends a line and makes it safe for a terminal (see Plain), because names from files and programs may
// contain control characters. It also replaces newlines and tabs.
func endLine(b []byte, start int) []byte {
	for n := len(b); n > start && b[n-1] == ' '; n-- {
		b = b[:n-1]
	}
	line := b[start:]
	if plainPrefix(line) < len(line) || bytes.IndexByte(line, '\n') >= 0 || bytes.IndexByte(line, '\t') >= 0 {
		line = []byte(oneLine.Replace(string(line)))
		b = appendPlain(b[:start], line)
	}
	return append(b, '\n')
}

// oneLine escapes characters that would break a line or a column.
var oneLine = strings.NewReplacer("\n", `\x0a`, "\t", `\x09`)

// pad pads a column to the width of its widest entry so far.
func pad(b []byte, from int, width *int) []byte {
	n := len(b) - from
	if n > *width {
		*width = min(n, maxColumn)
	}
	for ; n < *width; n++ {
		b = append(b, ' ')
	}
	return append(b, ' ')
}

func (t *Text) time(b []byte, mono int64) []byte {
	switch t.o.Time {
	case MonotoneTime:
		return t.seconds(b, mono)
	case SinceStart:
		if t.o.Start == 0 {
			t.o.Start = mono
		}
		return t.seconds(b, mono-t.o.Start)
	}
	ns := mono + t.o.WallOffset
	sec, frac := ns/1e9, ns%1e9
	if frac < 0 {
		sec, frac = sec-1, frac+1e9
	}
	if sec != t.second {
		when := time.Unix(sec, 0)
		if t.o.Zone != nil {
			when = when.In(t.o.Zone)
		}
		when.AppendFormat(t.clock[:0], "15:04:05")
		t.second = sec
	}
	b = append(b, t.clock[:]...)
	b = append(b, '.')
	if !t.o.Nanoseconds {
		return appendPadded(b, int(frac/1000), 6)
	}
	return appendPadded(b, int(frac), 9)
}

// seconds prints nanoseconds as seconds, right-aligned.
func (t *Text) seconds(b []byte, ns int64) []byte {
	if b = appendSeconds(b, ns, 14); !t.o.Nanoseconds {
		b = b[:len(b)-3]
	}
	return b
}

// appendThread prints COMM:PID of a process's first thread, COMM:PID/TID of another one. A name may contain colons; the
// numbers are behind the last.
func appendThread(b []byte, ev *event.Event) []byte {
	b = append(append(b, ev.Comm...), ':')
	switch {
	case !ev.KnowsThread():
		return append(b, '?')
	case ev.Pid != ev.Tid && ev.Pid != 0:
		b = append(strconv.AppendInt(b, int64(ev.Pid), 10), '/')
	}
	return strconv.AppendInt(b, int64(ev.Tid), 10)
}

// appendSeconds prints nanoseconds as seconds, right-aligned.
func appendSeconds(b []byte, ns int64, width int) []byte {
	neg := ns < 0
	abs := uint64(ns)
	if neg {
		abs = -abs
	}
	var num [24]byte
	s := num[:0]
	if neg {
		s = append(s, '-')
	}
	s = strconv.AppendUint(s, abs/1e9, 10)
	s = append(s, '.')
	s = appendPadded(s, int(abs%1e9), 9)
	for n := len(s); n < width; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// appendPadded prints n >= 0 with leading zeros.
func appendPadded(b []byte, n, width int) []byte {
	var num [20]byte
	i := len(num)
	for u := uint(max(n, 0)); u > 0 || i > len(num)-width; u /= 10 {
		i--
		num[i] = '0' + byte(u%10)
	}
	return append(b, num[i:]...)
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// hex16 prints all 16 digits.
func hex16(b []byte, v uint64) []byte {
	b = append(b, '0', 'x')
	for i := 60; i >= 0; i -= 4 {
		b = append(b, hexDigits[v>>i&15])
	}
	return b
}

// registers writes four registers per line, then the pc and the flags.
func (t *Text) registers(b []byte, data []byte) []byte {
	for i := range regPC {
		switch {
		case i%4 == 0:
			b = append(b, "    "...)
		default:
			b = append(b, "  "...)
		}
		b = append(b, regNames[i]...)
		for n := len(regNames[i]); n < 4; n++ {
			b = append(b, ' ')
		}
		b = hex16(b, register(data, i))
		if i%4 == 3 {
			b = append(b, '\n')
		}
	}
	start := len(b)
	b = append(append(append(b, "    "...), regNames[regPC]...), ' ')
	b = hex16(b, register(data, regPC))
	if t.o.Printer.Symbol != nil {
		if name := t.o.Printer.Symbol(register(data, regPC)); name != "" {
			b = append(append(append(b, " <"...), name...), '>')
		}
	}
	b = append(append(append(b, "  "...), regNames[regFlags]...), ' ')
	return endLine(appendFlags(b, register(data, regFlags)), start)
}

// appendFlags prints 0x246 [ PF ZF IF ] as GDB does.
func appendFlags(b []byte, v uint64) []byte {
	names := host.Processor.FlagNames
	b = append(appendHex(b, v), " [ "...)
	for rest := v; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(rest); i < len(names) && names[i] != "" {
			b = append(append(b, names[i]...), ' ')
		}
	}
	return append(b, ']')
}

// appendFrame prints "    #1  0x000055d4c1b2a139 handle+9 at main.c:9"; with hex
// the offset is +0x9, as the kernel prints its own.
func appendFrame(b []byte, n int, f *Frame, hex bool) []byte {
	b = append(b, "    #"...)
	from := len(b)
	b = strconv.AppendInt(b, int64(n), 10)
	for len(b)-from < 3 {
		b = append(b, ' ')
	}
	b = append(hex16(b, f.PC), ' ')
	if f.Function == "" {
		b = append(b, "??"...)
	}
	b = append(b, f.Function...)
	switch {
	case f.Offset != 0 && hex:
		b = appendHex(append(b, '+'), f.Offset)
	case f.Offset != 0:
		b = strconv.AppendUint(append(b, '+'), f.Offset, 10)
	}
	switch {
	case f.File != "":
		b = append(append(b, " at "...), f.File...)
		b = strconv.AppendInt(append(b, ':'), int64(f.Line), 10)
	case f.Module != "":
		b = append(append(b, " from "...), f.Module...)
	}
	if f.Inlined {
		b = append(b, " (inlined)"...)
	}
	return b
}
