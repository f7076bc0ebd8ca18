package kernel

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestHammer: four threads call as fast as they can; every hit that does not fit in a small buffer is
// counted.
func TestHammer(t *testing.T) {
	n := 20000
	if full {
		n = 1000000
	}
	for _, tt := range []struct {
		args []string
		want func(c counts) string
	}{
		{[]string{"syscall:getpriority if (who % 4 == 1)", "-c", "who, $task->comm"}, func(c counts) string {
			if c.False != uint64(3*n) || c.Recorded+c.Lost != uint64(n) {
				return "false, or recorded and lost"
			}
			return ""
		}},
		{[]string{"rawtracepoint:sys_enter if (id == 140)", "-c", "id, regs->si"}, nil},
		{[]string{"tracepoint:syscalls:sys_enter_getpriority"}, nil},
		{[]string{"hammer_one", "syscall:getpriority", "-c", "$tid", "--engine", "kernel"}, nil},
	} {
		for _, buffer := range []string{"4k", "16M"} {
			tr := run(t, append(tt.args, "--buffer", buffer, "--cost", "--", things(t), "hammer", fmt.Sprint(n))...)
			c := tr.counts()
			want := uint64(4 * n)
			switch tt.args[0] {
			case "rawtracepoint:sys_enter if (id == 140)":
				if c.Recorded+c.Lost != want {
					t.Errorf("%v, %s: recorded %d and lost %d of %d", tt.args, buffer, c.Recorded, c.Lost, want)
				}
			case "hammer_one":
				want += 4
				fallthrough
			default:
				if c.Hits != want {
					t.Errorf("%v, %s: %d hits of %d: %+v", tt.args, buffer, c.Hits, want, c)
				}
			}
			if tt.want != nil {
				if bad := tt.want(c); bad != "" {
					t.Errorf("%v, %s: %s: %+v", tt.args, buffer, bad, c)
				}
			}
			if c.Missed != 0 || c.Faults != 0 || c.Torn != 0 {
				t.Errorf("%v, %s: %+v", tt.args, buffer, c)
			}
			events := tr.events()
			if uint64(len(events)) != c.Recorded {
				t.Errorf("%v, %s: %d events, %d recorded", tt.args, buffer, len(events), c.Recorded)
			}
			if !slices.IsSortedFunc(events, func(a, b event) int { return int(a.Time - b.Time) }) {
				t.Errorf("%v, %s: not in the order of time", tt.args, buffer)
			}
		}
	}
}

// TestCost: --cost reports a plausible cost of a hit.
func TestCost(t *testing.T) {
	p := jalon(t, "trace", "syscall:getpriority if (who == 7)", "--cost", "-f", "none", "--", things(t), "hammer", "2000")
	var row []string
	head := strings.Fields(strings.SplitN(p.Errs.String(), "\n", 2)[0])
	for line := range strings.Lines(p.Errs.String()) {
		if strings.HasPrefix(line, "syscall:getpriority") {
			row = strings.Fields(line)
		}
	}
	at := slices.IndexFunc(head, func(s string) bool { return strings.Contains(s, "ns") || strings.Contains(s, "cost") })
	if at < 0 || row == nil {
		t.Fatalf("no cost in the summary:\n%s", p.Errs.String())
	}
	var ns float64
	if _, err := fmt.Sscan(row[at], &ns); err != nil || ns <= 0 || ns > 1e6 {
		t.Errorf("%q ns a hit (%v):\n%s", row[at], err, p.Errs.String())
	}
}

// objects lists jalon's eBPF objects in the kernel, by name.
func objects(t *testing.T) (out []string) {
	t.Helper()
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			break
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}
		if info, err := p.Info(); err == nil && strings.HasPrefix(info.Name, "jalon") {
			out = append(out, fmt.Sprintf("program %d %s", id, info.Name))
		}
		p.Close()
	}
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if err != nil {
			break
		}
		id = next
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			continue
		}
		if info, err := m.Info(); err == nil && strings.HasPrefix(info.Name, "jalon") {
			out = append(out, fmt.Sprintf("map %d %s", id, info.Name))
		}
		m.Close()
	}
	return out
}

// goes waits until none of the objects that exist now, and did not before, is left. Objects of other jalons, which
// run beside, go too, each at its time; the kernel does not use a number again soon.
func goes(t *testing.T, what string, list func(*testing.T) []string, before []string) {
	t.Helper()
	left := slices.DeleteFunc(list(t), func(o string) bool { return slices.Contains(before, o) })
	await(t, what, func() bool {
		now := list(t)
		left = slices.DeleteFunc(left, func(o string) bool { return !slices.Contains(now, o) })
		return len(left) == 0
	})
}

// await waits until f returns true.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		var ts unix.Timespec
		ts.Nsec = int64(time.Millisecond)
		_ = unix.Nanosleep(&ts, nil)
	}
}

// TestKilled: a jalon that is killed at any time leaves nothing attached, and the program continues
// unaffected.
func TestKilled(t *testing.T) {
	seed := testkit.Seed(t, 1)
	r := rand.New(rand.NewSource(seed))
	tries := 15
	if full {
		tries = 500
	}
	before := objects(t)
	child := start(t, compile(t, "gcc", "rounds.c", "-g", "-O2")).AwaitOut("ready 0\n")
	rounds := 0
	for range tries {
		p := start(t, jalonBin, "trace", "syscall:getpriority", "rawtracepoint:sys_exit if (ret == 12345)", "turn", "tracepoint:sched:sched_process_*", "-p", fmt.Sprint(child.Pid()), "--engine", "kernel", "-f", "none")
		ts := unix.NsecToTimespec(r.Int63n(int64(200 * time.Millisecond)))
		_ = unix.Nanosleep(&ts, nil)
		p.Signal(unix.SIGKILL)
		<-p.Ended
		rounds++
		child.Send("10")
		child.AwaitOut(fmt.Sprintf("ready %d\n", rounds))
	}
	goes(t, "nothing is left in the kernel", objects, before)
}

// TestLeaks: session after session leaves no program, map, link or descriptor.
func TestLeaks(t *testing.T) {
	sessions := 8
	if full {
		sessions = 200
	}
	before := objects(t)
	linksBefore := links(t)
	for i := range sessions {
		tr := run(t, "syscall:getpriority", "rawtracepoint:task_rename", "uprobe:libc:getpid", "interval:5ms", "--engine=kernel", "--", things(t), "names")
		if tr.Status != 0 {
			t.Fatalf("session %d: status %d\n%s", i, tr.Status, tr.Errs.String())
		}
	}
	goes(t, "nothing is left in the kernel", objects, before)
	goes(t, "no link is left", links, linksBefore)
	entries, err := os.ReadDir(tracefs + "/instances")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("jalon-test-%d-", os.Getpid())) {
			t.Errorf("trace instance %s is left", e.Name())
		}
	}
}

// links lists the links of all programs; it is empty where they cannot be listed.
func links(t *testing.T) (out []string) {
	t.Helper()
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		out = append(out, fmt.Sprintf("link %d", it.ID))
	}
	if it.Err() != nil {
		return nil
	}
	return out
}
