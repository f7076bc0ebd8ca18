package kernel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// siteStatus is a site in the answer of `jalon control PATH status --json`.
type siteStatus struct {
	Tracepoint                                  int
	Enabled                                     bool
	Place, Tactic                               string
	Hits, Recorded, False, Faults, Lost, Missed uint64
}

func status(t *testing.T, socket string) []siteStatus {
	t.Helper()
	p := jalon(t, "control", socket, "status", "--json")
	var a struct {
		Error string
		Sites []siteStatus
	}
	if err := json.Unmarshal([]byte(p.Out.String()), &a); err != nil || a.Error != "" {
		t.Fatalf("%v %s: %s%s", err, a.Error, p.Out.String(), p.Errs.String())
	}
	return a.Sites
}

func control(t *testing.T, socket string, args ...string) {
	t.Helper()
	if p := jalon(t, append([]string{"control", socket}, args...)...); p.Status != 0 {
		t.Fatalf("%v: status %d: %s", args, p.Status, p.Errs.String())
	}
}

// TestControl: tracepoints of both engines are disabled and enabled while the program runs; every round is
// counted by the tracepoints that were enabled.
func TestControl(t *testing.T) {
	for _, tt := range []struct {
		name   string
		places []string
		each   uint64 // hits of a place a round
	}{
		{"kernel", []string{"syscall:getpriority", "rawtracepoint:sys_enter if (id == 140)"}, 10},
		{"uprobes", []string{"turn", "step"}, 10},
		{"in-process", []string{"turn", "step"}, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "control")
			child := start(t, compile(t, "gcc", "rounds.c", "-g", "-O2")).AwaitOut("ready 0\n")
			engine := "auto"
			if tt.name == "uprobes" {
				engine = "kernel"
			}
			tr := begin(t, append(tt.places, "-c", "$tid", "-p", fmt.Sprint(child.Pid()), "--control", socket, "--engine", engine)...).armed()
			st, err := os.Stat(socket)
			if err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", st.Mode(), err)
			}
			want := [2]uint64{}
			on := [2]bool{true, true}
			rounds := 0
			for _, change := range []string{"", "disable 2", "", "enable 2", "disable 1", "disable 2", "enable 1", "enable 2", "disable 1", "disable 1", "enable 1", "enable 1"} {
				if change != "" {
					f := strings.Fields(change)
					control(t, socket, f...)
					on[f[1][0]-'1'] = f[0] == "enable"
				}
				rounds++
				child.Send("10")
				child.AwaitOut(fmt.Sprintf("ready %d\n", rounds))
				for i := range want {
					if on[i] {
						want[i] += tt.each
					}
				}
				for _, s := range status(t, socket) {
					if i := s.Tracepoint - 1; s.Enabled != on[i] {
						t.Errorf("%s: tracepoint %d: enabled %v", change, s.Tracepoint, s.Enabled)
					}
				}
			}
			tr.stop()
			got := map[string]uint64{}
			for _, e := range tr.events() {
				got[e.Place]++
			}
			for i, p := range tt.places {
				place, _, _ := strings.Cut(p, " if ")
				if got[place] != want[i] {
					t.Errorf("%s: %d events, want %d\n%s", place, got[place], want[i], tr.Errs.String())
				}
			}
			if _, err := os.Stat(socket); !os.IsNotExist(err) {
				t.Errorf("the socket is still there: %v", err)
			}
			child.Send("10")
			child.AwaitOut(fmt.Sprintf("ready %d\n", rounds+1))
		})
	}
}

