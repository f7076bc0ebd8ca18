package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Table 7: the condition of one tracer before the recording of another. In the paper these are KGTP's
// condition and LTTng's ring buffer; here they are jalon's gate and perf record.

const gateEvent = "syscalls:sys_enter_getpriority"

func (b *bench) gateCases() []*testCase {
	if b.guest {
		return nil // the guest has no perf
	}
	g := &group{title: "gate: " + gateEvent, mode: "syscall", notes: []string{
		"jalon gate: condition " + falseSum + " (false), " + trueSum + " (true) before perf record -p; data is perf record alone. perf's own filter: which > 99, who > 0.",
	}}
	p := &place{
		bpftrace: "tracepoint:" + gateEvent,
		bno:      "2*(int32)args->which+3*(int32)args->who < 0", byes: "2*(int32)args->which+3*(int32)args->who > 0", bvalues: "args->which, args->who",
	}
	conds := [...]string{falseCond: falseSum, data: "", both: trueSum}
	filters := [...]string{falseCond: "which > 99", data: "", both: "who > 0"}
	var out []*testCase
	for w := range empty {
		out = append(out,
			&testCase{group: g, tracer: "jalon gate + perf record", what: w, start: func() (tracing, error) { return b.startGate(conds[w]) }},
			&testCase{group: g, tracer: "perf record --filter", what: w, start: func() (tracing, error) { return b.startPerf(filters[w]) }},
			&testCase{group: g, tracer: byBpftrace, what: w, start: func() (tracing, error) { return startBpftrace(p.bpftraceProgram(w)) }})
	}
	return out
}

// perfRun is a running perf record.
type perfRun struct{ *command }

// startPerf records the workload's events.
func (b *bench) startPerf(filter string) (tracing, error) {
	path, err := exec.LookPath("perf")
	if err != nil {
		return nil, errors.New("not installed")
	}
	args := []string{"record", "-e", gateEvent}
	if filter != "" {
		args = append(args, "--filter", filter)
	}
	c, err := launch(nil, path, append(args, "-p", strconv.Itoa(b.loop.cmd.Process.Pid), "-m", "1024", "-o", filepath.Join(b.dir, "perf.data"))...)
	if err != nil {
		return nil, err
	}
	if err := c.await(mapsPerfBuffer); err != nil {
		return nil, err
	}
	time.Sleep(perfEnables)
	return &perfRun{c}, nil
}

// perfEnables is the time allowed to perf record between mapping its buffers and enabling its events, which
// cannot be observed from outside. It takes milliseconds on a quiet machine. If it takes longer, records
// are missing and the case fails.
const perfEnables = time.Second

// mapsPerfBuffer reports whether a process has mapped the buffer of a perf event.
func mapsPerfBuffer(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && strings.Contains(string(b), "[perf_event]")
}

// samplesText matches the last output of perf record.
var samplesText = regexp.MustCompile(`\((\d+) samples\)`)

func (p *perfRun) stop() (seen, error) {
	if err := p.interrupt(); err != nil {
		return seen{}, err
	}
	s := seen{hits: -1}
	if m := samplesText.FindStringSubmatch(p.stderr.String()); m != nil {
		s.recorded, _ = strconv.ParseInt(m[1], 10, 64)
	}
	return s, nil
}

// gateRun is perf record with a gate before it.
type gateRun struct {
	gate *command // nil: no condition, no gate
	perf tracing
}

func (b *bench) startGate(cond string) (tracing, error) {
	g := &gateRun{}
	if cond != "" {
		var err error
		if g.gate, err = launch(nil, b.jalon, "gate", gateEvent+" if ("+cond+")"); err != nil {
			return nil, err
		}
		if err := g.gate.await(hasProgram(gateProgram)); err != nil {
			return nil, err
		}
	}
	var err error
	if g.perf, err = b.startPerf(""); err != nil && g.gate != nil {
		err = errors.Join(err, g.gate.interrupt())
	}
	return g, err
}

func (g *gateRun) stop() (seen, error) {
	s, err := g.perf.stop()
	if g.gate != nil {
		err = errors.Join(err, g.gate.interrupt())
	}
	return s, err
}
