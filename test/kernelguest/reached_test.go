package kernelguest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

var (
	reachedLine = regexp.MustCompile(`(?m)reached (by .*)$`)
	nearestLine = regexp.MustCompile(`nearest instruction with a jump: (\S+)`)
)

// TestGuest_Reached: jalon list says how the kernel will come to a kprobe, and the summary how it did, as the kernel's own list has it.
func TestGuest_Reached(t *testing.T) {
	if vmtest.Arch != "amd64" {
		t.Skip("the ways to kprobes are described where jalon decodes the processor's instructions")
	}
	var places []string
	for off := range 160 {
		places = append(places, fmt.Sprintf("kprobe:vfs_read+%d", off))
	}
	list := listed(t, places)
	ways := map[string]int{}
	nearest := ""
	for _, place := range places {
		if ways["by a jump"] >= 2 && ways["by a breakpoint"] >= 2 {
			break
		}
		m := reachedLine.FindStringSubmatch(list[place])
		if m == nil || strings.Contains(m[1], "no instruction begins") {
			continue
		}
		way := m[1]
		if w, _, ok := strings.Cut(way, ","); ok {
			way = w
		}
		if ways[way] >= 2 {
			continue
		}
		if n := nearestLine.FindStringSubmatch(m[1]); n != nil {
			nearest = n[1]
		}
		got := reachedIn(t, place, way == "by a jump")
		if got == "" {
			continue // refused by the kernel
		}
		ways[way]++
		if !strings.HasPrefix(got, way) {
			t.Errorf("%s: %q in the list, %q in the summary", place, m[1], got)
		}
	}
	if ways["by ftrace"] == 0 || ways["by a jump"] == 0 || ways["by a breakpoint"] == 0 {
		t.Errorf("not each way: %v", ways)
	}
	if nearest == "" {
		t.Error("no nearest instruction")
	} else if got := reachedIn(t, nearest, true); !strings.HasPrefix(got, "by a jump") {
		t.Errorf("%s is said to have a jump: %q", nearest, got)
	}
}

// listed is what the list has of each place.
func listed(t *testing.T, places []string) map[string]string {
	t.Helper()
	text := testkit.Start(t, append([]string{jalon, "list"}, places...)...).Wait().Out.String()
	list := map[string]string{}
	place := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(line, "kprobe:") {
			place = line[:strings.IndexAny(line, "( \n")]
		}
		list[place] += line
	}
	if len(list) < 10 {
		t.Fatalf("the list has %d places:\n%s", len(list), text)
	}
	return list
}

// reachedIn traces a place and returns what the summary says; "": it is refused. jump: until the kernel has put a jump there.
func reachedIn(t *testing.T, place string, jump bool) string {
	t.Helper()
	p := testkit.Start(t, jalon, "trace", "-f", "none", place)
	armed := func() bool { return strings.Contains(p.Errs.String(), "armed") }
	testkit.Eventually(t, "armed, or refused", func() bool {
		select {
		case <-p.Ended:
			return true
		default:
			return armed()
		}
	})
	if !armed() {
		return ""
	}
	end := time.Now().Add(20 * time.Second)
	for jump && time.Now().Before(end) {
		b, err := os.ReadFile("/sys/kernel/debug/kprobes/list")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "[OPTIMIZED]") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.Wait()
	m := reachedLine.FindStringSubmatch(p.Errs.String())
	if m == nil {
		t.Fatalf("%s: nothing in the summary:\n%s", place, p.Errs.String())
	}
	return m[1]
}
