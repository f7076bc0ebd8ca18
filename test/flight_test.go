package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// parts are the parts of a recording that are there.
func parts(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "chunk-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// hitsOf are the calls in a part by thread, as babeltrace2 prints them: in each the last ones, each once.
func hitsOf(t *testing.T, part string) (last [3]uint64, n int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("babeltrace2", part)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("babeltrace2 %s: %v\n%s", part, err, errs.String())
	}
	seen := map[[2]uint64]bool{}
	for line := range strings.Lines(out.String()) {
		_, values, ok := strings.Cut(line, "}, { thread = ")
		if !ok {
			continue // of the state
		}
		var thread, call uint64
		if _, err := fmt.Sscanf(values, "%d, n = %d", &thread, &call); err != nil || thread > 2 || seen[[2]uint64{thread, call}] {
			t.Fatalf("%v: %s", err, line)
		}
		seen[[2]uint64{thread, call}] = true
		last[thread] = max(last[thread], call)
		n++
	}
	return last, n
}

// TestFlight: the newest events are written as parts of a recording when jalon gets SIGUSR1, when a condition holds at a place, and when
// the program crashes; the last part of a crash has the last calls.
func TestFlight(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	for _, how := range []string{"signal", "condition", "crash"} {
		dir := filepath.Join(t.TempDir(), "run")
		x, end := startRecorder(t, prog)
		args := jalonArgs("record", "-v", "-o", dir, "--flight", "64k", "-p", fmt.Sprint(x.Pid()))
		if how == "condition" {
			args = append(args, "--snapshot-on", "hit if (thread == 1 && n % 1000000 == 0)")
		}
		j := start(t, append(args, "hit", "-c", "thread, n")...)
		j.AwaitErr("armed after")
		eventually(t, "there are events in parts", func() bool {
			if how != "condition" {
				j.Signal(syscall.SIGUSR1)
			}
			files, err := filepath.Glob(filepath.Join(dir, "chunk-*", "process-*"))
			return err == nil && len(files) > 0 && len(parts(t, dir)) > 2
		})
		status := 0
		if how == "crash" {
			x.Signal(syscall.SIGSEGV)
			status = 128 + int(syscall.SIGSEGV)
		}
		end()
		var calls [3]uint64
		if r := x.wait(); how != "crash" {
			if _, err := fmt.Sscan(strings.TrimPrefix(r.stdout, "ready\n"), &calls[0], &calls[1], &calls[2]); err != nil {
				t.Fatal(err)
			}
		}
		if r := j.wait(); r.status != status {
			t.Fatalf("%s: status %d: %s", how, r.status, r.stderr)
		}
		all, events := [3]uint64{}, 0
		list := parts(t, dir)
		for _, p := range list {
			last, n := hitsOf(t, p)
			events += n
			for i := range last {
				all[i] = max(all[i], last[i])
			}
		}
		newest := all[0] == calls[0] && calls[0] > 0 || all[1] == calls[1] && calls[1] > 0 || all[2] == calls[2] && calls[2] > 0
		if events == 0 || !newest && how != "crash" {
			t.Errorf("%s: %d events in %d parts, the last are %d of %d", how, events, len(list), all, calls)
		}
		text, tr := readRecording(t, dir)
		// The event of the condition's place has no values. It is there if no hits have overwritten it yet.
		if n := strings.Count(text, `"values":{"thread":`); n != events || len(tr.Damage) > 0 {
			t.Errorf("%s: jalon report has %d events, babeltrace2 %d, damage %q", how, n, events, tr.Damage)
		}
	}
}

// TestStateDump: a recording has the state at its beginning: the program's parent, threads, mappings with build-ids and open files. A
// program that ends at once is no exception, and SIGUSR1 records the state again.
func TestStateDump(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread", "-Wl,--build-id=0x0123456789abcdef")
	dir := filepath.Join(t.TempDir(), "run")
	x, end := startRecorder(t, prog)
	j := start(t, jalonArgs("record", "-v", "-o", dir, "-p", fmt.Sprint(x.Pid()), "hit if (n == 0)")...)
	j.AwaitErr("armed after")
	begins := func() int {
		b, err := os.ReadFile(filepath.Join(dir, "state"))
		if err != nil {
			return 0
		}
		return strings.Count(string(b), prog+"\x00")
	}
	j.Signal(syscall.SIGUSR1)
	eventually(t, "the state is there", func() bool { return begins() > 0 })
	once := begins()
	j.Signal(syscall.SIGUSR1)
	eventually(t, "the state is there again", func() bool { return begins() > once })
	pid := x.Pid()
	end()
	x.wait()
	j.wait()
	checkState(t, dir, prog, pid, 4)

	short := filepath.Join(t.TempDir(), "run")
	if r := jalon(t, "record", "-o", short, "hit if (n == 0)", "--", prog); r.status != 0 {
		t.Fatal(r.stderr)
	}
	checkState(t, short, prog, 0, 0)
}

// checkState: a recording has the state of a process of the program; 0: any.
func checkState(t *testing.T, dir, prog string, pid, threads int) {
	t.Helper()
	var s struct {
		Whole     bool
		Processes []struct {
			Pid, Parent   int
			Name, Program string
			Threads       []struct{ Tid int }
			Mappings      []struct {
				Path    string
				BuildID string `json:"build_id"`
			}
			Files []struct{ FD int }
		}
		CPUs []struct{ CPU int }
	}
	if err := json.Unmarshal([]byte(jalon(t, "report", dir, "--state", "-f", "json").stdout), &s); err != nil || !s.Whole || len(s.CPUs) == 0 {
		t.Fatalf("%v: %+v", err, s)
	}
	found := false
	for _, p := range s.Processes {
		for _, m := range p.Mappings {
			if m.Path == prog && m.BuildID == "0123456789abcdef" && len(p.Files) > 2 && (pid == 0 || p.Pid == pid && p.Parent == os.Getpid() && p.Program == prog && len(p.Threads) == threads) {
				found = true
			}
		}
	}
	if !found {
		t.Errorf("the program is not in the state: %+v", s.Processes)
	}
	babeltrace(t, dir)
}
