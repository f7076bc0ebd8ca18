package vmtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Report is what came of a guest.
type Report struct {
	Release  string        // of the kernel that was booted
	Boot     time.Duration // from QEMU's start until init was ready
	Total    time.Duration // until QEMU was gone
	Tests    []*Test
	Output   string   // of the test binary, apart from what belongs to a test
	Console  string   // the end of what the kernel printed
	Problems []string // what went wrong with the guest as a whole; none: the results are complete

	raw     []byte
	hello   *hello
	ending  *ending
	exit    error // QEMU's
	stopped bool  // by us
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// check compares the guest's output with itself and with the expected tests.
func (r *Report) check(expected []string) {
	r.Tests, r.Output = parseTests(r.raw)
	if r.hello != nil {
		r.Release = r.hello.Release
	}
	crash := kernelComplaint(r.Console)
	switch {
	case r.ending == nil && crash != "":
		r.problem("the guest's kernel crashed: %s", crash)
	case r.ending == nil && !r.stopped:
		r.problem("the guest ended without an end mark (QEMU: %s)", errText(r.exit))
	case r.ending == nil: // the reason is there already
	case r.ending.Problem != "":
		r.problem("the guest's init: %s", r.ending.Problem)
	default:
		r.checkEnding()
		if crash != "" {
			r.problem("the guest's kernel complained: %s", crash)
		}
	}
	r.checkMissing(expected)
}

// checkEnding checks that the exit status agrees with the tests' results.
func (r *Report) checkEnding() {
	failed, unfinished := 0, 0
	for _, t := range r.Tests {
		switch t.Status {
		case Failed:
			failed++
		case Unfinished:
			unfinished++
		}
	}
	e := r.ending
	switch {
	case e.Signal != "":
		r.problem("the test binary was ended by %s", e.Signal)
	case e.Status > 1: // a panic, the limit of time, os.Exit
		r.problem("the test binary ended with status %d", e.Status)
	case e.Status == 1 && failed == 0:
		r.problem("the test binary says that something failed, but no test did")
	case e.Status == 0 && failed+unfinished > 0:
		r.problem("the test binary says that all is well, but %d tests failed and %d did not end", failed, unfinished)
	}
}

func (r *Report) checkMissing(expected []string) {
	seen := map[string]bool{}
	for _, t := range r.Tests {
		seen[t.Name] = true
	}
	var missing []string
	for _, name := range expected {
		if !seen[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		r.problem("%d of %d tests did not run: %s", len(missing), len(expected), strings.Join(missing, " "))
	}
}

// kernelComplaints are the beginnings of a crashing kernel's messages. Soft lockups and RCU stalls are not
// included: on a busy host the emulated processor sometimes pauses.
var kernelComplaints = []string{
	"Kernel panic", "Oops:", "BUG: unable", "BUG: kernel", "kernel BUG at", "BUG: KASAN", "BUG: sleeping", "BUG: scheduling",
	"general protection fault", "WARNING: CPU", "WARNING: possible",
}

// kernelComplaint returns the first line of the console that shows a broken kernel.
func kernelComplaint(console string) string {
	for line := range strings.Lines(console) {
		for _, what := range kernelComplaints {
			if strings.Contains(line, what) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

func errText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// consoleLines is how much of the console a failure shows.
const consoleLines = 60

// lastLines returns the last n lines of a text.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// report reports the guest's result to t.
func report(t *testing.T, r *Report) {
	t.Helper()
	for _, n := range tree(r.Tests) {
		n.run(t)
	}
	count := map[Status]int{}
	for _, test := range r.Tests {
		count[test.Status]++
	}
	t.Logf("guest %s: up after %.1f s, all done after %.1f s: %d tests and subtests passed, %d failed, %d skipped, %d unfinished",
		r.Release, r.Boot.Seconds(), r.Total.Seconds(), count[Passed], count[Failed], count[Skipped], count[Unfinished])
	if r.Output != "" {
		t.Logf("output outside of tests:\n%s", r.Output)
	}
	if len(r.Problems) > 0 {
		t.Errorf("guest: %s\nend of the console:\n%s", strings.Join(r.Problems, "\nguest: "), lastLines(r.Console, consoleLines))
	}
}

// node is a test with its subtests.
type node struct {
	test *Test
	name string // below its parent
	subs []*node
}

// tree finds each test's parent: the test with the longest name that is a path
// above its own.
func tree(tests []*Test) []*node {
	byName := map[string]*node{}
	var roots []*node
	for _, t := range tests {
		n := &node{test: t, name: t.Name}
		byName[t.Name] = n
		var parent *node
		for up := t.Name; parent == nil; {
			i := strings.LastIndexByte(up, '/')
			if i < 0 {
				break
			}
			up = up[:i]
			parent = byName[up]
		}
		if parent == nil {
			roots = append(roots, n)
			continue
		}
		n.name = t.Name[len(parent.test.Name)+1:]
		parent.subs = append(parent.subs, n)
	}
	return roots
}

// run makes the test's result that of a subtest of t.
func (n *node) run(t *testing.T) {
	t.Run(n.name, func(t *testing.T) {
		for _, sub := range n.subs {
			sub.run(t)
		}
		t.Logf("in the guest: %s in %.2f s\n%s", n.test.Status, n.test.Elapsed.Seconds(), n.test.Output)
		switch n.test.Status {
		case Passed:
		case Skipped:
			t.Skip("skipped in the guest: " + skipReason(n.test.Output))
		case Failed:
			t.Fail()
		default:
			t.Error("the test did not end")
		}
	})
}

// skipReason is the last thing that a skipped test logged, without its place.
func skipReason(output string) string {
	last := strings.TrimSpace(lastLines(output, 1))
	if _, reason, ok := strings.Cut(last, ".go:"); ok {
		if _, reason, ok = strings.Cut(reason, ": "); ok {
			return reason
		}
	}
	return last
}
