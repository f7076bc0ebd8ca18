package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func (b *bench) alone(r *row) (outcome, error) {
	p, err := b.start("two", r)
	if err != nil {
		return outcome{}, err
	}
	x, err := p.measure()
	x.recorded = uint64(r.events)
	return x, err
}

// attach starts jalon for a program that waits, and returns when its places are armed.
func (b *bench) attach(p *program, args ...string) (*exec.Cmd, *strings.Builder, error) {
	cmd := exec.Command(b.jalon, append(args, "-v", "--summary-json", "-p", strconv.Itoa(p.cmd.Process.Pid))...)
	log, err := os.CreateTemp(b.dir, "log")
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	defer func() { _ = os.Remove(log.Name()) }()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	text := &strings.Builder{}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		read, err := os.ReadFile(log.Name())
		if err != nil {
			return nil, nil, err
		}
		if strings.Contains(string(read), "armed after") {
			text.WriteString(log.Name())
			return cmd, text, os.Rename(log.Name(), log.Name()+".log")
		}
		if time.Now().After(deadline) {
			return nil, nil, fmt.Errorf("jalon did not begin: %s", read)
		}
	}
}

// traced runs the program under jalon, to jalon's end.
func (b *bench) traced(r *row, args ...string) (x outcome, err error) {
	p, err := b.start("two", r)
	if err != nil {
		return x, err
	}
	defer func() { _ = p.in.Close() }()
	cmd, log, err := b.attach(p, args...)
	if err != nil {
		return x, err
	}
	if x, err = p.measure(cmd.Process.Pid); err != nil {
		return x, err
	}
	err = cmd.Wait()
	text, rerr := os.ReadFile(log.String() + ".log")
	if err != nil || rerr != nil {
		return x, fmt.Errorf("%w %w: %s", err, rerr, text)
	}
	return x, readSummary(string(text), &x)
}

// readSummary reads what --summary-json prints.
func readSummary(text string, x *outcome) error {
	for line := range strings.Lines(text) {
		var s struct{ Recorded, Lost, Replaced uint64 }
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &s) == nil {
			x.recorded, x.lost = s.Recorded+s.Replaced, s.Lost
			return nil
		}
	}
	return fmt.Errorf("jalon printed no summary: %s", text)
}

func (b *bench) memory(r *row) (outcome, error) {
	return b.traced(r, "trace", "--overwrite", "-f", "none", "hit", "-c", "a, b")
}

func jalonRecord(flags ...string) func(b *bench, r *row) (outcome, error) {
	return func(b *bench, r *row) (outcome, error) {
		dir := filepath.Join(b.dir, "run")
		defer os.RemoveAll(dir)
		x, err := b.traced(r, append(append([]string{"record", "-o", dir}, flags...), "hit", "-c", "a, b")...)
		x.bytes = size(dir)
		return x, err
	}
}

