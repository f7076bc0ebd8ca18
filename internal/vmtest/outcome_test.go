package vmtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const helloC = `#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "sleep"))
		for (;;) pause();
	printf("hello from C: %s\n", argv[1]);
}
`

// needGuest skips a test that boots guests if guests are disabled.
func needGuest(t *testing.T) {
	if os.Getenv(noVMVar) == "1" {
		t.Skip(noVMVar + "=1: no guest is booted")
	}
}

// Tests that pass in a guest pass on the host, for both kernels, and no result is lost.
func TestGood(t *testing.T) {
	needGuest(t)
	hello := StaticC(t, helloC)
	for _, kernel := range Kernels {
		t.Run(kernel, func(t *testing.T) {
			r := boot(t, Config{
				Kernel: kernel, Run: "^TestGuest_Good", Env: []string{"VMTEST_ENV=a value"},
				Files: map[string]File{
					"/some/where/bytes": {Data: []byte("some bytes")},
					"/bin/hello-c":      hello,
					"/tree":             {Host: "."},
				},
			})
			if len(r.Problems) > 0 {
				t.Errorf("problems: %q\n%s", r.Problems, r.Console)
			}
			if !strings.HasPrefix(r.Release, kernel+".") {
				t.Errorf("release %q", r.Release)
			}
			checkGood(t, r)
		})
	}
}

func checkGood(t *testing.T, r *Report) {
	want := map[string]Status{
		"TestGuest_GoodPass": Passed, "TestGuest_GoodSkip": Skipped, "TestGuest_GoodMachine": Passed,
		"TestGuest_GoodSubtests": Passed, "TestGuest_GoodSubtests/one": Passed,
		"TestGuest_GoodSubtests/two/with_slash": Passed, "TestGuest_GoodSubtests/two/with_slash/deep": Skipped,
		"TestGuest_GoodParallelA": Passed, "TestGuest_GoodParallelB": Passed,
		"TestGuest_GoodMuchOutput": Passed, "TestGuest_GoodOrphan": Passed, "TestGuest_GoodFeatures": Passed,
	}
	for _, f := range features {
		want["TestGuest_GoodFeatures/"+strings.ReplaceAll(f.name, " ", "_")] = Passed
	}
	compareStatus(t, r, want)
	contains(t, r, "TestGuest_GoodPass", "a log line", "printed without an end of line")
	contains(t, r, "TestGuest_GoodSkip", "a reason with: colons")
	if got := skipReason(find(t, r, "TestGuest_GoodSkip").Output); got != "a reason with: colons" {
		t.Errorf("reason of the skip: %q", got)
	}
	for _, name := range []string{"A", "B"} {
		var lines []string
		for i := range 20 {
			lines = append(lines, fmt.Sprintf("line %s %d\n", name, i))
		}
		contains(t, r, "TestGuest_GoodParallel"+name, lines...)
	}
	var all strings.Builder
	for i := range outputLines {
		fmt.Fprintf(&all, "line %d of much output\n", i)
	}
	if got := find(t, r, "TestGuest_GoodMuchOutput").Output; got != all.String() {
		t.Errorf("much output: %d bytes came of %d, or others", len(got), all.Len())
	}
}

