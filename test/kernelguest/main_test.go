// Package kernelguest runs the jalon command under kernels with features that the machine of the tests may
// lack: kprobes, kretprobes, fentry and fexit, and the debug information of the kernel. A small C program
// makes known system calls, with which counts and values are compared.
package kernelguest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(namespaceVar) != "" {
		inNamespace(os.Args[1:])
	}
	vmtest.Main(m)
}

const fullVar = "JALON_FULL"

// Where the guests have the programs.
const (
	jalon  = "/bin/jalon"
	calls  = "/bin/calls"
	source = "/src/calls.c"
)

// files are the files of every guest.
func files(t *testing.T) map[string]vmtest.File {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "jalon")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "../../cmd/jalon")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+vmtest.Arch)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building jalon: %v\n%s", err, out)
	}
	text, err := os.ReadFile("testdata/calls.c")
	if err != nil {
		t.Fatal(err)
	}
	clocks, err := os.ReadFile("testdata/ticks.c")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]vmtest.File{
		jalon:  {Host: bin, Mode: 0o755},
		ticks:  vmtest.StaticC(t, string(clocks), "-O1"),
		calls:  vmtest.StaticC(t, string(text), "-O1", "-DMARKERS"),
		source: {Data: text},
	}
}

// TestGuests boots the guests. With JALON_FULL=1 old kernels also get a thousand probes, which takes
// minutes.
func TestGuests(t *testing.T) {
	common := files(t)
	var limit time.Duration
	var env []string
	if full := os.Getenv(fullVar); full != "" {
		limit, env = 30*time.Minute, []string{fullVar + "=" + full}
	}
	for _, kernel := range vmtest.Kernels {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: runOnly(), Skip: "^TestGuest_Vmlinux|^TestGuest_GDB|^TestGuest_Exchange", Files: common, Memory: 1024, Timeout: limit, Env: env})
		})
	}
}

func runOnly() string {
	if v := os.Getenv("JALON_GUEST_RUN"); v != "" {
		return v
	}
	return "^TestGuest_"
}
