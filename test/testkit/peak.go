package testkit

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// peakSource is a program that starts another one and writes to a file how much memory that had at most.
//
//go:embed testdata/peak.c
var peakSource []byte

// Peak returns a command that runs args and, for after its end, how much memory it had at most, in bytes.
//
// The number that a Go program has of its child is not that of the child alone: Go starts a child in its own memory (vfork),
// and at the child's execve the kernel counts that memory as the child's (exec_mmap, setmax_mm_hiwater_rss). A test
// program that is larger than the child would measure itself.
func Peak(t testing.TB, args ...string) (command []string, bytes func() int64) {
	t.Helper()
	prog, err := peakProgram()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kib")
	return append([]string{prog, file}, args...), func() int64 {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return kib << 10
	}
}

// peakProgram compiles the program once. It has no name in the file system, so nothing is left of it.
var peakProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "jalon-peak")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	source, prog := filepath.Join(dir, "peak.c"), filepath.Join(dir, "peak")
	if err := os.WriteFile(source, peakSource, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("gcc", "-o", prog, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	f, err := os.Open(prog)
	if err != nil {
		return "", err
	}
	peakFile = f // stays open
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), peakFile.Fd()), nil
})

var peakFile *os.File
