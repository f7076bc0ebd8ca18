package jalon

import (
	"io"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/session"
)

// Output takes the events of a trace: [Text], [JSON], [Discard].
type Output interface {
	sink(s *session.Session) drain.Sink
}

type outputFunc func(s *session.Session) drain.Sink

func (f outputFunc) sink(s *session.Session) drain.Sink { return f(s) }

// TextOptions say how [Text] shows events.
type TextOptions struct {
	Time     TimeStyle
	Elements int // of arrays; 0: 200
}

// TimeStyle is how a time is shown.
type TimeStyle uint8

// The styles.
const (
	WallTime   TimeStyle = iota
	SinceStart           // seconds since the first event
	Monotonic            // seconds of CLOCK_MONOTONIC
)

var timeStyles = [...]format.TimeStyle{WallTime: format.WallTime, SinceStart: format.SinceStart, Monotonic: format.MonotoneTime}

// Text writes each event as a line, as "jalon trace" does.
func Text(w io.Writer, opt TextOptions) Output {
	return outputFunc(func(s *session.Session) drain.Sink {
		return format.NewText(w, format.TextOptions{
			Kernel:  s,
			Printer: format.Printer{Symbol: s.Symbol, Elements: orDefault(opt.Elements, defaultElements)},
			Unwind:  s.Unwind, Time: timeStyles[opt.Time], WallOffset: s.WallOffset(),
		})
	})
}

// JSON writes each event as one JSON object on a line.
func JSON(w io.Writer) Output {
	return outputFunc(func(s *session.Session) drain.Sink {
		return format.NewJSON(w, format.JSONOptions{Unwind: s.Unwind, Symbol: s.Symbol, Kernel: s})
	})
}

// Discard takes events and shows none: the hits are counted.
func Discard() Output {
	return outputFunc(func(*session.Session) drain.Sink { return discard{} })
}

type discard struct{}

func (discard) Event(*event.Event) error     { return nil }
func (discard) Summary(*event.Summary) error { return nil }
func (discard) Flush() error                 { return nil }
