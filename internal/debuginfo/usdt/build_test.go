package usdt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// build compiles files of testdata.
func build(t testing.TB, cc, flags string, files ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog")
	args := strings.Fields(flags)
	for _, f := range files {
		args = append(args, filepath.Join("testdata", f))
	}
	command(t, cc, append(args, "-w", "-o", out)...)
	return out
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}

func open(t testing.TB, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func read(t testing.TB, path string) []Probe {
	t.Helper()
	p, err := Read(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