// perf records a uprobe, which stops the thread in the kernel at each hit.
func (b *bench) perf(r *row) (x outcome, err error) {
	if os.Getuid() != 0 {
		return x, fmt.Errorf("measured as root only")
	}
	file := filepath.Join(b.dir, "perf.data")
	defer func() { _ = os.Remove(file) }()
	prog := filepath.Join(b.dir, "two")
	_ = exec.Command("perf", "probe", "-q", "-d", "jalonrecord:hit").Run()
	if out, err := exec.Command("perf", "probe", "-q", "-x", prog, "jalonrecord:hit=hit a=%di:s32 b=%si:s32").CombinedOutput(); err != nil {
		return x, fmt.Errorf("perf probe: %w: %.120s", err, out)
	}
	defer func() { _ = exec.Command("perf", "probe", "-q", "-d", "jalonrecord:hit").Run() }()
	p, err := b.start("two", r)
	if err != nil {
		return x, err
	}
	defer func() { _ = p.in.Close() }()
	cmd := exec.Command("perf", "record", "-q", "-e", "jalonrecord:hit", "-m", "4M", "-o", file, "-p", strconv.Itoa(p.cmd.Process.Pid))
	if err := cmd.Start(); err != nil {
		return x, err
	}
	for i := 0; i < 100 && size(file) == 0; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	if x, err = p.measure(cmd.Process.Pid); err != nil {
		return x, err
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	x.bytes = size(file)
	out, err := exec.Command("perf", "report", "-i", file, "--stats").CombinedOutput()
	if m := regexp.MustCompile(`SAMPLE events: +(\d+)`).FindSubmatch(out); m != nil {
		x.recorded, _ = strconv.ParseUint(string(m[1]), 10, 64)
	}
	x.lost = uint64(r.events) - min(x.recorded, uint64(r.events))
	return x, err
}

// lttngSocket is the socket of root's session daemon.
const lttngSocket = "/var/run/lttng/client-lttng-sessiond"

// lttng records LTTng-UST's static tracepoint of the same place.
func lttng(flags ...string) func(b *bench, r *row) (outcome, error) {
	return func(b *bench, r *row) (x outcome, err error) {
		if os.Getuid() != 0 {
			return x, fmt.Errorf("measured as root only")
		}
		if _, err := os.Stat(lttngSocket); err == nil {
			return x, fmt.Errorf("a session daemon is running already")
		}
		if err := b.compile("two-lttng", "-DLTTNG", "-I.", "two-tp.c", "-llttng-ust", "-ldl"); err != nil {
			return x, err
		}
		home := filepath.Join(b.dir, "lttng-home")
		if err := os.MkdirAll(home, 0o700); err != nil {
			return x, err
		}
		defer os.RemoveAll(home)
		env := []string{"HOME=" + home, "LTTNG_HOME=" + home, "LTTNG_UST_REGISTER_TIMEOUT=-1", "LTTNG_UST_ALLOW_BLOCKING=1"}
		daemon := exec.Command("lttng-sessiond", "--no-kernel")
		daemon.Env = append(os.Environ(), env...)
		if err := daemon.Start(); err != nil {
			return x, err
		}
		defer func() { _ = daemon.Process.Signal(os.Interrupt); _ = daemon.Wait() }()
		for i := 0; ; i++ {
			if _, err := os.Stat(lttngSocket); err == nil {
				break
			}
			if i == 200 {
				return x, fmt.Errorf("the session daemon did not start")
			}
			time.Sleep(50 * time.Millisecond) // only its socket can be observed
		}
		command := func(args ...string) (string, error) {
			c := exec.Command("lttng", args...)
			c.Env = append(os.Environ(), env...)
			out, err := c.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("lttng %s: %w: %s", args[0], err, out)
			}
			return string(out), err
		}
		trace := filepath.Join(home, "trace")
		for _, args := range [][]string{
			{"create", "s", "--output=" + trace},
			append([]string{"enable-channel", "-u", "ch", "--discard", "--subbuf-size=" + strconv.Itoa(1<<20), "--num-subbuf=4"}, flags...),
			{"enable-event", "-u", "-c", "ch", "jalonrecord:hit"},
			{"add-context", "-u", "-c", "ch", "-t", "vtid"},
			{"start"},
		} {
			if _, err := command(append([]string{"-q"}, args...)...); err != nil {
				return x, err
			}
		}
		p, err := b.start("two-lttng", r, env...)
		if err != nil {
			return x, err
		}
		defer func() { _ = p.in.Close() }()
		if x, err = p.measure(consumers(daemon.Process.Pid)...); err != nil {
			return x, err
		}
		if _, err := command("-q", "stop", "s"); err != nil {
			return x, err
		}
		text, err := command("list", "s")
		if err != nil {
			return x, err
		}
		if m := regexp.MustCompile(`Discarded events: (\d+)`).FindStringSubmatch(text); m != nil {
			x.lost, _ = strconv.ParseUint(m[1], 10, 64)
		}
		x.recorded = uint64(r.events) - min(x.lost, uint64(r.events))
		_, err = command("-q", "destroy", "s")
		x.bytes = size(trace)
		return x, err
	}
}

// consumers are a daemon and its children: LTTng's consumer is one.
func consumers(daemon int) []int {
	list := []int{daemon}
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(daemon)).Output()
	for _, f := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(f); err == nil {
			list = append(list, consumers(pid)...)
		}
	}
	return list
}
