package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFullOutput: a result that cannot be written is an error, of each command.
func TestFullOutput(t *testing.T) {
	prog := recordProgram(t)
	dir := filepath.Join(t.TempDir(), "run1")
	if r := jalon(t, "record", "-q", "-o", dir, "handle", "-c", "i", "--", prog, "50"); r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	for _, args := range [][]string{
		{"report", dir},
		{"report", dir, "--stat"},
		{"report", dir, "--hist", "i"},
		{"report", dir, "--hist", "i", "-f", "json"},
		{"list", prog},
		{"check"},
		{"version"},
		{"run", "-l", "interval:*"},
		{"run", "-e", "begin { print(1) }"},
		{"trace", "handle", "--", prog, "5"},
		{"trace", "handle", "--count", "--", prog, "5"},
		{"trace", "handle", "--hist", "i", "-f", "json", "--", prog, "5"},
		{"trace", "-q", "handle", "--count", "-o", "/dev/full", "--", prog, "5"},
		{"trace", "handle", "--do", "@ = count()", "--", prog, "5"},
	} {
		r := run(t, append([]string{"sh", "-c", `exec "$@" > /dev/full`, "sh", jalonBin}, args...)...)
		if r.status != 1 || !strings.Contains(r.stderr, "no space left on device") {
			t.Errorf("%q: status %d: %s", args, r.status, r.stderr)
		}
	}
	// A trace that is refused leaves the last one's output as it is; one without events empties it.
	kept := filepath.Join(t.TempDir(), "kept")
	for _, x := range []struct{ place, want string }{{"handle if (nosuch > 1)", "events\n"}, {"handle if (i < 0)", ""}} {
		if err := os.WriteFile(kept, []byte("events\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		jalon(t, "trace", x.place, "-o", kept, "--", prog, "5")
		if b, err := os.ReadFile(kept); err != nil || string(b) != x.want {
			t.Errorf("%s: %q %v, want %q", x.place, b, err, x.want)
		}
	}
}
