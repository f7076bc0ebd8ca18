package export

import (
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/report"
	"github.com/jalon-trace/jalon/test/madetrace"
)

const benchEvents = 1_000_000

// benchReader has a million events of two ints, on four CPUs.
func benchReader(b *testing.B, where string) func() *report.Reader {
	m := madetrace.New(b)
	s := m.Site("a.c:9", "f", madetrace.Field{Name: "i", Type: ctype.IntT}, madetrace.Field{Name: "j", Type: ctype.IntT})
	rec := madetrace.Record(s, 1, 2)
	for i := range benchEvents {
		m.Event(s, int64(1e9+100*i), i/64%4, 10, 11+i%3, 0, rec)
	}
	t := m.Open()
	return func() *report.Reader {
		r, err := report.NewReader(t, report.Query{Where: where})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
}

func perEvent(b *testing.B, f func() error) {
	b.ReportAllocs()
	began := cpuTime(b)
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*benchEvents/1e6/(cpuTime(b)-began).Seconds(), "Mevents/CPU-s")
}

// cpuTime is the time of the CPUs that this process has used, which other load on the machine does not change.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead decodes all events; BenchmarkWhere runs a condition on each.
func BenchmarkRead(b *testing.B) {
	r := benchReader(b, "")
	perEvent(b, func() error { return r().Each(func(*event.Event) error { return nil }) })
}

func BenchmarkWhere(b *testing.B) {
	r := benchReader(b, "i == 1 && j > 1")
	perEvent(b, func() error { return r().Each(func(*event.Event) error { return nil }) })
}

func BenchmarkExport(b *testing.B) {
	r := benchReader(b, "")
	for _, f := range formats {
		b.Run(f.Name, func(b *testing.B) { perEvent(b, func() error { return f.Write(io.Discard, r(), &Options{}) }) })
	}
}
