// Command bench measures the cost of a hit: the paper's workload alone, with hand-written trampolines (the
// limit), under jalon, and under other tracers if they are installed. Everything is measured in the same
// run, round by round, so that a disturbance affects all alike; figures are medians.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jalon-trace/jalon/bench/figure"
)

// measured is one row of the table.
type measured struct {
	name string
	base string                            // mode of the bare loop; "": bare
	run  func(b *bench) ([]float64, error) // ns per call of each batch
	ns   []float64                         // of all rounds, bare loop subtracted
	note string
}

type bench struct {
	jalon, work string
	n, reps     int
	papers      bool
	scripts     bool
	figures     string // file for the figures; "": none
}

func main() {
	jalon := flag.String("jalon", "bin/jalon", "the jalon binary")
	rounds := flag.Int("rounds", 5, "rounds")
	only := flag.String("only", "", "run only rows and figures whose name contains this")
	gdb := flag.Bool("gdb", false, "measure tracepoints that GDB sets")
	scripts := flag.Bool("scripts", false, "measure maps of scripts in the kernel, and how long tools take to be armed, of bpftrace and jalon; as root")
	papers := flag.Bool("papers", false, "measure also what the papers' tables have: tools that stop at calls, markers that are off")
	figures := flag.String("figures", "", "write the figures to this file, as JSON")
	column := flag.String("column", "", "with -gdb: measure only columns whose name contains this")
	flag.Parse()
	if err := run(*jalon, *rounds, *only, *gdb, *papers, *scripts, *column, *figures); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(jalon string, rounds int, only string, gdb, papers, scripts bool, column, figures string) error {
	dir, err := os.MkdirTemp("", "jalon-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	abs, err := filepath.Abs(jalon)
	if err != nil {
		return err
	}
	b := &bench{jalon: abs, work: filepath.Join(dir, "work"), n: 100000, reps: 9, papers: papers, scripts: scripts, figures: figures}
	if _, err := b.workload(""); err != nil {
		return err
	}
	if gdb {
		return b.gdbTables(rounds, only, column)
	}
	if err := b.hits(rounds, only); err != nil || papers {
		return err
	}
	if scripts {
		return b.tools(rounds, only)
	}
	if err := b.manySites(dir, rounds, only); err != nil {
		return err
	}
	if err := b.stacks(dir, rounds, only); err != nil {
		return err
	}
	if err := b.pairs(rounds, only); err != nil {
		return err
	}
	if err := b.startup(dir, only); err != nil {
		return err
	}
	if err := b.arming(dir, only); err != nil {
		return err
	}
	return b.enabling(dir, only)
}

// hits measures the cost of a hit, case by case.
func (b *bench) hits(rounds int, only string) error {
	rows := b.rows(only)
	for r := 0; r < rounds; r++ {
		for _, row := range rows {
			mode := "bare"
			if row.base != "" {
				mode = row.base
			}
			base, err := b.bare(mode)
			if err != nil {
				return err
			}
			ns, err := row.run(b)
			if err != nil {
				row.note = err.Error()
				continue
			}
			for _, v := range ns {
				row.ns = append(row.ns, v-median(base))
			}
		}
	}
	printHits(rows)
	return b.writeHits(rows)
}

// writeHits writes the figures to the file that was asked for.
func (b *bench) writeHits(rows []*measured) error {
	if b.figures == "" {
		return nil
	}
	f := &figure.File{Machine: figure.Machine(), Unit: "ns"}
	for _, r := range rows {
		f.Figures = append(f.Figures, figure.Of("hits", r.name, "", r.ns, r.note))
	}
	return figure.Write(b.figures, f)
}

func printHits(rows []*measured) {
	fmt.Printf("%-44s %9s %9s %9s  %s\n", "ns per hit (bare loop subtracted)", "median", "min", "max", "")
	by := map[string]float64{}
	for _, r := range rows {
		if len(r.ns) == 0 {
			fmt.Printf("%-44s %9s %9s %9s  %s\n", r.name, "-", "-", "-", r.note)
			continue
		}
		sort.Float64s(r.ns)
		m := median(r.ns)
		by[r.name] = m
		ratio := ""
		if c, ok := strings.CutPrefix(r.name, "jalon: "); ok {
			if l := by["limit: "+c]; l > 0 {
				ratio = fmt.Sprintf("%.2f x limit", m/l)
			}
		}
		fmt.Printf("%-44s %9.2f %9.2f %9.2f  %s\n", r.name, m, r.ns[0], r.ns[len(r.ns)-1], ratio)
	}
	fmt.Println()
}

const (
	falseCond = "2*counter1+3*counter2<0"
	trueCond  = "2*counter1+3*counter2>0"
	collect   = "counter1, counter2"
)

func (b *bench) rows(only string) []*measured {
	all := []*measured{
		{name: "limit: false condition, nothing counted", run: func(b *bench) ([]float64, error) { return b.limit("nocount") }},
		{name: "limit: false condition", run: func(b *bench) ([]float64, error) { return b.limit("false") }},
		{name: "limit: record of two ints", run: func(b *bench) ([]float64, error) { return b.limit("record") }},
		{name: "limit: true condition and record", run: func(b *bench) ([]float64, error) { return b.limit("both") }},
		{name: "limit: record of two ints, --clock none", run: func(b *bench) ([]float64, error) { return b.limit("untimed") }},
		{name: "jalon: false condition", run: func(b *bench) ([]float64, error) { return b.trace("bare", "test_function if "+falseCond) }},
		{name: "jalon: record of two ints", run: func(b *bench) ([]float64, error) { return b.trace("bare", "test_function") }},
		{name: "jalon: true condition and record", run: func(b *bench) ([]float64, error) { return b.trace("bare", "test_function if "+trueCond) }},
		{name: "jalon: false condition, punned jump", run: func(b *bench) ([]float64, error) {
			return b.trace("bare", "test_function+6 if "+falseCond, "--avoid", "3") // a short instruction
		}},
		{name: "jalon: false condition, 2 guarded loads", base: "pointer", run: func(b *bench) ([]float64, error) {
			return b.trace("pointer", "test_pointer if 2*p->counter1+3*p->counter2<0")
		}},
		{name: "jalon: record of two ints, --clock coarse", run: func(b *bench) ([]float64, error) { return b.trace("bare", "test_function", "--clock", "coarse") }},
		{name: "jalon: record of two ints, --clock none", run: func(b *bench) ([]float64, error) { return b.trace("bare", "test_function", "--clock", "none") }},
		{name: "jalon: armed but disabled", run: func(b *bench) ([]float64, error) { return b.disabled() }},
		{name: "jalon: the ring is full", run: func(b *bench) ([]float64, error) { return b.full() }},
	}
	all = append(all, peers()...)
	if b.scripts {
		all = scriptRows()
	} else if b.papers {
		all = append(append(all, observerRows()...), markerRows()...)
	}
	var rows []*measured
	for _, r := range all {
		if strings.Contains(r.name, only) {
			rows = append(rows, r)
		}
	}
	return rows
}

// limit runs the workload without a tracer.
func (b *bench) limit(mode string) ([]float64, error) {
	return times(exec.Command(b.work, mode, strconv.Itoa(b.n), strconv.Itoa(b.reps), "10"))
}

// trace runs the workload under jalon; events are drained and counted, not printed.
func (b *bench) trace(mode, place string, options ...string) ([]float64, error) {
	list := collect
	if mode == "pointer" {
		list = "p->counter1, p->counter2"
	}
	return b.traced(mode, place, list, options...)
}

// traced is trace with a list of what to collect.
func (b *bench) traced(mode, place, list string, options ...string) ([]float64, error) {
	// Half of the buffer is for threads without restartable sequences: the rings are as large as the limit's.
	args := append([]string{"trace", place, "--collect", list, "--buffer", "16M", "-f", "none", "--summary-json"}, options...)
	for gap := 10; ; gap *= 4 {
		cmd := exec.Command(b.jalon, append(slices.Clone(args), "--", b.work, mode, strconv.Itoa(b.n), strconv.Itoa(b.reps), strconv.Itoa(gap))...)
		var out strings.Builder
		cmd.Stdout = &out
		s, err := b.summary(cmd)
		if err != nil {
			return nil, err
		}
		if s.Lost == 0 {
			return nsLines(out.String())
		}
		// A hit that finds the ring full is another measurement. On a busy machine the reader needs longer.
		if gap > 500 {
			return nil, fmt.Errorf("%d of %d records were lost", s.Lost, s.Hits)
		}
	}
}

// times runs cmd and reads its "ns" lines.
func times(cmd *exec.Cmd) ([]float64, error) {
	var errb strings.Builder
	cmd.Stderr = &errb
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, errb.String())
	}
	ns, err := nsLines(string(out))
	if err == nil && len(ns) == 0 {
		err = fmt.Errorf("%s printed no times", cmd.Args[0])
	}
	return ns, err
}

// nsLines reads the "ns" lines of the workload's output.
func nsLines(out string) ([]float64, error) {
	var ns []float64
	for _, l := range strings.Split(out, "\n") {
		if v, ok := strings.CutPrefix(l, "ns "); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, err
			}
			ns = append(ns, f)
		}
	}
	return ns, nil
}

// usedBy is the time that processors spent on a command that has ended, and the most memory that it had, in megabytes.
func usedBy(cmd *exec.Cmd) (cpu time.Duration, memory float64) {
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), float64(use.Maxrss) / 1024
}

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return s[len(s)/2]
}
