package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/lang"
)

// When is the CLOCK_MONOTONIC of a time as users write it: 1.5s, 200ms or 3 (seconds) from the beginning of a trace, -2s from its end,
// 15:04:05.25 or 2006-01-02T15:04:05Z by the wall clock, @1234567890 as in JSON, complete (from when on no events are missing). The error is
// a *lang.Diagnostic.
func When(t *ctf.Trace, from lang.Text, zone *time.Location) (int64, error) {
	first, last, _ := t.Span()
	text := from.String()
	if text == "complete" {
		return max(t.CompleteFrom, first), nil
	}
	if ns, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			return 0, badTime(from)
		}
		return n, nil
	}
	if when, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return plus(nanoseconds(when), -t.Info.WallOffset), nil
	}
	if strings.Contains(text, ":") {
		return onClock(from, first+t.Info.WallOffset, zone, t.Info.WallOffset)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		if d, err = time.ParseDuration(text + "s"); err != nil {
			return 0, badTime(from)
		}
	}
	if strings.HasPrefix(text, "-") {
		return max(plus(last, int64(d)), 1), nil
	}
	return plus(first, int64(d)), nil
}

// plus adds times; what is beyond all times is the first or the last one.
func plus(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// nanoseconds are those since 1970, of years for which they have no number the first or the last one.
func nanoseconds(when time.Time) int64 {
	switch s := when.Unix(); {
	case s <= math.MinInt64/int64(time.Second):
		return math.MinInt64
	case s >= math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	}
	return when.UnixNano()
}

func badTime(from lang.Text) error {
	return from.At(from.Span, fmt.Sprintf("%q is not a time", from.String()),
		"1.5s is from the beginning, -2s from the end; 15:04:05.25, 2006-01-02T15:04:05Z, @NANOSECONDS of CLOCK_MONOTONIC; complete: when the trace begins to have all events")
}

// onClock is the first time of day of that text which is not before the trace, or on the trace's first day.
func onClock(from lang.Text, begin int64, zone *time.Location, offset int64) (int64, error) {
	text := from.String()
	if zone == nil {
		zone = time.Local
	}
	day := time.Unix(0, begin).In(zone)
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		if when, err := time.ParseInLocation("2006-01-02 "+layout, day.Format("2006-01-02 ")+text, zone); err == nil {
			if day.Sub(when) > 12*time.Hour { // behind midnight
				when = when.AddDate(0, 0, 1)
			}
			return when.UnixNano() - offset, nil
		}
	}
	return 0, badTime(from)
}
