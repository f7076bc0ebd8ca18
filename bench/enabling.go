package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jalon-trace/jalon"
)

// enabling measures how long it takes to disable and to enable a tracepoint with many sites, by the Go API, in a program with 4
// busy threads, which is not stopped for it.
func (b *bench) enabling(dir, only string) error {
	if !strings.Contains("enabling and disabling", only) {
		return nil
	}
	prog := filepath.Join(dir, "enabled")
	if out, err := exec.Command("gcc", "-O2", "-g", "-pthread", "-o", prog, "bench/work/sites.c", "bench/work/sites.S").CombinedOutput(); err != nil {
		return fmt.Errorf("building the program of many sites: %w: %s", err, out)
	}
	fmt.Printf("%-44s %9s %9s %9s\n", "to disable or enable, 4 busy threads, us", "median", "min", "max")
	for _, c := range []struct {
		sites int
		place string
	}{{1, "site0"}, {1000, "site???"}, {10000, "site*"}} {
		us, err := enableOften(prog, c.place)
		if err != nil {
			return err
		}
		fmt.Printf("%-44s %9.0f %9.0f %9.0f\n", fmt.Sprintf("%d sites", c.sites), median(us), slices.Min(us), slices.Max(us))
	}
	fmt.Println()
	return nil
}

// disabled measures a tracepoint that is disabled when the program has begun.
func (b *bench) disabled() ([]float64, error) {
	out, err := os.Create(b.work + ".out")
	if err != nil {
		return nil, err
	}
	defer out.Close()
	target := jalon.Command(b.work, "bare", strconv.Itoa(b.n), strconv.Itoa(b.reps+1), "10").Streams(nil, out, nil)
	t, err := jalon.Start(context.Background(), target, jalon.Options{
		Tracepoints: []jalon.Tracepoint{{Place: "test_function", Condition: falseCond}}, Output: jalon.Discard(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Close() }()
	if err := t.SetEnabled(context.Background(), 1, false); err != nil {
		return nil, err
	}
	if _, err := t.Wait(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(b.work + ".out")
	if err != nil {
		return nil, err
	}
	ns, err := nsLines(string(text))
	if err != nil || len(ns) < 2 {
		return nil, fmt.Errorf("the workload printed %q: %w", text, err)
	}
	return ns[1:], nil // the first batch may have begun before
}

// full measures hits that find the ring full: the smallest ring, whose reader is slower than the program.
func (b *bench) full() ([]float64, error) {
	return times(exec.Command(b.jalon, "trace", "test_function", "--collect", collect, "--buffer", "4K", "-f", "none", "--", b.work, "bare", strconv.Itoa(b.n), strconv.Itoa(b.reps), "10"))
}

func enableOften(prog, place string) (us []float64, err error) {
	// The tracer's child would be waited for by both: the program is the shell's.
	out, err := exec.Command("sh", "-c", `"$0" 10000 4 1000000 > /dev/null 2>&1 & echo $!`, prog).Output()
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	ctx := context.Background()
	t, err := jalon.Start(ctx, jalon.Attach(pid), jalon.Options{
		Tracepoints: []jalon.Tracepoint{{Place: "uprobe:" + prog + ":" + place, Condition: "(int)arg0 < 0"}}, Output: jalon.Discard(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Close() }()
	for i := range 100 {
		begin := time.Now()
		if err := t.SetEnabled(ctx, 1, i&1 == 1); err != nil {
			return nil, err
		}
		us = append(us, float64(time.Since(begin).Nanoseconds())/1e3)
	}
	return us, nil
}
