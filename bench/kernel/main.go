// Command kernel measures the cost of a hit in the kernel engine. It calls a cheap system call, or a small
// function, in a loop: with nothing attached, with an empty program, under jalon, under bpftrace, and with
// ftrace's binary recording. The tables are those of the paper (gdb-kgtp, 4: tables 2, 5, 6 and 7).
//
// One process runs the loop all the time. A case is measured between two measurements of the bare loop,
// which are subtracted. Cases alternate, rounds repeat, and figures are medians. It needs root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"

	"golang.org/x/sys/unix"
)

// bench is the state of all measurements.
type bench struct {
	jalon, dir string
	loopPath   string
	loop       *loop
	calls      int                // of a batch
	batches    int                // of a case in a round
	least      map[string]float64 // ns of the bare loop, by its mode: the lowest median
	guest      bool               // running in a guest: measure kprobes, fentry
	out        io.Writer
	figures    string // file for the figures; "": none
}

func main() {
	b := &bench{out: os.Stdout}
	flag.StringVar(&b.jalon, "jalon", "bin/jalon", "the jalon binary")
	rounds := flag.Int("rounds", 5, "rounds")
	flag.IntVar(&b.calls, "calls", 1000, "calls in a batch")
	flag.IntVar(&b.batches, "batches", 15, "batches of a case in a round")
	flag.StringVar(&b.figures, "figures", "", "write the figures to this file, as JSON")
	only := flag.String("only", "", "run only the cases whose names match this regular expression")
	flag.Parse()
	if err := b.run(*rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench/kernel:", err)
		os.Exit(1)
	}
}

func (b *bench) run(rounds int, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	unlock, err := exclusive()
	if err != nil {
		return err
	}
	defer unlock()
	b.least = map[string]float64{}
	if b.jalon, err = filepath.Abs(b.jalon); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "jalon-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.loopPath == "" {
		b.loopPath = filepath.Join(b.dir, "loop")
		out, err := exec.Command("gcc", "-O2", "-g", "-fcf-protection=none", "-o", b.loopPath, "bench/kernel/work/loop.c").CombinedOutput()
		if err != nil {
			return fmt.Errorf("building the workload: %w\n%s", err, out)
		}
	}
	if b.loop, err = startLoop(b.loopPath, runtime.NumCPU()-1); err != nil {
		return err
	}
	defer b.loop.close()
	fmt.Fprintln(b.out, heading())
	hits := pick(b.cases(), match)
	gates := pick(b.gateCases(), match)
	// When interrupted, it stops the current tracer before it ends.
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	for r := range rounds {
		for _, c := range append(append([]*testCase{}, hits...), gates...) {
			b.progress("round %d of %d: %s", r+1, rounds, c.name())
			b.measure(c)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
		}
	}
	b.progress("")
	b.printTables(hits, gates)
	if err := b.writeFigures(append(hits, gates...)); err != nil {
		return err
	}
	if match.MatchString("startup") {
		return b.startup()
	}
	return nil
}

// exclusive waits until no other benchmark of this kind runs, since each would measure the tracers of the
// other.
func exclusive() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "jalon-bench-kernel.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		fmt.Fprintln(os.Stderr, "waiting for another bench-kernel to end")
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			return nil, err
		}
	}
	return func() { f.Close() }, nil
}

// progress shows the current step on a terminal.
func (b *bench) progress(format string, args ...any) {
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r%-100.100s\r", fmt.Sprintf(format, args...))
	}
}

func pick(all []*testCase, match *regexp.Regexp) []*testCase {
	var out []*testCase
	for _, c := range all {
		if match.MatchString(c.name()) {
			out = append(out, c)
		}
	}
	return out
}
