package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// lttngSocket is the socket of root's session daemon.
const lttngSocket = "/var/run/lttng/client-lttng-sessiond"

// lttng measures LTTng-UST's static tracepoint in the same function. It starts its own session daemon,
// which ends with the row.
func (b *bench) lttng(filter string) ([]float64, error) {
	for _, p := range []string{"lttng", "lttng-sessiond"} {
		if _, err := exec.LookPath(p); err != nil {
			return nil, fmt.Errorf("%s is not installed", p)
		}
	}
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("measured as root only")
	}
	if _, err := os.Stat(lttngSocket); err == nil {
		return nil, fmt.Errorf("a session daemon is running already")
	}
	prog := b.work + "-lttng"
	build := exec.Command("gcc", "-O2", "-g", "-DLTTNG", "-I.", "-pthread", "-o", prog, "work.c", "function.c", "limit.S", "lttng-tp.c", "-llttng-ust", "-ldl")
	build.Dir = "bench/work"
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("no LTTng-UST headers: %w: %.80s", err, out)
	}
	home := filepath.Join(filepath.Dir(b.work), "lttng-home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	env := append(os.Environ(), "HOME="+home, "LTTNG_HOME="+home, "LTTNG_UST_REGISTER_TIMEOUT=-1")
	daemon := exec.Command("lttng-sessiond", "--no-kernel")
	daemon.Env = env
	if err := daemon.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = daemon.Process.Signal(os.Interrupt); _ = daemon.Wait() }()
	for i := 0; ; i++ {
		if _, err := os.Stat(lttngSocket); err == nil {
			break
		}
		if i == 100 {
			return nil, fmt.Errorf("the session daemon did not start")
		}
		time.Sleep(50 * time.Millisecond) // only its socket can be observed
	}
	event := []string{"enable-event", "-u", "-c", "ch", "jalonbench:hit"}
	if filter != "" {
		event = append(event, "--filter", filter)
	}
	for _, args := range [][]string{
		{"create", "s", "--output=" + filepath.Join(home, "trace")},
		{"enable-channel", "-u", "ch", "--discard", "--subbuf-size=" + strconv.Itoa(8<<20), "--num-subbuf=8"},
		event,
		{"start"},
	} {
		c := exec.Command("lttng", append([]string{"-q"}, args...)...)
		c.Env = env
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("lttng %s: %w: %s", args[0], err, out)
		}
	}
	run := exec.Command(prog, "bare", strconv.Itoa(b.n), strconv.Itoa(b.reps), "10")
	run.Env = env
	ns, err := times(run)
	stop := exec.Command("lttng", "-q", "destroy", "s")
	stop.Env = env
	_ = stop.Run() // the daemon ends anyway
	return ns, err
}
