package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// readings are the commands that read a trace, each with the one of babeltrace2 that does the same.
var readings = []struct {
	name string
	args []string // of jalon, before the trace
	peer []string // of babeltrace2, before the trace; nil: it has none
}{
	{"jalon report --stat", []string{"report", "--stat"}, []string{"-o", "dummy"}},
	{"jalon report", []string{"report"}, []string{}},
	{"jalon report -f json", []string{"report", "-f", "json"}, nil},
	{"jalon report --where 'a > 10' --stat", []string{"report", "--stat", "--where", "a > 10"}, nil},
	{"jalon report --from=-1ms --stat", []string{"report", "--stat", "--from=-1ms"}, nil},
	{"jalon export --to perfetto", []string{"export", "--to", "perfetto", "-o", "/dev/null"}, nil},
}

// used is what a command has taken.
type used struct {
	cpu, wall time.Duration
	memory    int64 // bytes
}

// measured runs a command whose output is of no interest.
func measured(name string, args ...string) (u used, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return u, err
	}
	defer null.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout = null
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return u, fmt.Errorf("%s: %w", name, err)
	}
	s := cmd.ProcessState
	u = used{cpu: s.UserTime() + s.SystemTime(), wall: time.Since(began)}
	if r, ok := s.SysUsage().(*syscall.Rusage); ok {
		u.memory = r.Maxrss << 10
	}
	return u, nil
}

// reading records a trace and reads it by jalon and babeltrace2, in turn.
func (b *bench) reading(rounds, events int) error {
	dir := filepath.Join(b.dir, "reading")
	defer os.RemoveAll(dir)
	x, err := b.traced(&row{events: events}, "record", "-o", dir, "--on-full", "wait", "hit", "-c", "a, b")
	if err != nil {
		return err
	}
	n := float64(x.recorded)
	fmt.Printf("\nreading a trace of %.1f M events, %d MB\n\n%-40s %14s %10s %12s\n", n/1e6, size(dir)>>20, "", "M events/CPU s", "seconds", "MB of memory")
	show := func(name string, list []used) float64 {
		of := func(f func(used) float64) float64 { return median(list, f) }
		rate := n / 1e6 / of(func(u used) float64 { return u.cpu.Seconds() })
		fmt.Printf("%-40s %14.2f %10.2f %12.0f\n", name, rate, of(func(u used) float64 { return u.wall.Seconds() }), of(func(u used) float64 { return float64(u.memory) / (1 << 20) }))
		return rate
	}
	for _, r := range readings {
		var own, peer []used
		for range rounds {
			u, err := measured(b.jalon, append(append([]string{r.args[0]}, r.args[1:]...), dir)...)
			if err != nil {
				return err
			}
			own = append(own, u)
			if r.peer == nil {
				continue
			}
			if u, err = measured("babeltrace2", append(append([]string{}, r.peer...), dir)...); err != nil {
				return err
			}
			peer = append(peer, u)
		}
		rate := show(r.name, own)
		if peer != nil {
			other := show("babeltrace2 "+fmt.Sprint(r.peer), peer)
			fmt.Printf("%-40s %13.1fx\n", "", rate/other)
		}
	}
	return nil
}
