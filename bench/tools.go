package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// toolDirs are where distributions have the tools of bpftrace.
var toolDirs = []string{"/usr/sbin", "/usr/bin", "/usr/share/bpftrace/tools"}

// tools measures how long it takes until the tools that are installed with bpftrace are armed, in bpftrace and in jalon by turns, and what
// that takes of the processor and of memory. Of most tools nothing is seen when they are armed, so each is run with a program, which both
// start then and which prints the time. A tool that one of the two does not run here is left out: the kernel has no such place, or the tool
// is of another version of the language.
func (b *bench) tools(rounds int, only string) error {
	if _, err := exec.LookPath("bpftrace"); err != nil {
		fmt.Println("start to armed: bpftrace is not installed")
		return nil
	}
	clock, err := exec.LookPath("date") // bpftrace refuses a name that is in two directories of PATH
	if err != nil {
		return err
	}
	fmt.Printf("%-28s %17s %17s %17s\n", "start to armed, medians", "ms", "CPU ms", "memory MB")
	fmt.Printf("%-28s %8s %8s %8s %8s %8s %8s\n", "", "bpftrace", "jalon", "bpftrace", "jalon", "bpftrace", "jalon")
	for _, dir := range toolDirs {
		list, err := filepath.Glob(filepath.Join(dir, "*.bt"))
		if err != nil {
			return err
		}
		for _, file := range list {
			if name := filepath.Base(file); strings.Contains(name, only) {
				if row, err := b.tool(file, clock, rounds); err == nil {
					fmt.Printf("%-28s%s\n", name, row)
				} else {
					fmt.Printf("%-28s %v\n", name, err)
				}
			}
		}
	}
	return nil
}

// tool measures one of them.
func (b *bench) tool(file, clock string, rounds int) (row string, err error) {
	const figures = 3
	var all [figures][2][]float64
	for range rounds {
		for n, command := range [][]string{{"bpftrace"}, {b.jalon, "run"}} {
			got, err := armedTool(append(command, "-o", "/dev/null", "-c", clock+" +%s%N", file))
			if err != nil {
				return "", fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
			}
			for k, v := range got {
				all[k][n] = append(all[k][n], v)
			}
		}
	}
	for k := range all {
		row += fmt.Sprintf(" %8.1f %8.1f", median(all[k][0]), median(all[k][1]))
	}
	return row, nil
}

// armedTool runs a command that starts a program which prints the time: milliseconds until then, milliseconds of CPU, megabytes.
func armedTool(command []string) (got [3]float64, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	var out, errb strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errb
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errb.String()), "\n")
		return got, fmt.Errorf("%w: %s", err, first)
	}
	lines := strings.Fields(out.String())
	i := slices.IndexFunc(lines, func(l string) bool { return len(l) == len("1700000000000000000") })
	if i < 0 {
		return got, fmt.Errorf("the program printed no time: %s", out.String())
	}
	at, err := strconv.ParseInt(lines[i], 10, 64)
	if err != nil {
		return got, err
	}
	cpu, memory := usedBy(cmd)
	return [...]float64{float64(at-begin.UnixNano()) / 1e6, float64(cpu) / 1e6, memory}, nil
}
