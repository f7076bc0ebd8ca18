package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// started has the start-up times and memory of one tracer.
type started struct {
	attached []float64 // ms from its start until its probe is visible to other processes
	own      []float64 // ms as the tracer prints it
	cpu      []float64 // ms of processor time until its end
	memory   []float64 // MiB, largest resident size
}

// startups is how often each tracer is started.
const startups = 7

// startup measures the time from start to armed, and the memory.
func (b *bench) startup() error {
	places := b.cases()
	fmt.Fprintf(b.out, "%-42s %16s %16s %16s %12s\n", "start to armed, ms (no DWARF but the workload's)", "attached", "says itself", "processor time", "MiB")
	for _, g := range groupsOf(places) {
		var both [2]started
		for range startups {
			for i, name := range []string{byJalon, byBpftrace} {
				c := tableOf(g, places).cases[name][falseCond]
				if err := both[i].once(c); err != nil {
					fmt.Fprintf(b.out, "  %s: %s: %v\n", g.title, name, err)
				}
			}
		}
		for i, name := range []string{byJalon, byBpftrace} {
			s := &both[i]
			fmt.Fprintf(b.out, "  %-46s %16s %16s %16s %12s\n", strings.Join([]string{g.title, name}, ": "), span(s.attached), span(s.own), span(s.cpu), span(s.memory))
		}
		if len(both[0].own) > 0 {
			fmt.Fprintf(b.out, "  %46s: %s\n", "jalon < 100 ms", reached(median(both[0].own) < 100))
		}
	}
	return nil
}

func (s *started) once(c *testCase) error {
	begin := time.Now()
	tr, err := c.start()
	if err != nil {
		return err
	}
	took := time.Since(begin)
	var cmd *command
	switch r := tr.(type) {
	case *jalonRun:
		cmd = r.command
	case *bpftraceRun:
		cmd = r.command
	}
	if _, err := tr.stop(); err != nil {
		return err
	}
	s.attached = append(s.attached, took.Seconds()*1e3)
	if _, ok := tr.(*jalonRun); ok {
		sum, err := lastSummary(cmd.stderr.String())
		if err != nil {
			return err
		}
		s.own = append(s.own, sum.ArmedMS)
	}
	st := cmd.cmd.ProcessState
	s.cpu = append(s.cpu, (st.UserTime()+st.SystemTime()).Seconds()*1e3)
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		s.memory = append(s.memory, float64(ru.Maxrss)/1024)
	}
	return nil
}

func span(v []float64) string {
	if len(v) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f (%.0f-%.0f)", median(v), slices.Min(v), slices.Max(v))
}
