// Command record measures recording to a file: events of two ints from two threads by jalon record, LTTng-UST and perf, in the same
// run, round by round. For each: events a second that reach the disk, those that were lost, the CPU time of the consumer, how much
// longer the program takes. Then a trace is read by jalon and babeltrace2. Figures are medians.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/bench/figure"
)

// row is a way to record.
type row struct {
	name   string
	rate   int // events a second that the program makes; 0: as many as it can
	events int
	run    func(b *bench, r *row) (outcome, error)
	got    []outcome
	err    error
}

// outcome is one measurement.
type outcome struct {
	took     time.Duration // of the program
	recorded uint64
	lost     uint64
	cpu      time.Duration // of the consumer while the program ran
	bytes    int64
}

type bench struct {
	jalon, dir string
	threads    int
	events     int
}

func main() {
	jalon := flag.String("jalon", "bin/jalon", "the jalon binary")
	rounds := flag.Int("rounds", 3, "rounds")
	events := flag.Int("events", 20000000, "events of a measurement")
	threads := flag.Int("threads", 2, "threads of the program")
	dir := flag.String("dir", "", "where traces are written (default: the directory of temporary files)")
	flag.Parse()
	if err := run(*jalon, *dir, *rounds, *events, *threads); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(jalon, dir string, rounds, events, threads int) error {
	dir, err := os.MkdirTemp(dir, "jalon-bench-record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	abs, err := filepath.Abs(jalon)
	if err != nil {
		return err
	}
	b := &bench{jalon: abs, dir: dir, threads: threads, events: events}
	if err := b.compile("two"); err != nil {
		return err
	}
	const steady = 10000000
	rows := []*row{
		{name: "the program alone", run: (*bench).alone},
		{name: "jalon trace --overwrite (memory only)", run: (*bench).memory},
		{name: "jalon record", run: jalonRecord()},
		{name: "jalon record --on-full wait", run: jalonRecord("--on-full", "wait")},
		{name: "jalon record, 10 M events/s", rate: steady, run: jalonRecord("--buffer", "16M")},
		{name: "LTTng-UST", run: lttng()},
		{name: "LTTng-UST, blocking", run: lttng("--blocking-timeout=inf")},
		{name: "perf record (uprobe)", events: events / 100, run: (*bench).perf},
	}
	for range rounds {
		for _, r := range rows {
			if r.err != nil {
				continue
			}
			if r.events == 0 {
				r.events = events
			}
			x, err := r.run(b, r)
			if r.err = err; err == nil {
				r.got = append(r.got, x)
			}
		}
	}
	report(rows, threads)
	if err := b.reading(rounds, events/2); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if rows[0].err != nil {
		return rows[0].err
	}
	return rows[3].err
}

func (b *bench) compile(name string, flags ...string) error {
	args := append([]string{"-O2", "-g", "-pthread", "-o", filepath.Join(b.dir, name), "two.c"}, flags...)
	cmd := exec.Command("gcc", args...)
	cmd.Dir = "bench/record/work"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gcc: %w: %.200s", err, out)
	}
	return nil
}

// args are the arguments of the program.
func (b *bench) args(r *row) []string {
	return []string{strconv.Itoa(r.events), strconv.Itoa(b.threads), strconv.Itoa(r.rate)}
}

// program is the program, which waits until its standard input is closed.
type program struct {
	cmd *exec.Cmd
	in  *os.File
	out strings.Builder
}

func (b *bench) start(name string, r *row, env ...string) (*program, error) {
	p := &program{cmd: exec.Command(filepath.Join(b.dir, name), b.args(r)...)}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.in, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Env = out, in, &p.out, append(os.Environ(), env...)
	err = p.cmd.Start()
	_ = in.Close()
	return p, err
}

// measure lets the program run, and returns its time and the CPU time that the consumers have taken meanwhile.
func (p *program) measure(consumers ...int) (x outcome, err error) {
	before := cpuTime(consumers)
	_ = p.in.Close()
	err = p.cmd.Wait()
	x.cpu = cpuTime(consumers) - before
	if err != nil {
		return x, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(p.out.String()), 10, 64)
	x.took = time.Duration(ns)
	return x, err
}

// cpuTime is what processes have taken so far.
func cpuTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		const ticks = time.Second / 100 // USER_HZ
		for _, s := range f[11:13] {
			n, _ := strconv.Atoi(s)
			sum += time.Duration(n) * ticks
		}
	}
	return sum
}

// size is how many bytes a directory has.
func size(dir string) (n int64) {
	_ = filepath.Walk(dir, func(_ string, st os.FileInfo, err error) error {
		if err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
		return nil
	})
	return n
}

func report(rows []*row, threads int) {
	fmt.Printf("two ints from %d threads to a file; %s\n\n", threads, figure.Machine())
	fmt.Printf("%-40s %12s %12s %10s %14s %12s %10s\n", "", "M events/s", "lost", "slowdown", "consumer CPU", "ns an event", "bytes")
	alone := median(rows[0].got, func(x outcome) float64 { return x.took.Seconds() })
	best := map[string]float64{}
	for _, r := range rows {
		if r.err != nil {
			fmt.Printf("%-40s not measured: %v\n", r.name, r.err)
			continue
		}
		of := func(f func(outcome) float64) float64 { return median(r.got, f) }
		took := of(func(x outcome) float64 { return x.took.Seconds() })
		speed := of(func(x outcome) float64 { return float64(x.recorded) / x.took.Seconds() / 1e6 })
		lost := of(func(x outcome) float64 { return float64(x.lost) / float64(x.lost+x.recorded+1) })
		share := of(func(x outcome) float64 { return x.cpu.Seconds() / x.took.Seconds() })
		each := of(func(x outcome) float64 { return float64(x.cpu) / float64(max(x.recorded, 1)) })
		bytes := of(func(x outcome) float64 { return float64(x.bytes) / float64(max(x.recorded, 1)) })
		slow := fmt.Sprintf("%.1f", took/alone*float64(rows[0].events)/float64(r.events))
		if r.rate > 0 {
			slow = "-"
		}
		fmt.Printf("%-40s %12.2f %11.2f%% %10s %13.0f%% %12.1f %10.1f\n", r.name, speed, 100*lost, slow, 100*share, each, bytes)
		best[r.name] = speed
	}
	if a, b := best["jalon record --on-full wait"], max(best["LTTng-UST"], best["LTTng-UST, blocking"]); a > 0 && b > 0 {
		fmt.Printf("\njalon records %.1f times as many events a second as LTTng-UST, with none lost\n", a/b)
	}
}

func median[T any](list []T, f func(T) float64) float64 {
	var v []float64
	for _, x := range list {
		v = append(v, f(x))
	}
	slices.Sort(v)
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}
