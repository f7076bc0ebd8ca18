package show

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/script/printf"
)

// Series is a value for each interval of time.
type Series struct {
	Interval time.Duration
	Points   []Point
}

// Point is an interval. Its value may be Missing.
type Point struct {
	Start time.Time
	Value printf.Value
}

const graphWidth = 53

// around are the integers around a value, which are the same if it is one.
func around(v printf.Value) (below, above int64) {
	if n, _, _ := v.Number(); !v.IsReal() {
		return int64(n), int64(n)
	}
	return clamped(math.Floor(v.Real())), clamped(math.Ceil(v.Real()))
}

func clamped(x float64) int64 {
	switch {
	case x >= 1<<63:
		return math.MaxInt64
	case x >= -1<<63:
		return int64(x)
	case x < 0:
		return math.MinInt64
	}
	return 0
}

// position is where a value is between low and high, as a fraction.
func position(v printf.Value, low, high int64) float32 {
	if v.IsReal() {
		return float32((v.Real() - float64(low)) / float64(high-low))
	}
	n, _ := around(v)
	return float32(n-low) / float32(high-low)
}

// limits are the smallest and the largest value, at least 2 apart if they are the same.
func (s *Series) limits() (low, high int64) {
	first, signed := true, false
	for _, p := range s.Points {
		if p.Value.Missing() {
			continue
		}
		below, above := around(p.Value)
		_, s, _ := p.Value.Number()
		signed = signed || s
		if first {
			low, high, first = below, above, false
		}
		low, high = min(low, below), max(high, above)
	}
	if low == high {
		if low > 0 || signed && low > -1<<63 {
			low--
		}
		if high < 1<<63-1 {
			high++
		}
	}
	return low, high
}

// clock is the text of times: the name of the column, and how a time is written.
func (s *Series) clock() (head, layout string) {
	switch {
	case s.Interval%time.Second == 0:
		return "hh:mm:ss", "15:04:05"
	case s.Interval%time.Millisecond == 0:
		return "hh:mm:ss.ms", "15:04:05.000"
	case s.Interval%time.Microsecond == 0:
		return "hh:mm:ss.us", "15:04:05.000000"
	}
	return "hh:mm:ss.ns", "15:04:05.000000000"
}

// text draws the series.
func (s *Series) text(w io.Writer) {
	if len(s.Points) == 0 {
		fmt.Fprint(w, "<no data>")
		return
	}
	low, high := s.limits()
	head, layout := s.clock()
	width := max(len(head), len(layout))
	scale := fmt.Sprintf("%*s%-21d%*d\n", width+1, "", low, graphWidth-21, high)
	fmt.Fprint(w, scale)
	fmt.Fprintf(w, "%-*s|%s|\n", width+1, head, strings.Repeat("_", graphWidth-2))
	zero := 0
	if low < 0 && high > 0 {
		zero = int(float32(graphWidth) * float32(-low) / float32(high-low))
	}
	for _, p := range s.Points {
		line := []byte("|" + strings.Repeat(" ", graphWidth-2) + "|")
		if zero > 0 {
			line[zero] = '.'
		}
		value := "-"
		if !p.Value.Missing() {
			at := int(float32(graphWidth-1) * position(p.Value, low, high))
			line[max(0, min(graphWidth-1, at))] = '*'
			value = p.Value.String()
		}
		fmt.Fprintf(w, "%-*s %s %s\n", width, p.Start.Format(layout), line, value)
	}
	fmt.Fprintf(w, "%*s v%sv\n%s", width, "", strings.Repeat("_", graphWidth-2), scale)
}

// json lists the intervals that have values.
func (s *Series) json() string {
	var parts []string
	for _, p := range s.Points {
		if !p.Value.Missing() {
			parts = append(parts, `{"interval_start":"`+p.Start.Format("2006-01-02 15:04:05.000000000")+`","value":`+p.Value.JSON()+"}")
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}
