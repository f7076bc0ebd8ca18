// Package testkit has the common parts of tests across packages: jalon built once, programs compiled once,
// and inspection of processes.
//
// Import rule: testkit imports nothing of jalon.
package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a program may take before it is treated as hanging, on a machine with many times more work than
// processors.
const Patience = 4 * time.Minute

// WithJalon builds the command from source (a path to cmd/jalon) into a directory that
// every user can read, runs the tests and removes it. It returns the exit status.
func WithJalon(source string, run func(dir, bin string) int) int {
	defaultSignals()
	_ = os.Setenv("JALON_CONFIG", "") // tests do not depend on the configuration of this machine
	_ = os.Setenv("NO_COLOR", "1")
	dir, err := os.MkdirTemp("", "jalon-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // for tests as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin := filepath.Join(dir, "jalon")
	cmd := exec.Command("go", "build", "-o", bin, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building jalon: %v\n%s", err, out)
		return 1
	}
	return run(dir, bin)
}

// Builder compiles programs, each once.
type Builder struct {
	From  string // where the sources are
	mu    sync.Mutex
	byKey map[string]string
}

// Compile builds a source with a compiler (or "go") and flags into a new directory
// below temp, and returns the path of the program. A src with a slash is a path; so is,
// below From, a flag that begins with "@".
func (b *Builder) Compile(t testing.TB, temp, cc, src string, flags ...string) string {
	t.Helper()
	key := fmt.Sprint(cc, src, flags)
	b.mu.Lock()
	defer b.mu.Unlock()
	if bin := b.byKey[key]; bin != "" {
		return bin
	}
	base := strings.TrimSuffix(filepath.Base(src), filepath.Ext(src))
	dir, err := os.MkdirTemp(temp, base+"-")
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(dir, 0o755)
	bin := filepath.Join(dir, base)
	var list []string
	for _, f := range flags { // after the source, so that libraries (-l) resolve its symbols
		if name, ok := strings.CutPrefix(f, "@"); ok {
			f = b.source(t, name)
		}
		list = append(list, f)
	}
	args := append([]string{"-o", bin, b.source(t, src)}, list...)
	if cc == "go" {
		args = append(append([]string{"build", "-o", bin}, list...), b.source(t, src))
	}
	cmd := exec.Command(cc, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	if b.byKey == nil {
		b.byKey = map[string]string{}
	}
	b.byKey[key] = bin
	return bin
}

func (b *Builder) source(t testing.TB, name string) string {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = filepath.Join(b.From, name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Need fails the test when a program that it is about is not installed: `make test`
// installs them all.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("%v; `make test` installs what the tests need", err)
		}
	}
}

// Eventually waits for a condition. A failure contains the name of the condition and the state of every
// program that still runs.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v not true: %s%s", Patience, what, hanging())
		}
		time.Sleep(time.Millisecond)
	}
}

// Alive reports whether a process exists and is not a zombie.
func Alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

// TracerOf is the pid of a process's tracer; 0 = none.
func TracerOf(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range strings.Split(string(b), "\n") {
		var n int
		if _, err := fmt.Sscanf(line, "TracerPid: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// Tail is the end of a long text.
func Tail(s string) string {
	const limit = 4000
	if len(s) <= limit {
		return s
	}
	return "..." + s[len(s)-limit:]
}

// Page compares a page of the documentation with the text that is made for it, or writes it.
func Page(t *testing.T, path, text string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s is not current (make generate): %v", path, err)
	}
}
