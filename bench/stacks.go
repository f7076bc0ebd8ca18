package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// stackRows are hits that collect a stack of 10 frames, and the same without it.
var stackRows = []struct {
	name, mode string
	args       []string
}{
	{"record of an int, --clock none", "site", []string{"arg0", "--clock", "none"}},
	{"stack, --clock none", "site", []string{"$bt", "--clock", "none"}},
	{"record of an int", "site", []string{"arg0"}},
	{"stack", "site", []string{"$bt"}},
	{"stack, --stack copy", "site", []string{"$bt", "--stack", "copy"}},
	{"uprobe: record of an int", "tiny", []string{"arg0"}},
	{"uprobe: stack", "tiny", []string{"$bt"}},
	{"uprobe: stack, --stack copy", "tiny", []string{"$bt", "--stack", "copy"}},
}

// stacks measures what a stack of 10 frames costs: at the hit, in the process and in the kernel, and in the reader.
func (b *bench) stacks(dir string, rounds int, only string) error {
	if !strings.Contains("stacks", only) {
		return nil
	}
	prog := filepath.Join(dir, "stack")
	if out, err := exec.Command("gcc", "-O2", "-g", "-o", prog, "bench/work/stack.c").CombinedOutput(); err != nil {
		return fmt.Errorf("building the program of stacks: %w: %s", err, out)
	}
	ns := make([][]float64, len(stackRows))
	note := make([]string, len(stackRows))
	for range rounds {
		for i, row := range stackRows {
			calls, buffer := 1000, "32M"
			if slices.Contains(row.args, "copy") {
				calls, buffer = 50, "4M" // of 8 KiB each: the ring wraps, so its pages are there
			}
			batch := []string{prog, row.mode, strconv.Itoa(calls), "30", "20"}
			bare, err := times(exec.Command(batch[0], batch[1:]...))
			if err != nil {
				return err
			}
			args := append([]string{"trace", "uprobe:" + prog + ":" + row.mode, "-f", "none", "--buffer", buffer, "--summary-json", "-c"}, row.args...)
			cmd := exec.Command(b.jalon, append(append(args, "--"), batch...)...)
			var out strings.Builder
			cmd.Stdout = &out
			s, err := b.summary(cmd)
			if err != nil || s.Lost > 0 {
				note[i] = fmt.Sprintf("%d of %d lost, %v", s.Lost, s.Hits, err)
				continue
			}
			list, err := nsLines(out.String())
			if err != nil {
				return err
			}
			for _, v := range list {
				ns[i] = append(ns[i], v-slices.Min(bare))
			}
		}
	}
	fmt.Printf("%-44s %9s %9s %9s\n", "ns per hit with a stack of 10 frames", "median", "min", "max")
	for i, row := range stackRows {
		if len(ns[i]) == 0 {
			fmt.Printf("%-44s %9s %9s %9s  %s\n", row.name, "-", "-", "-", note[i])
			continue
		}
		fmt.Printf("%-44s %9.2f %9.2f %9.2f\n", row.name, median(ns[i]), slices.Min(ns[i]), slices.Max(ns[i]))
	}
	fmt.Println()
	return b.stackReaders(prog)
}

// stackReaders measures the reader while a program hits a site as fast as it can.
func (b *bench) stackReaders(prog string) error {
	fmt.Printf("%-44s %12s %12s %9s %9s\n", "the reader at full rate, 3 s", "stacks a s", "a s of CPU", "lost %", "MB")
	for _, row := range []struct{ name, form, format string }{
		{"stack, read only", "walk", "none"},
		{"stack, named (folded)", "walk", "folded"},
		{"stack, as JSON", "walk", "json"},
		{"copied stack, read only", "copy", "none"},
		{"copied stack, named (folded)", "copy", "folded"},
	} {
		p := exec.Command(prog, "site", "1000000", "0")
		if err := p.Start(); err != nil {
			return err
		}
		const seconds = 3
		cmd := exec.Command(b.jalon, "trace", "uprobe:"+prog+":site", "-c", "$bt", "--stack", row.form, "-f", row.format, "-o", "/dev/null",
			"--summary-json", "-d", fmt.Sprint(seconds, "s"), "-p", strconv.Itoa(p.Process.Pid))
		s, err := b.summary(cmd)
		_ = p.Process.Kill()
		_ = p.Wait()
		if err != nil {
			return err
		}
		cpu, memory := usedBy(cmd)
		got := float64(s.Hits - s.Lost)
		fmt.Printf("%-44s %12.0f %12.0f %9.1f %9.0f\n", row.name, got/seconds, got/cpu.Seconds(), 100*float64(s.Lost)/float64(max(1, s.Hits)), memory)
	}
	fmt.Println()
	return nil
}
