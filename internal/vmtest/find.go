package vmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// findKernel returns the path of the image that cfg.Kernel means.
func findKernel(ctx context.Context, kernel string) (string, error) {
	if strings.Contains(kernel, "/") {
		if _, err := os.Stat(kernel); err != nil {
			return "", fmt.Errorf("the guest's kernel: %w", err)
		}
		return filepath.Abs(kernel)
	}
	script, err := kernelScript()
	if err != nil {
		return "", err
	}
	// Other packages' tests may be downloading the same kernel: the script waits.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var out, msg bytes.Buffer
	cmd := exec.CommandContext(ctx, script, "image", kernel, Arch)
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("finding the guest's kernel %s: %w\n%s", kernel, err, bytes.TrimSpace(msg.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}

// kernelScript finds scripts/kernel.sh from a package's directory, where tests run.
func kernelScript() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "scripts", "kernel.sh"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above it, so no scripts/kernel.sh to find kernels with", wd)
		}
	}
}

// testArgs are the arguments of the test binary in the guest.
func testArgs(cfg Config) []string {
	args := []string{
		"-test.v=test2json", // frames the output of each test without ambiguity
		"-test.run=" + cfg.Run,
		"-test.skip=" + cfg.Skip,
		"-test.timeout=" + cfg.timeout().String(),
		"-test.paniconexit0",
	}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	return append(args, cfg.Args...)
}

func (cfg Config) timeout() time.Duration { return orDuration(cfg.Timeout, 15*time.Minute) }

func orDuration(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

// listTests lists the top-level tests that a guest will run.
func listTests(ctx context.Context, cfg Config) ([]string, error) {
	top, _, _ := strings.Cut(cfg.Run, "/")
	skip, err := regexp.Compile(cfg.Skip)
	if err != nil {
		return nil, fmt.Errorf("Config.Skip: %w", err)
	}
	var out, msg bytes.Buffer
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.list="+top)
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("listing the tests that match %q: %w\n%s", cfg.Run, err, msg.Bytes())
	}
	var names []string
	for _, name := range strings.Fields(out.String()) {
		if !strings.HasPrefix(name, "Benchmark") && (cfg.Skip == "" || !skip.MatchString(name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no test matches %q (without %q)", cfg.Run, cfg.Skip)
	}
	return names, nil
}

// rootName is the name of the top-level test that a test belongs to.
func rootName(name string) string {
	root, _, _ := strings.Cut(name, "/")
	return root
}

// StaticC compiles a C program without shared libraries, as guests need it, and
// returns it as a file of a guest.
func StaticC(t *testing.T, source string, flags ...string) File {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "prog.c"), filepath.Join(dir, "prog")
	if err := os.WriteFile(in, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-static", "-g", "-o", out, in}, flags...)
	msg, err := exec.CommandContext(t.Context(), boardOf(Arch).gcc, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%s is missing (scripts/deps.sh installs it): %v", boardOf(Arch).gcc, err)
	}
	if err != nil {
		t.Fatalf("compiling a program for the guest: %v\n%s", err, msg)
	}
	return File{Host: out}
}