// TestControlStatus: the table, for people.
func TestControlStatus(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "control")
	child := start(t, things(t), "wait", "names", "ready", "wait")
	tr := begin(t, "syscall:getpriority if (which < 3)", "syscall:prctl", "-p", fmt.Sprint(child.Pid()), "--control", socket).armed()
	child.Send("go")
	child.AwaitOut("ready\n")
	// Records count when they are shown, some milliseconds later.
	sites := status(t, socket)
	for end := time.Now().Add(patience); len(sites) == 2 && sites[0].Hits+sites[1].Hits < 20 && time.Now().Before(end); {
		sites = status(t, socket)
	}
	if len(sites) != 2 || sites[0].Hits != 10 || sites[0].False != 7 || sites[1].Hits != 10 || sites[0].Tactic != "tracepoint" {
		t.Errorf("%+v", sites)
	}
	p := jalon(t, "control", socket, "status")
	rows := strings.Split(strings.TrimSpace(p.Out.String()), "\n")
	if len(rows) != 3 || strings.Join(strings.Fields(rows[1]), " ") != "1 syscall:getpriority (syscalls:sys_enter_getpriority) enabled 10 3 7 0 0 0 -" {
		t.Errorf("%s%s", p.Out.String(), p.Errs.String())
	}
	for _, tt := range []struct{ args, want string }{
		{"enable 3", "there is no tracepoint 3: they are 1 to 2"},
		{"disable x", `"x" is not the number of a tracepoint`},
		{"disable", `use one of enable N, disable N, remove N`},
		{"begin 3", `use one of enable N, disable N, remove N`},
	} {
		p := jalon(t, append([]string{"control", socket}, strings.Fields(tt.args)...)...)
		if p.Status == 0 || !strings.Contains(p.Errs.String(), tt.want) {
			t.Errorf("%s: status %d: %s", tt.args, p.Status, p.Errs.String())
		}
	}
	// Invalid requests on the socket have no effect.
	for _, text := range []string{"\n", "{}\n", "nonsense\n", strings.Repeat("x", 1<<16) + "\n"} {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text))
		conn.Close()
	}
	// Two traces cannot share a socket, and no file is overwritten.
	if p := jalon(t, "trace", "syscall:prctl", "--control", socket, "-n", "1"); p.Status == 0 || !strings.Contains(p.Errs.String(), "another program listens on it") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := jalon(t, "trace", "syscall:prctl", "--control", file, "-n", "1"); p.Status == 0 || !strings.Contains(p.Errs.String(), "not a socket") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Errorf("the file is now %q", b)
	}
	tr.stop()
	if p := jalon(t, "control", socket, "status"); p.Status == 0 || !strings.Contains(p.Errs.String(), "there is no socket") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	// The socket that a killed jalon has left is replaced.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	if tr := run(t, "syscall:getpriority", "--control", socket, "--", things(t), "names"); tr.Status != 0 || tr.counts().Hits != 10 {
		t.Errorf("%s", tr.Errs.String())
	}
}

// TestControlAdd: tracepoints of both engines, also at addresses of others, are added to a running trace
// and removed; each counts the rounds while it was armed.
func TestControlAdd(t *testing.T) {
	for _, tt := range []struct {
		name, first string
		add         []string
	}{
		{"kernel", "syscall:getpriority", []string{"rawtracepoint:sys_enter if (id == 140)", "syscall:getpriority"}},
		{"in-process", "turn", []string{"step", "turn", "syscall:getpriority"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "control")
			child := start(t, compile(t, "gcc", "rounds.c", "-g", "-O2")).AwaitOut("ready 0\n")
			tr := begin(t, tt.first, "-c", "$tid", "-p", fmt.Sprint(child.Pid()), "--control", socket).armed()
			rounds := 0
			round := func() {
				t.Helper()
				rounds++
				child.Send("10")
				child.AwaitOut(fmt.Sprintf("ready %d\n", rounds))
			}
			want := map[int]uint64{}
			check := func() {
				t.Helper()
				var got map[int]uint64
				same := func() bool { // records count when they are shown, some milliseconds later
					got = map[int]uint64{}
					for _, s := range status(t, socket) {
						got[s.Tracepoint] += s.Recorded
					}
					return maps.Equal(got, want)
				}
				for end := time.Now().Add(patience); !same(); {
					if time.Now().After(end) {
						t.Fatalf("recorded %v, want %v", got, want)
					}
				}
			}
			round()
			want[1] = 10
			for i, place := range tt.add {
				p := jalon(t, "control", socket, "add", place, "$tid, $comm")
				if number := fmt.Sprintf("tracepoint %d\n", i+2); p.Status != 0 || p.Out.String() != number {
					t.Fatalf("add %s: %q %s", place, p.Out.String(), p.Errs.String())
				}
				want[i+2] = 0
				round()
				for n := range want {
					want[n] += 10
				}
			}
			check()
			if p := jalon(t, "control", socket, "add", tt.first+" if (nosuch > 0)"); p.Status != 1 || !strings.Contains(p.Errs.String(), "nosuch") {
				t.Errorf("status %d: %s", p.Status, p.Errs.String())
			}
			for n := 1; n <= len(tt.add); n++ {
				control(t, socket, "remove", fmt.Sprint(n))
				delete(want, n)
				round()
				for n := range want {
					want[n] += 10
				}
				check()
			}
			tr.stop()
		})
	}
}
