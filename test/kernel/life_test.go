package kernel

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEnds: all the ways in which a trace ends, and with which status.
func TestEnds(t *testing.T) {
	t.Run("status of the program", func(t *testing.T) {
		for _, tt := range []struct {
			args []string
			want int
		}{
			{[]string{things(t), "exit", "3"}, 3}, {[]string{"/bin/sh", "-c", "kill -TERM $$"}, 128 + 15}, {[]string{"/bin/true"}, 0},
		} {
			if tr := run(t, append([]string{"process:exit", "--"}, tt.args...)...); tr.Status != tt.want || tr.counts().Recorded != 1 {
				t.Errorf("%v: status %d, %d events\n%s", tt.args, tr.Status, tr.counts().Recorded, tr.Errs.String())
			}
		}
	})
	t.Run("enough events", func(t *testing.T) {
		tr := run(t, "syscall:getpriority", "-n", "4", "--", things(t), "names")
		if got := len(tr.events()); got != 4 {
			t.Errorf("%d events", got)
		}
	})
	t.Run("duration", func(t *testing.T) {
		start := time.Now()
		tr := run(t, "interval:10ms", "-d", "200ms")
		if n := len(tr.events()); n == 0 || tr.Status != 0 || time.Since(start) < 200*time.Millisecond {
			t.Errorf("%d events, status %d after %v\n%s", n, tr.Status, time.Since(start), tr.Errs.String())
		}
	})
	t.Run("ctrl-c", func(t *testing.T) {
		child := start(t, things(t), "wait", "names", "ready", "wait", "exit", "5")
		tr := begin(t, "syscall:getpriority", "-p", fmt.Sprint(child.Pid())).armed()
		child.Send("go")
		child.AwaitOut("ready\n")
		if tr.stop(); tr.Status != 0 || tr.counts().Recorded != 10 {
			t.Errorf("status %d\n%s", tr.Status, tr.Errs.String())
		}
		child.Send("go")
		if child.Wait(); child.Status != 5 {
			t.Errorf("the program ended with %d", child.Status)
		}
	})
	t.Run("end of the process", func(t *testing.T) {
		child := start(t, things(t), "wait", "names", "exit", "5")
		tr := begin(t, "syscall:getpriority", "-p", fmt.Sprint(child.Pid())).armed()
		child.Send("go")
		if tr.wait(); tr.Status != 0 || tr.counts().Recorded != 10 || tr.counts().Outcome != "the process has ended" {
			t.Errorf("status %d\n%s", tr.Status, tr.Errs.String())
		}
	})
	t.Run("closed pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(jalonBin, "trace", "interval:1ms")
		cmd.Stdout = w
		p := startCmd(t, cmd)
		w.Close()
		line, err := bufio.NewReader(r).ReadString('\n')
		r.Close()
		if p.Wait(); p.Status != 0 || err != nil || !strings.Contains(line, "interval:1ms") {
			t.Errorf("status %d, %v, %q\n%s", p.Status, err, line, p.Errs.String())
		}
	})
	t.Run("nothing to show", func(t *testing.T) {
		p := jalon(t, "trace", "syscall:getpriority if (which & 1)", "-f", "none", "--", things(t), "names")
		if p.Out.String() != "" || !strings.Contains(p.Errs.String(), "syscall:getpriority    10         5      5       0     0") {
			t.Errorf("%s%s", p.Out.String(), p.Errs.String())
		}
	})
	t.Run("debugged", func(t *testing.T) {
		// A process that another tracer traces by ptrace can still be checked.
		strace := tool(t, "strace")
		p := start(t, strace, "-f", "-qq", "-e", "trace=getpriority", "-o", filepath.Join(t.TempDir(), "strace"), things(t), "ready", "wait", "names", "ready").AwaitOut("ready\n")
		b, err := exec.Command("pgrep", "-P", fmt.Sprint(p.Pid())).Output()
		if err != nil {
			t.Fatal(err)
		}
		tr := begin(t, "syscall:getpriority", "-p", strings.TrimSpace(string(b))).armed()
		p.Send("go")
		if tr.wait(); tr.counts().Recorded != 10 {
			t.Errorf("%s", tr.Errs.String())
		}
	})
}

