package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const tracefs = "/sys/kernel/tracing"

// instance is ftrace's own recording in an instance for the benchmark: binary records in ring buffers of 4
// MiB per CPU, without a reader. This is the lowest cost that ftrace can have.
type instance struct {
	dir    string
	cpu    int
	probes string // the file in which the benchmark's probe was defined
	probe  string
}

// instanceName is the unique name of the instance and of the group of its probes.
var instanceName = fmt.Sprintf("jalon_bench_%d", os.Getpid())

// startFtrace records an event. If probe is not empty, it first defines the probe in file: uprobe_events or
// kprobe_events.
func (b *bench) startFtrace(event, filter, file, probe string) (tracing, error) {
	in := &instance{dir: filepath.Join(tracefs, "instances", instanceName), cpu: b.loop.cpu}
	if probe != "" {
		if err := appendTo(filepath.Join(tracefs, file), probe); err != nil {
			return nil, err
		}
		in.probes, in.probe = file, "-:"+event
	}
	if err := in.begin(event, filter); err != nil {
		return nil, errors.Join(err, in.remove())
	}
	return in, nil
}

func (in *instance) begin(event, filter string) error {
	if err := os.Mkdir(in.dir, 0o700); err != nil {
		return err
	}
	dir := filepath.Join(in.dir, "events", event)
	for _, f := range []struct{ file, text string }{
		{filepath.Join(in.dir, "buffer_size_kb"), "4096"},
		{filepath.Join(dir, "filter"), filter},
		{filepath.Join(dir, "enable"), "1"},
	} {
		if f.text == "" {
			continue
		}
		if err := os.WriteFile(f.file, []byte(f.text), 0); err != nil {
			return fmt.Errorf("%q to %s: %w", f.text, f.file, err)
		}
	}
	return nil
}

// stop ends the recording and counts the records in the buffer of the loop's CPU.
func (in *instance) stop() (seen, error) {
	_ = os.WriteFile(filepath.Join(in.dir, "tracing_on"), []byte("0"), 0)
	b, err := os.ReadFile(filepath.Join(in.dir, "per_cpu", "cpu"+strconv.Itoa(in.cpu), "stats"))
	if err != nil {
		return seen{}, errors.Join(err, in.remove())
	}
	s := seen{hits: -1}
	for line := range strings.Lines(string(b)) {
		var n int64
		if _, err := fmt.Sscanf(line, "entries: %d", &n); err == nil {
			s.recorded += n
		}
		if _, err := fmt.Sscanf(line, "overrun: %d", &n); err == nil {
			s.recorded += n // recorded, then overwritten by later ones
		}
	}
	return s, in.remove()
}

func (in *instance) remove() error {
	_ = os.WriteFile(filepath.Join(in.dir, "events", "enable"), []byte("0"), 0)
	err := os.Remove(in.dir)
	if in.probe != "" {
		err = errors.Join(err, appendTo(filepath.Join(tracefs, in.probes), in.probe))
	}
	return err
}

func appendTo(file, line string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		return fmt.Errorf("%q to %s: %w", line, file, err)
	}
	return nil
}
