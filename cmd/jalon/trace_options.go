package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The texts of options, and what they set.

// clocks are the values of --clock.
var clocks = map[string]jalon.Clock{"tsc": jalon.TSC, "coarse": jalon.Coarse, "none": jalon.NoClock}

func (c *traceCmd) options(tps []jalon.Tracepoint) (jalon.Options, error) {
	if err := c.checkNumbers(); err != nil {
		return jalon.Options{}, err
	}
	stack, err := parseStack(c.Stack)
	if err != nil {
		return jalon.Options{}, usageError("--stack: " + err.Error())
	}
	wait, overwrite, err := parseOnFull(c.OnFull)
	if err != nil {
		return jalon.Options{}, err
	}
	c.Overwrite = c.Overwrite || overwrite
	most := maxSize
	if c.Overwrite {
		most = ring.MaxOverwrite
	}
	buffer, err := sizeOf("--buffer", c.Buffer, most)
	if err != nil {
		return jalon.Options{}, err
	}
	opt := jalon.Options{
		Wait:        wait,
		Tracepoints: tps, Buffer: buffer, StringLimit: c.Strlen, Elements: c.Elements, StackFrames: stack.frames, StackLimit: stack.bytes, FramePointers: stack.pointers,
		MaxEvents: c.Max, DebugDirs: c.Debug, Pending: c.Pending, Duration: c.Duration, Warn: c.warn,
		Kernel:    jalon.KernelOptions{Places: c.All || c.Engine == "kernel", All: c.All, Vmlinux: c.Vmlinux, Cost: c.Cost, Force: c.Force},
		InProcess: c.Engine == "process", Overwrite: c.Overwrite, Clock: clocks[c.Clock],
		Debug: jalon.Debug{NoOptimise: c.NoOpt, Avoid: c.Avoid, Started: started, OnPanic: bug},
	}
	if c.Cgroup != "" {
		if opt.Kernel.Cgroup, err = cgroupID(c.Cgroup); err != nil {
			return jalon.Options{}, fmt.Errorf("--cgroup %w", err)
		}
	}
	if c.Verbose {
		opt.Log = func(m string) { fmt.Fprintln(stderr, "jalon:", m) }
	}
	show := func(place, text string) { fmt.Fprintf(stderr, "%s\n%s\n", place, text) }
	if c.DumpIR {
		opt.Debug.IR = show
	}
	if c.DumpCode {
		opt.Debug.Code = show
	}
	return opt, nil
}

// defaultWait is how long a hit waits for room with --on-full wait.
const defaultWait = time.Second

// parseOnFull parses --on-full.
func parseOnFull(text string) (wait time.Duration, overwrite bool, err error) {
	what, limit, timed := strings.Cut(text, ":")
	switch {
	case what == "drop" && !timed:
		return 0, false, nil
	case what == "overwrite" && !timed:
		return 0, true, nil
	case what == "wait" && !timed:
		return defaultWait, false, nil
	case what == "wait":
		if wait, err = time.ParseDuration(limit); err == nil && (wait < jalon.MinWait || wait > jalon.MaxWait) {
			return 0, false, usageError(fmt.Sprintf("--on-full %s: hits may wait for room for %v to %v", text, jalon.MinWait, jalon.MaxWait))
		}
		if err == nil {
			return wait, false, nil
		}
	}
	return 0, false, usageError(fmt.Sprintf("--on-full %s: it is drop, overwrite, wait, or wait:TIME (wait:5s)", text))
}

// cgroupID returns the kernel's number of a cgroup, which is the inode of its directory.
func cgroupID(dir string) (uint64, error) {
	if !strings.HasPrefix(dir, "/") {
		dir = filepath.Join("/sys/fs/cgroup", dir)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, fmt.Errorf("%s: %w; name a directory below where cgroup2 is mounted, as /proc/PID/cgroup shows it after 0::", dir, err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return 0, fmt.Errorf("%s: not a directory of cgroup2 (mount -t cgroup2 shows where it is mounted)", dir)
	}
	return st.Ino, nil
}

// stackForm is a form of --stack: how many frames are followed at the hit, or -1 and how many bytes are copied.
type stackForm struct {
	frames, bytes int
	pointers      bool // of frames, for $ubt
}

func parseStack(s string) (f stackForm, err error) {
	form, number, has := strings.Cut(s, ":")
	if n, err := strconv.Atoi(form); err == nil && !has && n > 0 {
		return stackForm{frames: -1, bytes: n}, nil // as before there were forms
	}
	n := 0
	if has {
		if n, err = parseSize(number, maxSize); err != nil {
			return f, err
		}
	}
	switch {
	case form == "copy":
		return stackForm{frames: -1, bytes: n}, nil
	case (form == "walk" || form == "fp") && n > maxFrames:
		return f, fmt.Errorf("%d frames are more than %d", n, maxFrames)
	case form == "walk":
		return stackForm{frames: n}, nil
	case form == "fp":
		return stackForm{frames: n, bytes: 8 * n, pointers: true}, nil
	}
	return f, fmt.Errorf("%q is none of walk[:FRAMES], copy[:BYTES] and fp[:FRAMES]", s)
}

// maxFrames is the largest number of frames of --stack walk.
const maxFrames = 1024

// checkNumbers refuses numbers that mean nothing.
func (c *traceCmd) checkNumbers() error {
	switch {
	case c.Duration < 0:
		return notPositive("--duration", c.Duration)
	case c.Strlen <= 0:
		return notPositive("--strlen", c.Strlen)
	case c.Elements <= 0:
		return notPositive("--elements", c.Elements)
	}
	return nil
}

func notPositive(flag string, n any) error {
	return usageError(fmt.Sprintf("%s %v: it must be more than 0", flag, n))
}

// maxSize is the largest buffer of a CPU.
const maxSize = 1 << 30

// sizeOf is the size that a flag gives, in bytes.
func sizeOf(flag, text string, most int) (int, error) {
	n, err := parseSize(text, most)
	if err != nil {
		return 0, usageError(flag + ": " + err.Error())
	}
	return n, nil
}

var sizeUnits = []struct {
	suffix string
	n      int
}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"k", 1 << 10}, {"K", 1 << 10}}

func parseSize(s string, most int) (int, error) {
	number, unit := s, 1
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = n, u.n
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n <= 0 || n > most/unit {
		return 0, fmt.Errorf("%q is not a size between 1 and %s", s, sizeText(most))
	}
	return n * unit, nil
}

// sizeText writes a size as parseSize reads it.
func sizeText(n int) string {
	for _, u := range sizeUnits {
		if n%u.n == 0 {
			return strconv.Itoa(n/u.n) + u.suffix
		}
	}
	return strconv.Itoa(n)
}
