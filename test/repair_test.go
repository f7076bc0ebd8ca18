package test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// repaired repairs a recording that was killed: then other viewers read it without a warning, and have the same events as jalon report.
func repaired(t *testing.T, dir string) (events int) {
	t.Helper()
	before, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	before.Close()
	if r := jalon(t, "report", "--repair", dir); r.status != 0 {
		t.Fatalf("repair: status %d: %s", r.status, r.stderr)
	}
	text, tr := readRecording(t, dir)
	if len(tr.Damage) > 0 {
		t.Fatalf("%q is left of %q", tr.Damage, before.Damage)
	}
	events = strings.Count(text, "\n")
	_, bytes := tr.Packets()
	if _, all := before.Packets(); bytes != all {
		t.Fatalf("%d bytes of packets, before the repair %d", bytes, all)
	}
	if n := strings.Count(babeltrace(t, dir), " hit: {"); n != events {
		t.Fatalf("babeltrace2 has %d events, jalon report %d", n, events)
	}
	return events
}

// TestRecordKills: jalon is killed at random instants while it records: what is on disk can be read, and repaired for other viewers.
func TestRecordKills(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	c := counted(t, "kills", "of jalon record")
	torn, some := 0, 0
	for i := range kills(10) {
		c.Rounds++
		dir := filepath.Join(t.TempDir(), "run")
		x, end := startRecorder(t, prog)
		j := start(t, jalonArgs("record", "-v", "-o", dir, "--buffer", "64k", "--on-full", "wait:1h", "-p", fmt.Sprint(x.Pid()), "hit", "-c", "thread, n, mixed")...)
		j.AwaitErr("armed after")
		eventually(t, "there is metadata", func() bool { return bytesOf(t, dir) > 0 })
		time.Sleep(time.Duration(rand.Int64N(int64(50 * time.Millisecond)))) // any instant will do
		j.Kill()
		end()
		if r := x.wait(); r.status != 0 {
			t.Fatalf("kill %d: status %d", i, r.status)
		}
		tr, err := ctf.Open(dir)
		if err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		torn += len(tr.Damage)
		tr.Close()
		if repaired(t, dir) > 0 {
			some++
		}
	}
	t.Logf("%d of %d recordings had events, %d files had a torn end", some, kills(10), torn)
}

// TestTargetKills: the program is killed at random instants while it is recorded: the recording ends in order.
func TestTargetKills(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	c := counted(t, "kills", "of a recorded program")
	for i := range kills(10) {
		c.Rounds++
		dir := filepath.Join(t.TempDir(), "run")
		x, end := startRecorder(t, prog)
		j := start(t, jalonArgs("record", "-v", "-o", dir, "--buffer", "64k", "-p", fmt.Sprint(x.Pid()), "hit", "-c", "thread, n, mixed")...)
		j.AwaitErr("armed after")
		time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond)))) // any instant will do
		x.Kill()
		end()
		if r := j.wait(); r.status != 128+int(syscall.SIGKILL) {
			t.Fatalf("kill %d: status %d: %s", i, r.status, r.stderr)
		}
		text, tr := readRecording(t, dir)
		if n := uint64(strings.Count(text, "\n")); len(tr.Damage) > 0 || tr.Summary == nil || tr.Summary.Events != n {
			t.Fatalf("kill %d: %d events, damage %q, %+v", i, n, tr.Damage, tr.Summary)
		}
	}
}
