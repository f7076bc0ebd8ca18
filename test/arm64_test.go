package test

import (
	"os"
	"os/exec"
	"testing"
)

// TestBuildsForArm64: all packages and the command compile for arm64, where everything except the
// in-process engine is supported. (`make check` also vets their tests.)
func TestBuildsForArm64(t *testing.T) {
	cmd := exec.Command("go", "build", "-o", t.TempDir()+"/jalon", "../cmd/jalon")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
