package process

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// debugTest is one that lets everything go on as it was: what it debugs must notice
// nothing.
type debugTest struct {
	t        *testing.T
	opt      ControlOptions
	step     bool // single-step after each stop
	wg       sync.WaitGroup
	taken    atomic.Int64
	mu       sync.Mutex // one resumes at a time
	reported sync.Map   // threads with a stop that has not been handled
}

// note takes a stop from the tracer.
func (g *debugTest) note(q *stopQueue) func(Stop) {
	return func(s Stop) {
		if s.Kind != StopThreadExit {
			g.reported.Store(s.TID, true)
		}
		q.put(s)
	}
}

// serve answers the stops of a process until its end.
func (g *debugTest) serve(p *Process, q *stopQueue) {
	defer g.wg.Done()
	for {
		select {
		case <-q.more:
		case <-p.Done():
			return
		}
		for s, ok := q.take(); ok; s, ok = q.take() {
			if s.Kind == StopForked || s.Kind == StopVForked {
				g.child(p, s.Child)
			}
			if s.Kind == StopThreadExit {
				continue
			}
			r := Resumption{TID: s.TID, Signal: s.Signal, Step: g.step && s.Kind != StopStep}
			g.mu.Lock()
			g.reported.Delete(s.TID)
			if err := p.ResumeThreads([]Resumption{r}); err != nil && err != ErrGone {
				g.t.Error(err)
			}
			g.mu.Unlock()
		}
	}
}

// child takes every other child, and lets the rest go.
func (g *debugTest) child(p *Process, pid int) {
	if g.taken.Add(1)%2 == 0 {
		if err := p.ReleaseChild(pid); err != nil && err != ErrGone {
			g.t.Error(err)
		}
		return
	}
	q := newStopQueue()
	c, err := p.TakeChild(pid, Config{Control: &Control{OnStop: g.note(q)}})
	if err != nil {
		if !errors.Is(err, ErrGone) {
			g.t.Error(err)
		}
		return
	}
	_ = c.SetOptions(g.opt) // ErrGone
	g.wg.Add(1)
	go g.serve(c, q)
	_ = c.ResumeThreads([]Resumption{{TID: pid}})
}

// TestControlTransparent runs the programs of other tests under a debugger that
// requests all events, and that halts them all the time.
func TestControlTransparent(t *testing.T) {
	for _, c := range []struct {
		prog  string
		args  string
		out   string
		halts bool
		how   string // besides: "" nothing, "c" system calls are caught, "s" steps are made
	}{
		{"children", "1 1", "fails 0\n", false, " cs"},
		{"children", "1 2", "fails 0\n", true, " cs"},
		{"sigstorm", "200", "ready\nrt ok sum ok usr ok alarms ok\n", true, " cs"},
		{"storm", "5", "80\n", true, " cs"},
		{"blocked", "500 restarted", "ready\ndone\n", true, " "},
		{"execs", "4 l", "", false, " c"},
		{"execs", "4 t", "", true, " c"},
		{"execs", "4 x", "", true, " s"},
	} {
		for _, how := range c.how {
			t.Run(fmt.Sprint(c.prog, c.args, string(how)), func(t *testing.T) {
				prog := build(t, c.prog, "-no-pie")
				g := &debugTest{t: t, step: how == 's'}
				g.opt = ControlOptions{Forks: true, VForks: true, Execs: true, Threads: true, CatchSyscalls: how == 'c'}
				q := newStopQueue()
				d := startControl(t, Control{OnStop: g.note(q)}, append([]string{prog}, strings.Fields(c.args)...)...)
				must(0, d.SetOptions(g.opt))
				g.wg.Add(1)
				go g.serve(d.Process, q)
				d.resumeAll()
				for c.halts && g.halt(d.Process, q) {
				}
				st := d.r.wait()
				g.wg.Wait()
				want, code := c.out, 0
				if want == "" {
					want, code = fmt.Sprintf("last pid %d\n", d.Pid()), 3
				}
				if out := d.r.out.all(); st != (ExitStatus{Code: code}) || out != want {
					t.Errorf("%v %q, want %q", st, out, want)
				}
			})
		}
	}
}

// halt halts all threads and resumes those without a report. It
// reports whether the program continues.
func (g *debugTest) halt(p *Process, q *stopQueue) bool {
	g.mu.Lock()
	stops, err := p.HaltAll()
	for _, s := range stops {
		g.note(q)(s)
	}
	var list []Resumption
	for _, th := range p.ThreadList() {
		if _, reported := g.reported.Load(th.TID); !reported {
			list = append(list, Resumption{TID: th.TID})
		}
	}
	if e := p.ResumeThreads(list); err == nil {
		err = e
	}
	g.mu.Unlock()
	if err != nil && !errors.Is(err, ErrGone) {
		g.t.Error(err)
	}
	select {
	case <-p.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}
