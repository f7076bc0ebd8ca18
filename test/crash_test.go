package test

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

var crashes = []string{"load1", "load2", "load3", "divide", "illegal", "breakpoint", "breakpoint2", "calls"}

func crashPlaces(prog string) (places []string) {
	for _, f := range crashes {
		places = append(places, "uprobe:"+prog+":"+f)
	}
	return places
}

// A program that handles signals of its instructions sees the same as without jalon, whichever instruction
// under a jump raised them, and can return.
func TestHandledFaults(t *testing.T) {
	prog := compile(t, "gcc", "crash.c", "-g", "-O1", "-pthread", "@crash.S")
	for _, tac := range tactics {
		for _, mode := range []string{"handle", "jump"} {
			r := unchanged(t, []string{prog, mode}, append(crashPlaces(prog), "--avoid", tac.bits, "-c", "*(long*)arg0", "-f", "none")...)
			if r.sum.Hits < uint64(3*len(crashes)) {
				t.Errorf("%s: %s: %+v", mode, tac.name, r.sum)
			}
		}
	}
}

// The core of a program that a signal ends is the same as without jalon: place, callers, signal, registers
// and code.
func TestCores(t *testing.T) {
	need(t, "gdb")
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/") || !strings.HasPrefix(string(pattern), "core") {
		t.Skipf("cores do not go into the current directory here: %s", pattern)
	}
	prog := compile(t, "gcc", "crash.c", "-g", "-O1", "-pthread", "@crash.S")
	list := crashes
	if !full {
		list = []string{"load1", "load3", "breakpoint2", "calls"}
	}
	for _, f := range list {
		want := core(t, prog, prog, f)
		if !strings.Contains(want, f+" ()") {
			t.Fatalf("%s: untraced:\n%s", f, want)
		}
		for i, data := range []string{"$args", "*(long*)arg0"} { // without and with a handler of memory faults
			args := append(jalonArgs("trace", "-f", "none", "-c", data, "--avoid", tactics[i].bits), crashPlaces(prog)...)
			if got := core(t, prog, append(args, "--", prog, f)...); got != want {
				t.Errorf("%s, collecting %s, %s: the core shows\n%s\nand untraced\n%s", f, data, tactics[i].name, got, want)
			}
		}
	}
}

// core runs a program that dumps core and returns what GDB prints of it, without addresses that differ
// between runs. The other thread may be anywhere in the program's own code.
func core(t *testing.T, prog string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		t.Fatalf("%v: %d cores: %s", args, len(cores), out)
	}
	r := run(t, "gdb", "-nx", "-batch", "-ex", "bt", "-ex", "p $_siginfo.si_signo", "-ex", "p $_siginfo.si_code",
		"-ex", "p $_siginfo._sifields._sigfault.si_addr", "-ex", "x/6i $pc", "-ex", "p (long)$rip - (long)main",
		"-ex", "echo others\\n", "-ex", "thread apply all bt", prog, cores[0])
	_, said, _ := strings.Cut(r.stdout, "[Current thread")
	_, said, _ = strings.Cut(said, "\n")
	own, others, _ := strings.Cut(said, "others\n")
	if strings.Contains(others, "?? ()") && !strings.Contains(others, "clone3") {
		t.Errorf("%v: a thread is nowhere:\n%s", args, others)
	}
	return strings.TrimSpace(addresses.ReplaceAllString(own, "ADDR"))
}

var addresses = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// Killed at any moment, also while a signal waits for bytes to be put back, jalon
// leaves a program that runs on with the right results.
func TestKilledInFaults(t *testing.T) {
	rounds := 4
	if full {
		rounds = 300
	}
	prog := compile(t, "gcc", "crash.c", "-g", "-O1", "-pthread", "@crash.S")
	const storm = "12000"
	want := run(t, prog, "storm", storm)
	seed := testkit.Seed(t, 1)
	rnd := rand.New(rand.NewSource(seed))
	hits := 0
	for i := range rounds {
		x := start(t, prog, "storm", storm)
		j := start(t, append(jalonArgs("trace", "-v", "-f", "none", "-p", fmt.Sprint(x.Pid())), crashPlaces(prog)...)...)
		after := time.Duration(rnd.Intn(100_000)) * time.Microsecond
		if i%2 == 0 { // any moment; else one at which it is armed
			eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), "site 1:") || ended(j) || ended(x) })
			after /= 10
		}
		select {
		case <-time.After(after):
		case <-x.Ended:
		}
		if strings.Contains(j.Errs.String(), "instead of the jump") {
			hits++
		}
		if !ended(j) {
			j.Signal(syscall.SIGKILL)
		}
		r := x.wait()
		if r.stdout != want.stdout || r.status != 0 {
			t.Fatalf("seed %d, round %d: status %d, %q, want %q; jalon: %s", seed, i, r.status, r.stdout, want.stdout, tail(j.Errs.String()))
		}
	}
	t.Logf("%d rounds, %d with jumps replaced when jalon was killed", rounds, hits)
}
