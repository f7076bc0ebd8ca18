package bpf

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
)

// KprobeWay is how the kernel comes from an instruction to its kprobe.
type KprobeWay uint8

// The ways, from the slowest to the fastest.
const (
	UnknownWay KprobeWay = iota
	ByBreakpoint
	ByJump   // "optimised": some time after arming a jump replaces the breakpoint
	ByFtrace // the instruction is the one that ftrace changes into a call
)

func (w KprobeWay) String() string {
	return [...]string{"", "a breakpoint", "a jump", "ftrace"}[w]
}

// Files of the kernel about kprobes.
const (
	kprobesList         = "/sys/kernel/debug/kprobes/list"
	kprobesOptimization = "/proc/sys/debug/kprobes-optimization"
)

// KprobeWays are the ways of all kprobes of the kernel, by their addresses. The list is in debugfs, for root.
func KprobeWays() (map[uint64]KprobeWay, error) {
	f, err := os.Open(kprobesList)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseKprobes(f)
}

// parseKprobes reads lines such as "ffffffff81a3e5d4  k  vfs_read+0x4    [FTRACE]". Of several probes at an address
// the list has a line for each, with the same way. Returns (r) are left out: they are at the entry.
func parseKprobes(r io.Reader) (map[uint64]KprobeWay, error) {
	ways := map[uint64]KprobeWay{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || fields[1] != "k" {
			continue
		}
		addr, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil || addr == 0 {
			continue
		}
		way := ByBreakpoint
		for _, f := range fields[3:] {
			switch f {
			case "[OPTIMIZED]":
				way = ByJump
			case "[FTRACE]":
				way = ByFtrace
			case "[DISABLED]", "[GONE]":
				way = UnknownWay
			}
			if way != ByBreakpoint {
				break
			}
		}
		ways[addr] = max(ways[addr], way)
	}
	return ways, lines.Err()
}

// HasKprobes reports whether the kernel has them.
func HasKprobes() bool {
	_, ok := eventSource("kprobe")
	return ok
}

// KprobesOptimised reports whether the kernel replaces breakpoints of kprobes by jumps; known is false where it does not say.
func KprobesOptimised() (on, known bool) {
	b, err := os.ReadFile(kprobesOptimization)
	return strings.TrimSpace(string(b)) != "0", err == nil
}
