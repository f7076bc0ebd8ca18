package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// liveLine is a line of --live: the values of hit.
var liveLine = regexp.MustCompile(`(?m)^(\d+:\d+:\d+\.\d+) \[.*thread=(\d) n=(\d+)$`)

// TestLive: jalon record --live prints each event once, in order of each thread and of time, also before the recording ends; what it does
// not print is counted, and recorded.
func TestLive(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	dir := filepath.Join(t.TempDir(), "run")
	x, end := startRecorder(t, prog)
	j := start(t, jalonArgs("record", "-v", "--live", "-o", dir, "-p", fmt.Sprint(x.Pid()), "hit if (n % 4096 == 0)", "-c", "thread, n")...)
	j.AwaitErr("armed after")
	j.AwaitOut("thread=2") // it is printed while it is recorded
	end()
	x.wait()
	r := j.wait()
	if r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	var last [3]uint64
	time, n := "", 0
	for _, m := range liveLine.FindAllStringSubmatch(r.stdout, -1) {
		thread, call := m[2][0]-'0', uint64(0)
		call, _ = strconv.ParseUint(m[3], 10, 64)
		if call <= last[thread] {
			t.Fatalf("thread %d: %d behind %d", thread, call, last[thread])
		}
		last[thread] = call
		if m[1] < time {
			t.Fatalf("%s behind %s", m[1], time)
		}
		time = m[1]
		n++
	}
	unshown := 0
	if m := regexp.MustCompile(`jalon: (\d+) events came too fast`).FindStringSubmatch(r.stderr); m != nil {
		unshown, _ = strconv.Atoi(m[1])
	}
	text, tr := readRecording(t, dir)
	if recorded := strings.Count(text, "\n"); n == 0 || n+unshown != recorded || tr.Lost() > 0 || strings.Count(r.stdout, "\n") != n {
		t.Errorf("%d printed, %d not, %d recorded, %d lost", n, unshown, recorded, tr.Lost())
	}
}

// TestLiveFast: a reader that does not read takes nothing from the recording, and events that are not printed are counted.
func TestLiveFast(t *testing.T) {
	prog := recordProgram(t)
	dir := filepath.Join(t.TempDir(), "run")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(jalonBin, "record", "--live", "-o", dir, "--on-full", "wait", "handle", "-c", "i", "--", prog, "600000")
	cmd.Stdout = w
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	w.Close()
	m := regexp.MustCompile(`(\d+) events came too fast`).FindStringSubmatch(errs.String())
	if m == nil || !strings.Contains(errs.String(), "600000 events") {
		t.Fatalf("%s", errs.String())
	}
	if _, tr := readRecording(t, dir); tr.Lost() > 0 {
		t.Errorf("%d lost", tr.Lost())
	}
}
