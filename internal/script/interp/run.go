package interp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/plan"
)

// timer is an interval probe; without one, it prints the maps.
type timer struct {
	pr     *check.Probe
	pl     *script.Place
	period time.Duration
	due    time.Time
}

// timers are the interval probes of the script.
func (m *Machine) timers(now time.Time) []*timer {
	var out []*timer
	m.each("interval", func(pr *check.Probe, pl *script.Place) {
		if !plan.RunsInJalon(m.p, pr, pl) {
			return
		}
		d := time.Duration(pl.Nanos)
		if pl.Hertz > 0 {
			d = time.Second / time.Duration(min(pl.Hertz, uint64(time.Second)))
		}
		out = append(out, &timer{pr, pl, d, now.Add(d)})
	})
	return out
}

// each calls f for the probes of a kind, in the order of the script.
func (m *Machine) each(provider string, f func(*check.Probe, *script.Place)) {
	for _, pr := range m.p.Probes {
		for _, pl := range pr.Places {
			if pl.Provider.Name == provider {
				f(pr, pl)
			}
		}
	}
}

// all runs the probes of a kind. The others run also if one calls exit().
func (m *Machine) all(ctx context.Context, provider string) error {
	var first error
	m.each(provider, func(pr *check.Probe, pl *script.Place) {
		if _, err := m.Run(ctx, pr, pl); err != nil && !errors.Is(err, errStopped) && first == nil {
			first = err
		}
	})
	return first
}

// Loop runs the script without sites: begin probes, then timers and signals until exit() or the end of ctx, then end
// probes, as Finish. usr1 receives a value for each signal. begun is called after the begin probes, unless they end the script:
// it lets the program run, whose end would interrupt them.
func (m *Machine) Loop(ctx, signalled context.Context, usr1 <-chan struct{}, begun func()) error {
	err := m.Begin(ctx)
	if ended, _ := m.Ended(); err == nil && !ended {
		begun()
		err = m.Wait(ctx, usr1, false)
	}
	if e := m.Finish(signalled); err == nil {
		err = e
	}
	return err
}

// Begin runs the begin probes.
func (m *Machine) Begin(ctx context.Context) error { return m.all(ctx, "begin") }

// Finish runs the end probes. They are interrupted when a signal ends signalled, unless that was what has ended the script.
func (m *Machine) Finish(signalled context.Context) error {
	if signalled.Err() != nil {
		signalled = context.WithoutCancel(signalled)
	}
	return m.all(signalled, "end")
}

// Wait runs timers and signals until exit() or the end of ctx. Without any of them, it returns at once unless there
// are sites.
func (m *Machine) Wait(ctx context.Context, usr1 <-chan struct{}, sites bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	m.over = cancel
	ended := m.ended
	m.mu.Unlock()
	timers := m.timers(time.Now())
	if m.opts.Live > 0 && (sites || len(timers) > 0) {
		timers = append(timers, &timer{period: m.opts.Live, due: time.Now().Add(m.opts.Live)})
	}
	m.selves = 0
	m.each("self", func(*check.Probe, *script.Place) { m.selves++ })
	for err == nil && !ended && ctx.Err() == nil && (sites || len(timers)+m.selves > 0) {
		err = m.wait(ctx, timers, usr1)
		ended, _ = m.Ended()
	}
	return err
}

// wait waits for a timer or signal and runs its probes. Periods that passed meanwhile are left out.
func (m *Machine) wait(ctx context.Context, timers []*timer, usr1 <-chan struct{}) error {
	var first *timer
	for _, t := range timers {
		if first == nil || t.due.Before(first.due) {
			first = t
		}
	}
	var alarm <-chan time.Time
	if first != nil {
		clock := time.NewTimer(time.Until(first.due))
		defer clock.Stop()
		alarm = clock.C
	}
	select {
	case <-ctx.Done():
		return nil
	case <-usr1:
		if m.selves == 0 {
			loadSites(m)
			m.Exclusive(m.PrintMaps)
		}
		return m.all(ctx, "self")
	case now := <-alarm:
		if first.due = first.due.Add(first.period); first.due.Before(now) {
			first.due = now.Add(first.period)
		}
		if first.pr == nil {
			loadSites(m)
			m.Exclusive(func() { refresh(m) })
			return nil
		}
		_, err := m.Run(ctx, first.pr, first.pl)
		if errors.Is(err, errStopped) {
			return nil
		}
		return err
	}
}

// refresh prints all maps in place of what was on the screen.
func refresh(m *Machine) {
	switch {
	case m.opts.JSON:
	case m.opts.Clear != nil:
		m.opts.Clear()
	default:
		fmt.Fprintln(m.opts.Out, m.opts.Now().Format("15:04:05"))
	}
	m.PrintMaps()
}

// Attached reports how many probes there are.
func (m *Machine) Attached(n int) {
	switch {
	case m.opts.JSON:
		fmt.Fprintf(m.opts.Out, "{\"type\": \"attached_probes\", \"count\": %d, \"data\": {\"probes\": %d}}\n", n, n)
	case n == 1:
		fmt.Fprintln(m.opts.Err, "Attached 1 probe")
	default:
		fmt.Fprintf(m.opts.Err, "Attached %d probes\n", n)
	}
}

// End separates what the script printed from the maps.
func (m *Machine) End() {
	if !m.opts.JSON {
		fmt.Fprint(m.opts.Out, "\n\n")
	}
}
