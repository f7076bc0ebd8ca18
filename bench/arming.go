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

// armed is a number of functions of sites.S, and how often they are armed.
var armed = []struct{ sites, runs int }{{1, 20}, {100, 20}, {10000, 5}}

// arming measures how long it takes until sites of a running program are armed, and for how long all of its threads are
// stopped for that and for the removal. The program has 4 busy threads. Where processors are fewer, or busy, most of a stop
// is the wait for threads that have none: the smallest figure shows what jalon does.
func (b *bench) arming(dir, only string) error {
	if !strings.Contains("arming and pause", only) {
		return nil
	}
	prog := filepath.Join(dir, "armed")
	if out, err := exec.Command("gcc", "-O2", "-g", "-pthread", "-o", prog, "bench/work/sites.c", "bench/work/sites.S").CombinedOutput(); err != nil {
		return fmt.Errorf("building the program of many sites: %w: %s", err, out)
	}
	target := exec.Command(prog, "10000", "4", "1000000")
	if err := target.Start(); err != nil {
		return err
	}
	defer func() { _ = target.Process.Kill(); _ = target.Wait() }()
	time.Sleep(100 * time.Millisecond) // lets its threads start; only makes the figures more typical
	fmt.Printf("%-28s %17s %9s %17s %17s\n", "arming, 4 busy threads, ms", "start to armed", "CPU", "pause to arm", "to remove")
	fmt.Printf("%-28s %8s %8s %9s %8s %8s %8s %8s\n", "", "min", "median", "median", "min", "median", "min", "median")
	for _, c := range armed {
		var ms, cpu, arm, remove []float64
		for range c.runs {
			args := tracedSites(prog, c.sites, nil)
			args = append(args[:slices.Index(args, "--")], "--summary-json", "-d", "1ms", "-p", strconv.Itoa(target.Process.Pid))
			cmd := exec.Command(b.jalon, args...)
			s, err := b.summary(cmd)
			if err != nil {
				return err
			}
			if s.Sites != c.sites {
				return fmt.Errorf("%d sites of %d", s.Sites, c.sites)
			}
			used, _ := usedBy(cmd)
			cpu = append(cpu, float64(used)/1e6)
			ms, arm, remove = append(ms, s.ArmedMS), append(arm, s.ArmUS/1000), append(remove, (s.PauseUS-s.ArmUS)/1000)
		}
		fmt.Printf("%-28s %8.1f %8.1f %9.1f %8.2f %8.2f %8.2f %8.2f\n", strconv.Itoa(c.sites)+" sites",
			slices.Min(ms), median(ms), median(cpu), slices.Min(arm), median(arm), slices.Min(remove), median(remove))
	}
	fmt.Println()
	return nil
}
