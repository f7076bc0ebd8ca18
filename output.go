package jalon

import (
	"fmt"
	"io"
	"strings"

	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/record"
	"github.com/jalon-trace/jalon/internal/session"
)

// Output receives the events of a trace: [Text], [JSON], [Discard], or one by its name: [Format].
//
// A goroutine of the trace writes to the writer of an output until the trace is over. A Write that blocks
// does not delay the trace or its end: two seconds after the requested end, unwritten events are counted
// (Result.Unshown) and dropped. A writer with SetWriteDeadline (os.File of a pipe, net.Conn) is then
// released; another one may still be in its last Write.
type Output interface {
	// sink makes the sink of a session; by takes out of what is shown what must not be seen, and may be nil.
	sink(s *session.Session, by *record.Redactor) drain.Sink
}

type outputFunc func(s *session.Session, by *record.Redactor) drain.Sink

func (f outputFunc) sink(s *session.Session, by *record.Redactor) drain.Sink { return f(s, by) }

// TextOptions configure [Text].
type TextOptions struct {
	Time TimeStyle
	// Nanoseconds shows all nine digits of a second, not six.
	Nanoseconds bool
	Elements    int // of arrays; 0: 200
	// Colour shows times, places and names of fields in the colours of a terminal.
	Colour bool
}

// TimeStyle selects how a time is shown.
type TimeStyle uint8

// The styles.
const (
	WallTime   TimeStyle = iota
	SinceStart           // seconds since the first event
	Monotonic            // seconds of CLOCK_MONOTONIC
)

var timeStyles = [...]format.TimeStyle{WallTime: format.WallTime, SinceStart: format.SinceStart, Monotonic: format.MonotoneTime}

// Text writes each event on one line, as "jalon trace" does.
func Text(w io.Writer, opt TextOptions) Output { return made("text", w, opt) }

// JSON writes each event as a JSON object on one line.
func JSON(w io.Writer) Output { return made("json", w, TextOptions{}) }

// Discard drops the events; the hits are counted.
func Discard() Output { return made("none", io.Discard, TextOptions{}) }

// Formats returns the names of the outputs that [Format] makes, the default first.
func Formats() (names []string) {
	for _, o := range format.Outputs() {
		names = append(names, o.Name)
	}
	return names
}

// Format makes an output by its name, as "jalon trace -f" does.
func Format(name string, w io.Writer, opt TextOptions) (Output, error) {
	if format.OutputNamed(name) == nil {
		return nil, fmt.Errorf("there is no output %q: the outputs are %s", name, strings.Join(Formats(), ", "))
	}
	return made(name, w, opt), nil
}

func made(name string, w io.Writer, opt TextOptions) Output {
	return outputFunc(func(s *session.Session, by *record.Redactor) drain.Sink {
		to := bounded.New(w)
		return waiting{to, format.OutputNamed(name).New(to, &format.Trace{
			Unwind: by.Unwinder(s.Unwind), Symbol: by.Symbols(s.Symbol), Elements: orDefault(opt.Elements, defaultElements),
			Time: timeStyles[opt.Time], Nanoseconds: opt.Nanoseconds, WallOffset: s.WallOffset(), Kernel: s, Colour: opt.Colour,
		})}
	})
}

// waiting is a sink whose reader does not delay the trace: drain.Waiter.
type waiting struct {
	*bounded.Writer
	drain.Sink
}

// CompleteFrom implements drain.Completer.
func (w waiting) CompleteFrom(from int64, gaps bool) error {
	if c, ok := w.Sink.(drain.Completer); ok {
		return c.CompleteFrom(from, gaps)
	}
	return nil
}

// End implements drain.Ender.
func (w waiting) End() error {
	if e, ok := w.Sink.(drain.Ender); ok {
		return e.End()
	}
	return nil
}
