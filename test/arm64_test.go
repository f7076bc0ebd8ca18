package test

import (
	"os"
	"os/exec"
	"testing"
)

// TestBuildsForArm64: everything but the in-process engine is there on arm64, so
// all packages are compiled for it, and so is the command. (`make check` vets their
// tests too.)
func TestBuildsForArm64(t *testing.T) {
	cmd := exec.Command("go", "build", "-o", t.TempDir()+"/jalon", "../cmd/jalon")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
