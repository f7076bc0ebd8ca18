package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// markerRows are tables 1 and 2 of the LTTng paper: a static marker that is off, with the caches warm and with
// the lines of code and data flushed before each call.
func markerRows() []*measured {
	var rows []*measured
	for _, m := range []struct{ name, variant string }{
		{"USDT marker of jalon, off", "usdt"},
		{"USDT marker with a semaphore, off", "semaphore"},
		{"LTTng-UST tracepoint, off", "lttng"},
	} {
		for _, mode := range []string{"cached", "uncached"} {
			rows = append(rows, &measured{
				name: m.name + ", " + mode, base: "marker " + mode,
				run: func(b *bench) ([]float64, error) { return b.marker(m.variant, mode) },
			})
		}
	}
	return rows
}

var markerFlags = map[string][]string{
	"": nil, "usdt": {"-DUSDT_PROBE"}, "semaphore": {"-DSEMAPHORE"}, "lttng": {"-DLTTNG", "-I.", "lttng-tp.c", "-llttng-ust", "-ldl"},
}

// marker runs the variant of the program; "" has no marker.
func (b *bench) marker(variant, mode string) ([]float64, error) {
	prog := b.work + "-marker" + variant
	if _, err := os.Stat(prog); err != nil {
		cmd := exec.Command("gcc", append([]string{"-O2", "-g", "-o", prog, "marker.c"}, markerFlags[variant]...)...)
		cmd.Dir = "bench/work"
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building it: %w: %.80s", err, out)
		}
	}
	n := 2_000_000
	if mode == "uncached" {
		n = 5000
	}
	cmd := exec.Command(prog, mode, strconv.Itoa(n), strconv.Itoa(b.reps))
	cmd.Env = append(os.Environ(), "LTTNG_UST_REGISTER_TIMEOUT=0")
	return times(cmd)
}

// bare runs a workload without a tracer: a mode of work, calls or marker.
func (b *bench) bare(base string) ([]float64, error) {
	prog, mode, other := strings.Cut(base, " ")
	switch {
	case !other:
		return b.limit(base)
	case prog == "marker":
		return b.marker("", mode)
	}
	path, err := b.calls()
	if err != nil {
		return nil, err
	}
	return times(exec.Command(path, mode, strconv.Itoa(b.n), strconv.Itoa(b.reps)))
}
