package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// When is the CLOCK_MONOTONIC of a time as users write it: 1.5s, 200ms or 3 (seconds) from the beginning of a trace, -2s from its end,
// 15:04:05.25 or 2006-01-02T15:04:05Z by the wall clock, @1234567890 as in JSON.
func When(t *ctf.Trace, text string, zone *time.Location) (int64, error) {
	first, last, ok := t.Span()
	if !ok {
		return 0, nil
	}
	if ns, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			return 0, badTime(text)
		}
		return n, nil
	}
	if when, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return when.UnixNano() - t.Info.WallOffset, nil
	}
	if strings.Contains(text, ":") {
		return onClock(text, first+t.Info.WallOffset, zone, t.Info.WallOffset)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		if d, err = time.ParseDuration(text + "s"); err != nil {
			return 0, badTime(text)
		}
	}
	if strings.HasPrefix(text, "-") {
		return max(last+int64(d), 1), nil
	}
	return first + int64(d), nil
}

func badTime(text string) error {
	return fmt.Errorf("%q is not a time: 1.5s (from the beginning), -2s (from the end), 15:04:05.25, 2006-01-02T15:04:05Z, @NANOSECONDS of CLOCK_MONOTONIC", text)
}

// onClock is the first time of day of that text which is not before the trace, or on the trace's first day.
func onClock(text string, begin int64, zone *time.Location, offset int64) (int64, error) {
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
	return 0, badTime(text)
}
