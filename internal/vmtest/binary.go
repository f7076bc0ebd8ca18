package vmtest

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
)

// packageDir is where go test starts a test binary: the directory of its package.
var packageDir, _ = os.Getwd()

// testBinary is the test binary that guests run. It must be static, since a guest has
// no libraries: the running one where it is, else one that is built for the purpose
// (go test without CGO_ENABLED=0 links some packages with libc, and a guest may have another processor).
var testBinary = sync.OnceValues(func() ([]byte, error) {
	const self = "/proc/self/exe"
	if Arch != runtime.GOARCH {
		return staticTestBinary()
	}
	dynamic, err := needsLibraries(self)
	if err != nil {
		return nil, fmt.Errorf("reading the running test binary: %w", err)
	}
	if !dynamic {
		return os.ReadFile(self)
	}
	return staticTestBinary()
})

func needsLibraries(name string) (bool, error) {
	f, err := elf.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true, nil
		}
	}
	return false, nil
}

// staticTestBinary builds the tests of this package as go test does, but without cgo.
func staticTestBinary() ([]byte, error) {
	dir, err := os.MkdirTemp("", "vmtest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.test")
	cmd := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-tags="+buildTags(), "-o", out, ".")
	cmd.Dir = packageDir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+Arch)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building a static test binary for the guest in %s: %w\n%s", packageDir, err, msg)
	}
	return os.ReadFile(out)
}

// buildTags are those that the running binary was built with.
func buildTags() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "-tags" {
			return s.Value
		}
	}
	return ""
}
