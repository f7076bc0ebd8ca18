package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// shifted writes a recording as a machine with another clock would have made it.
func shifted(t *testing.T, dir, host string, time func(int64) int64) string {
	t.Helper()
	tr, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	out := filepath.Join(t.TempDir(), "shifted")
	info := tr.Info
	info.Host, info.Large, info.UUID[0] = host, nil, info.UUID[0]+1
	if _, err := ctf.Join(out, []ctf.Part{{Trace: tr, Time: time}}, info, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMerge records two processes that send each other messages, gives the second recording another clock, and joins them: each message is
// sent before it is received, and the clock is the one that was given, within the error that is stated.
func TestMerge(t *testing.T) {
	const messages = 2000
	prog := compile(t, "gcc", "pingpong.c", "-g", "-O1")
	cmd := exec.Command(prog, fmt.Sprint(messages))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	x := startCmd(t, cmd)
	x.AwaitOut("\n")
	server := strings.TrimSpace(x.Out.String())
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	a := start(t, jalonArgs("record", "-v", "-o", first, "-p", fmt.Sprint(x.Pid()), "sent", "answered", "-c", "n")...)
	b := start(t, jalonArgs("record", "-v", "-o", second, "-p", server, "received", "replied", "-c", "n")...)
	a.AwaitErr("armed after")
	b.AwaitErr("armed after")
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*result{a.wait(), b.wait(), x.wait()} {
		if r.status != 0 {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
	}
	const shift = 86_400_000_000_000
	other := shifted(t, second, "guest", func(at int64) int64 { return at + shift + at/100_000 }) // 10 ppm faster
	both := filepath.Join(dir, "both")
	r := jalon(t, "merge", first, other, "-o", both, "--forth", "sent,received", "--back", "replied,answered", "--key", "n")
	if r.status != 0 || !strings.Contains(r.stderr, fmt.Sprintf("%d messages to the second trace and %d back", messages, messages)) {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	stated := regexp.MustCompile(`±([^;]+);`).FindStringSubmatch(r.stderr)
	if stated == nil {
		t.Fatal(r.stderr)
	}
	limit, err := time.ParseDuration(stated[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.stderr)
	text, _ := readRecording(t, both)
	order := []string{"sent", "received", "replied", "answered"}
	n := 0
	for line := range strings.Lines(text) {
		var ev struct {
			Place  string
			Comm   string
			CPU    int
			Values struct{ N int }
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		guest := n%4 == 1 || n%4 == 2
		if ev.Place != order[n%4] || ev.Values.N != n/4 || strings.HasPrefix(ev.Comm, "guest/") != guest || ev.CPU >= 10_000 != guest {
			t.Fatalf("event %d: %s", n, line)
		}
		n++
	}
	if n != 4*messages {
		t.Errorf("%d events", n)
	}
	off := farthest(t, both, second)
	if off > limit {
		t.Errorf("times are off by %v, ±%v was stated", off, limit)
	}
	for _, args := range [][]string{{"report", both, "--latency", "sent", "received", "--by", "n"}, {"export", both, "--to", "perfetto", "-o", filepath.Join(dir, "both.pftrace")}} {
		if r := jalon(t, args...); r.status != 0 {
			t.Errorf("%v: status %d: %s", args, r.status, r.stderr)
		} else if args[0] == "report" && !strings.Contains(r.stdout, fmt.Sprintf("%d pairs", messages)) {
			t.Errorf("%v: %s", args, r.stdout)
		}
	}
	out, err := exec.Command("babeltrace2", both).CombinedOutput()
	if got := strings.Count(string(out), "{ n = "); err != nil || got != n {
		t.Errorf("babeltrace2 has %d events: %v", got, err)
	}
}

// farthest is how far the times of the second machine's events in a joined trace are from those of the recording itself.
func farthest(t *testing.T, joined, original string) (off time.Duration) {
	t.Helper()
	times := func(dir string, ofGuest bool) (list []int64) {
		tr, err := ctf.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		shift := int64(0)
		if len(tr.Info.Joined) > 0 {
			shift = tr.Info.Joined[0].Shift
		}
		it := tr.Events(ctf.Query{})
		for {
			ev, err := it.Next()
			if errors.Is(err, io.EOF) {
				return list
			}
			if err != nil {
				t.Fatal(err)
			}
			if !ofGuest || ev.CPU >= 10_000 {
				list = append(list, ev.TimeNS-shift)
			}
		}
	}
	got, want := times(joined, true), times(original, false)
	if len(got) != len(want) {
		t.Fatalf("%d events of %d", len(got), len(want))
	}
	for i := range got {
		off = max(off, time.Duration(got[i]-want[i]).Abs())
	}
	return off
}