// TestTimers: samples and clocks.
func TestTimers(t *testing.T) {
	child := start(t, "/bin/sh", "-c", "while :; do :; done")
	pid := fmt.Sprint(child.Pid())
	for _, tt := range []struct {
		args []string
		mine bool
	}{
		{[]string{"profile:500", "-c", "$pid, $ubt", "-p", pid}, true},
		{[]string{"software:cpu-clock:1000000", "-c", "$pid", "-p", pid}, true},
		{[]string{"interval:2ms", "-c", "$cpu"}, false},
	} {
		tr := run(t, append(tt.args, "-n", "10")...)
		events := tr.events()
		if len(events) != 10 {
			t.Errorf("%v: %d events\n%s", tt.args, len(events), tr.Errs.String())
		}
		for _, e := range events {
			if tt.mine && e.Pid != child.Pid() {
				t.Errorf("%v: %+v", tt.args, e)
			}
		}
		if !slices.IsSortedFunc(events, func(a, b event) int { return int(a.Time - b.Time) }) {
			t.Errorf("%v: not in the order of time", tt.args)
		}
	}
	// A page fault for each page that is touched first.
	tr := run(t, "software:page-faults:1", "--", things(t), "memory")
	if n := tr.counts().Recorded; n < 36 {
		t.Errorf("%d page faults\n%s", n, tr.Errs.String())
	}
}

// TestFile: tracepoints as GDB saves them.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tracepoints")
	text := "trace syscall:getpriority\n  condition $bpnum which == 4\n  actions\n    collect which, who\n    collect $comm\n  end\ntrace syscall:prctl\ndisable $bpnum\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := run(t, "-x", file, "--", things(t), "names")
	ev := tr.events()
	if len(ev) != 1 || ev[0].Num(t, "who") != 1004 || ev[0].Str("$comm") != "name4" {
		t.Errorf("%+v\n%s", ev, tr.Errs.String())
	}
}

// TestCgroup: only processes of a control group.
func TestCgroup(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	root := ""
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" {
			root = f[1]
		}
	}
	if root == "" {
		skip(t, "cgroup2 is not mounted")
	}
	dir := filepath.Join(root, fmt.Sprintf("jalon-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		skip(t, "no control group can be made: "+err.Error())
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	in, out := start(t, things(t), "wait", "names", "ready", "wait"), start(t, things(t), "wait", "names", "ready", "wait")
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(in.Pid())), 0); err != nil {
		skip(t, "no process can be put into a control group: "+err.Error())
	}
	tr := begin(t, "syscall:getpriority", "-c", "$pid", "--cgroup", dir).armed()
	for _, p := range []*process{out, in} {
		p.Send("go")
		p.AwaitOut("ready\n")
	}
	tr.stop()
	n := 0
	for _, e := range tr.events() {
		if e.Pid != in.Pid() {
			t.Errorf("%+v", e)
		}
		n++
	}
	tr.check("events", uint64(n), 10)
	in.Send("go")
	in.Wait() // out of the group, so that it can be removed
}

// TestLine tests the text format; the other tests read JSON.
func TestLine(t *testing.T) {
	p := jalon(t, "trace", "syscall:getpriority if (which == 7)", "-c", "which, who/x, $comm", "--time", "mono", "--", things(t), "names")
	f := strings.Fields(p.Out.String())
	if len(f) != 7 || f[3] != "syscall:getpriority" || strings.Join(f[4:], " ") != `which=7 who=0x3ef $comm="name7"` {
		t.Errorf("%q\n%s", p.Out.String(), p.Errs.String())
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	var at float64
	if _, err := fmt.Sscan(f[0], &at); err != nil || at > float64(ts.Nano())/1e9 || at < float64(ts.Nano())/1e9-60 {
		t.Errorf("time %s, now %d", f[0], ts.Nano())
	}
}

// TestSummary: the file's last lines and the counts agree.
func TestSummary(t *testing.T) {
	tr := run(t, "tracepoint:task:task_rename", "--", things(t), "names")
	for i, e := range tr.events() {
		m := e.Values["$_sdata"].(map[string]any)
		if m["newcomm"] != fmt.Sprintf("name%d", i) || m["pid"].(json.Number).String() != fmt.Sprint(e.Pid) || !strings.HasPrefix(e.Text(), "task_rename: pid=") {
			t.Errorf("%v", m)
		}
	}
	tr.check("hits", tr.counts().Hits, 10)
}
