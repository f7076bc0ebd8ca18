package interp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/printf"
)

// outcome is the result of a test.
type outcome struct {
	name   string
	took   time.Duration
	passed bool
	output string
}

// Test runs the probes test:NAME and reports whether all have passed: they return 0 or nothing, do not call exit with
// a status, errorf, or assert what is false.
func (m *Machine) Test(ctx context.Context) (bool, error) {
	var tests []string
	m.each("test", func(_ *check.Probe, pl *script.Place) { tests = append(tests, pl.Name) })
	var done []outcome
	var err error
	m.each("test", func(pr *check.Probe, pl *script.Place) {
		if err != nil || ctx.Err() != nil {
			return
		}
		var o outcome
		if o, err = m.test(ctx, pr, pl); err != nil {
			return
		}
		done = append(done, o)
		m.reportTest(o, len(done) == 1, len(tests))
	})
	if err != nil {
		return false, err
	}
	failed := 0
	for _, o := range done {
		if !o.passed {
			failed++
		}
	}
	if !m.opts.JSON && len(done) > 0 {
		m.summary(done, failed)
	}
	return failed == 0 && len(done) > 0, nil
}

// test runs one test with its output kept.
func (m *Machine) test(ctx context.Context, pr *check.Probe, pl *script.Place) (outcome, error) {
	out, errs, json := m.opts.Out, m.opts.Err, m.opts.JSON
	defer func() { m.opts.Out, m.opts.Err, m.opts.JSON = out, errs, json }()
	var kept bytes.Buffer
	m.opts.Out, m.opts.Err, m.opts.JSON = &kept, &kept, false
	m.errors, m.ended, m.status = 0, false, 0
	began := time.Now()
	result, err := m.Run(ctx, pr, pl)
	if err != nil && !errors.Is(err, errStopped) {
		return outcome{}, err
	}
	o := outcome{name: pl.Name, took: time.Since(began), passed: result == 0 && m.status == 0 && m.errors == 0 && err == nil, output: kept.String()}
	m.errors, m.ended, m.status = 0, false, 0
	return o, nil
}

func (m *Machine) reportTest(o outcome, first bool, all int) {
	if m.opts.JSON {
		fmt.Fprintf(m.opts.Out, "{\"type\": \"test_result\", \"data\": {%s: {\"duration\": %d, \"passed\": %t, \"output\": %s}}}\n",
			printf.Quote(o.name), o.took.Nanoseconds(), o.passed, printf.Quote(o.output))
		return
	}
	if first {
		fmt.Fprintf(m.opts.Out, "[==========] Running %d tests.\n", all)
	}
	fmt.Fprintf(m.opts.Out, "[ RUN      ] %s\n", o.name)
	if o.passed {
		fmt.Fprintf(m.opts.Out, "[       OK ] %s (%s)\n", o.name, shortTime(o.took))
		return
	}
	for line := range strings.Lines(o.output) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			fmt.Fprintln(m.opts.Out, line)
		}
	}
	fmt.Fprintf(m.opts.Out, "[  FAILED  ] %s (%s)\n", o.name, shortTime(o.took))
}

func (m *Machine) summary(done []outcome, failed int) {
	count := func(n int) string {
		if n == 1 {
			return "1 test"
		}
		return fmt.Sprintf("%d tests", n)
	}
	fmt.Fprintf(m.opts.Out, "[==========] %s ran.\n", count(len(done)))
	fmt.Fprintf(m.opts.Out, "[  PASSED  ] %s.\n", count(len(done)-failed))
	if failed == 0 {
		return
	}
	fmt.Fprintf(m.opts.Out, "[  FAILED  ] %s, listed below:\n", count(failed))
	for _, o := range done {
		if !o.passed {
			fmt.Fprintf(m.opts.Out, "[  FAILED  ] %s\n", o.name)
		}
	}
}

// shortTime is a time in the largest unit of which there is one.
func shortTime(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d >= u.of {
			return fmt.Sprintf("%d %s", d/u.of, u.name)
		}
	}
	return fmt.Sprintf("%d ns", d)
}

// benchTime is how long a benchmark runs at least.
const benchTime = time.Millisecond

// Bench runs the probes bench:NAME, each as often as fills benchTime, and reports whether none has failed. One that
// returns another value than 0 is left out.
func (m *Machine) Bench(ctx context.Context) (ok bool, err error) {
	width, n := 40, 0
	m.each("bench", func(_ *check.Probe, pl *script.Place) { width = max(width, len(pl.Name)) })
	ok = true
	m.each("bench", func(pr *check.Probe, pl *script.Place) {
		if err != nil || ctx.Err() != nil {
			return
		}
		average, iters, failed, e := m.bench(ctx, pr, pl)
		switch {
		case e != nil:
			err = e
		case failed:
			ok = false
			fmt.Fprintf(m.opts.Err, "the benchmark %s failed\n", pl.Name)
		case iters == 0:
		case m.opts.JSON:
			fmt.Fprintf(m.opts.Out, "{\"type\": \"benchmark_result\", \"data\": {%s: {\"average\": %d, \"iters\": %d}}}\n", printf.Quote(pl.Name), average.Nanoseconds(), iters)
		default:
			if n++; n == 1 {
				fmt.Fprintf(m.opts.Out, "%-*s%-15s%s\n%s\n", width+1, "Benchmark", "Time(ns)", "Iterations", strings.Repeat("-", width+1+15+10))
			}
			fmt.Fprintf(m.opts.Out, "%-*s%-15d%d\n", width+1, pl.Name, average.Nanoseconds(), iters)
		}
	})
	return ok, err
}

// bench runs one benchmark without its output; 0 iterations: it is to be left out.
func (m *Machine) bench(ctx context.Context, pr *check.Probe, pl *script.Place) (average time.Duration, iters int, failed bool, err error) {
	out, errs := m.opts.Out, m.opts.Err
	defer func() { m.opts.Out, m.opts.Err = out, errs }()
	var kept bytes.Buffer
	m.opts.Out, m.opts.Err = &kept, &kept
	for iters = 1; ; iters *= 2 {
		began := time.Now()
		for range iters {
			kept.Reset()
			m.errors, m.ended, m.status = 0, false, 0
			result, err := m.Run(ctx, pr, pl)
			if err != nil {
				return 0, 0, false, err
			}
			if m.status != 0 || m.errors > 0 {
				m.errors, m.ended, m.status = 0, false, 0
				return 0, 0, true, nil
			}
			if result != 0 {
				return 0, 0, false, nil
			}
		}
		if took := time.Since(began); took >= benchTime {
			return took / time.Duration(iters), iters, false, nil
		}
	}
}
