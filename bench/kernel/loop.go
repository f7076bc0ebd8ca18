package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
)

// loop is the running workload (work/loop.c).
type loop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	cpu int
}

// startLoop starts the workload on the last CPU, since the first handles more interrupts.
func startLoop(path string, cpu int) (*loop, error) {
	l := &loop{cmd: exec.Command(path, strconv.Itoa(cpu)), cpu: cpu}
	l.cmd.Stderr = os.Stderr
	in, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.in, l.out = in, bufio.NewScanner(out)
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the workload: %w", err)
	}
	return l, nil
}

func (l *loop) close() {
	_ = l.in.Close() // the workload ends at the end of its input
	_ = l.cmd.Wait()
}

// gapMicros is the idle time between batches. It is longer than the time after which jalon's reader polls
// its rings.
const gapMicros = 5000

// run runs the loop and returns the ns per call of each batch.
func (l *loop) run(mode string, calls, batches int) ([]float64, error) {
	if _, err := fmt.Fprintf(l.in, "%s %d %d %d\n", mode, calls, batches, gapMicros); err != nil {
		return nil, fmt.Errorf("the workload has ended: %w", err)
	}
	var ns []float64
	for l.out.Scan() {
		text := l.out.Text()
		if text == "end" {
			return ns, nil
		}
		v, ok := strings.CutPrefix(text, "ns ")
		f, err := strconv.ParseFloat(v, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("the workload printed %q", text)
		}
		ns = append(ns, f)
	}
	return nil, fmt.Errorf("the workload ended: %v", l.out.Err())
}

// warmUp returns the number of calls that the workload makes before it measures.
func warmUp(calls int) int { return calls/4 + 1 }

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// quartiles returns the distance between the first and the third quartile.
func quartiles(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return s[len(s)*3/4] - s[len(s)/4]
}