// Each kind of failure in a guest is reported on the host.
func TestBad(t *testing.T) {
	needGuest(t)
	for _, c := range []struct {
		name, kernel, run string
		always            bool // not only with JALON_FULL=1: each is a boot
		change            func(*Config)
		status            map[string]Status
		output            []string // of the first test
		problems          []string // a piece of each
	}{
		{
			name: "fail and hang", run: "^TestGuest_(BadFail|BadHang|BadNested|GoodSkip)$", always: true,
			change: func(cfg *Config) { cfg.Timeout = 5 * time.Second },
			status: map[string]Status{
				"TestGuest_BadFail": Failed, "TestGuest_BadFail/sub": Failed, "TestGuest_BadFail/good": Passed,
				"TestGuest_BadNested": Failed, "TestGuest_BadHang": Unfinished, "TestGuest_GoodSkip": Skipped,
			},
			problems: []string{"ended with status 2"},
		},
		{
			name: "fail", run: "^TestGuest_(BadFail|GoodSkip)$",
			status: map[string]Status{
				"TestGuest_BadFail": Failed, "TestGuest_BadFail/sub": Failed, "TestGuest_BadFail/good": Passed,
				"TestGuest_GoodSkip": Skipped,
			},
		},
		{
			name: "panic", run: "^TestGuest_BadPanic", always: true,
			status:   map[string]Status{"TestGuest_BadPanic": Failed},
			output:   []string{"panic: a panic on purpose", "guest_test.go:"},
			problems: []string{"ended with status 2", "1 of 2 tests did not run: TestGuest_BadPanicAfter"},
		},
		{
			name: "killed", run: "^TestGuest_BadKilled$",
			status:   map[string]Status{"TestGuest_BadKilled": Unfinished},
			output:   []string{"last words"},
			problems: []string{"ended by SIGKILL"},
		},
		{
			name: "exit", run: "^TestGuest_BadExit$",
			status:   map[string]Status{"TestGuest_BadExit": Failed},
			output:   []string{"last words", "unexpected call to os.Exit(0)"},
			problems: []string{"ended with status 2"},
		},
		{
			name: "hang", run: "^TestGuest_BadHang$",
			change:   func(cfg *Config) { cfg.Timeout = 5 * time.Second },
			status:   map[string]Status{"TestGuest_BadHang": Unfinished},
			output:   []string{"last words", "test timed out after 5s", "TestGuest_BadHang("},
			problems: []string{"ended with status 2"},
		},
		{
			name: "hang without the test binary's limit", run: "^TestGuest_BadHang$",
			change: func(cfg *Config) {
				cfg.Timeout, cfg.grace, cfg.Args = 2*time.Second, time.Second, []string{"-test.timeout=0"}
			},
			status:   map[string]Status{"TestGuest_BadHang": Unfinished},
			output:   []string{"last words"},
			problems: []string{"the tests do not end"},
		},
		{
			// From 6.8 on the scheduler keeps some time for ordinary processes.
			name: "standstill", kernel: "6.1", run: "^TestGuest_BadStandstill$",
			change:   func(cfg *Config) { cfg.Silence = 5 * time.Second },
			status:   map[string]Status{"TestGuest_BadStandstill": Unfinished},
			problems: []string{"no sign of life for 5s"},
		},
		{
			name: "crash 6.12", run: "^TestGuest_BadCrash$", always: true,
			status:   map[string]Status{"TestGuest_BadCrash": Unfinished},
			problems: []string{"the guest's kernel crashed: [", "Kernel panic"},
		},
		{
			name: "crash 6.1", kernel: "6.1", run: "^TestGuest_BadCrash$",
			status:   map[string]Status{"TestGuest_BadCrash": Unfinished},
			problems: []string{"the guest's kernel crashed: [", "Kernel panic"},
		},
		{
			name: "power off", run: "^TestGuest_BadPowerOff$",
			status:   map[string]Status{"TestGuest_BadPowerOff": Unfinished},
			problems: []string{"ended without an end mark (QEMU: exit status 0)"},
		},
		{
			name: "damaged line", run: "^TestGuest_BadLine$",
			problems: []string{"the guest's results are damaged"},
		},
	} {
		if !c.always && os.Getenv("JALON_FULL") == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Kernel: c.kernel, Run: c.run}
			if cfg.Kernel == "" {
				cfg.Kernel = "6.12"
			}
			if c.change != nil {
				c.change(&cfg)
			}
			r := boot(t, cfg)
			if c.status != nil {
				compareStatus(t, r, c.status)
			}
			if len(c.output) > 0 {
				contains(t, r, r.Tests[0].Name, c.output...)
			}
			problems := strings.Join(r.Problems, "\n")
			for _, want := range c.problems {
				if !strings.Contains(problems, want) {
					t.Errorf("no problem with %q among\n%s\n%s", want, problems, r.Console)
				}
			}
			if len(c.problems) == 0 && problems != "" {
				t.Errorf("problems: %s", problems)
			}
		})
	}
}

func boot(t *testing.T, cfg Config) *Report {
	t.Helper()
	r, err := Boot(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s up after %.1f s, gone after %.1f s; problems: %q", r.Release, r.Boot.Seconds(), r.Total.Seconds(), r.Problems)
	return r
}

func find(t *testing.T, r *Report, name string) *Test {
	t.Helper()
	for _, test := range r.Tests {
		if test.Name == name {
			return test
		}
	}
	t.Fatalf("no result of %s", name)
	return nil
}

func contains(t *testing.T, r *Report, name string, wants ...string) {
	t.Helper()
	out := find(t, r, name).Output
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("%s: %q is not in its output:\n%s", name, want, out)
		}
	}
}

func compareStatus(t *testing.T, r *Report, want map[string]Status) {
	t.Helper()
	for name, status := range want {
		if got := find(t, r, name); got.Status != status {
			t.Errorf("%s: %s, want %s\n%s", name, got.Status, status, lastLines(got.Output, 20))
		}
	}
	if len(r.Tests) != len(want) {
		for _, test := range r.Tests {
			t.Logf("%s %s", test.Name, test.Status)
		}
		t.Errorf("%d results, want %d", len(r.Tests), len(want))
	}
}

// JALON_VMTEST_REPORT makes TestReport report a made-up guest, in a process of its
// own, so that it can see what the testing package makes of it.
const innerVar = "JALON_VMTEST_REPORT"

var madeUp = map[string]*Report{
	"good":    {Tests: []*Test{{Name: "A", Status: Passed, Output: "log of A\n"}, {Name: "B", Status: Skipped, Output: "    x.go:3: because: so\n"}}},
	"failed":  {Tests: []*Test{{Name: "A", Status: Failed, Output: "log of A\n"}, {Name: "A/sub", Status: Failed}, {Name: "A/sub/x", Status: Passed}}},
	"hanging": {Tests: []*Test{{Name: "A", Status: Unfinished, Output: "log of A\n"}}},
	"problem": {Tests: []*Test{{Name: "A", Status: Passed}}, Problems: []string{"something"}, Console: "last line of the console\n"},
}

func TestReport(t *testing.T) {
	if name := os.Getenv(innerVar); name != "" {
		report(t, madeUp[name])
		return
	}
	for name, want := range map[string][]string{
		"good":    {"--- PASS: TestReport/A", "--- SKIP: TestReport/B", "skipped in the guest: because: so", "log of A", "\nPASS"},
		"failed":  {"--- FAIL: TestReport/A", "--- FAIL: TestReport/A/sub", "--- PASS: TestReport/A/sub/x", "log of A", "\nFAIL"},
		"hanging": {"--- FAIL: TestReport/A", "the test did not end", "log of A", "\nFAIL"},
		"problem": {"--- PASS: TestReport/A", "guest: something", "last line of the console", "\nFAIL"},
	} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestReport$", "-test.v")
		cmd.Env = append(os.Environ(), innerVar+"="+name)
		out, err := cmd.CombinedOutput()
		if good := name == "good"; good != (err == nil) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, w := range want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: %q is not in\n%s", name, w, out)
			}
		}
	}
}
