package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

func TestMain(m *testing.M) { vmtest.Main(m) }

// Paths in the guest.
const (
	guestJalon    = "/bin/jalon"
	guestLoop     = "/bin/loop"
	guestBpftrace = "/bin/bpftrace"
)

var (
	guestRounds = flag.Int("guest.rounds", 3, "rounds in the guest")
	guestKernel = flag.String("guest.kernel", "", "only this kernel (6.1, 6.12)")
	guestCount  = flag.Bool("guest.count", false, "the guest's clock counts instructions: one nanosecond each")
	guestFigs   = flag.String("guest.figures", "", "write the figures to this file with the kernel's name before .json")
	guestOnly   = flag.String("guest.only", "", "run only the guest's cases that match")
)

// BenchmarkGuest measures kprobes, fentry and their returns in a guest, since the machine's own kernel may
// lack them. The guest's processor is emulated: only ratios are meaningful.
func BenchmarkGuest(b *testing.B) {
	dir := b.TempDir()
	loop, jalon := filepath.Join(dir, "loop"), filepath.Join(dir, "jalon")
	build(b, "gcc", "-O2", "-g", "-static", "-fcf-protection=none", "-o", loop, "work/loop.c")
	build(b, "go", "build", "-ldflags=-s -w", "-o", jalon, "../../cmd/jalon")
	files := map[string]vmtest.File{
		guestLoop:  {Host: loop},
		guestJalon: {Host: jalon},
	}
	addProgram(b, files, guestBpftrace, "bpftrace")
	for _, kernel := range vmtest.Kernels {
		if *guestKernel != "" && kernel != *guestKernel {
			continue
		}
		r, err := vmtest.Boot(b.Context(), vmtest.Config{
			Kernel: kernel, Run: "^TestGuest_Bench$", Files: files, Timeout: 30 * time.Minute, Count: *guestCount,
			Args: []string{fmt.Sprintf("-guest.rounds=%d", *guestRounds), "-guest.only=" + *guestOnly},
			Skip: "^$",
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, test := range r.Tests {
			out, figures, _ := strings.Cut(test.Output, figuresBegin)
			b.Logf("guest %s: %s\n%s", r.Release, test.Status, out)
			figures, _, _ = strings.Cut(figures, figuresEnd)
			if err := keepFigures(kernel, figures); err != nil {
				b.Fatal(err)
			}
		}
		for _, p := range r.Problems {
			b.Errorf("guest %s: %s\n%s", kernel, p, r.Output)
		}
	}
}

// What is between these is the file of figures.
const (
	figuresBegin = "--- figures begin"
	figuresEnd   = "--- figures end"
)

// keepFigures writes the guest's figures to the host's file.
func keepFigures(kernel, text string) error {
	if *guestFigs == "" || text == "" {
		return nil
	}
	return os.WriteFile(strings.TrimSuffix(*guestFigs, ".json")+"-"+kernel+".json", []byte(strings.TrimSpace(text)+"\n"), 0o644)
}

// TestGuest_Bench runs the cases inside the guest.
func TestGuest_Bench(t *testing.T) {
	var out bytes.Buffer
	b := &bench{
		jalon: guestJalon, loopPath: guestLoop, calls: 500, batches: 15, guest: true, out: &out,
		figures: filepath.Join(t.TempDir(), "figures.json"),
	}
	err := b.run(*guestRounds, *guestOnly)
	t.Log("\n" + out.String())
	if text, err := os.ReadFile(b.figures); err == nil {
		t.Logf("%s\n%s\n%s", figuresBegin, text, figuresEnd)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func build(b *testing.B, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, msg)
	}
}

// addProgram copies a program of the host and its libraries into the guest.
func addProgram(b *testing.B, files map[string]vmtest.File, to, name string) {
	b.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		b.Logf("%s is not installed: its columns will be empty", name)
		return
	}
	out, err := exec.Command("ldd", path).Output()
	if err != nil {
		b.Fatalf("ldd %s: %v", path, err)
	}
	files[to] = vmtest.File{Host: path, Mode: fs.FileMode(0o755)}
	for line := range strings.Lines(string(out)) {
		for _, f := range strings.Fields(line) { // "name => path (address)" or "path (address)"
			if !strings.HasPrefix(f, "/") {
				continue
			}
			real, err := filepath.EvalSymlinks(f)
			if err != nil {
				b.Fatal(err)
			}
			files[f] = vmtest.File{Host: real, Mode: fs.FileMode(0o755)}
		}
	}
}
