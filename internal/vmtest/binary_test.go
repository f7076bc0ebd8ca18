package vmtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStaticTestBinary: what a guest runs needs no libraries and has the same tests,
// however go test has linked this binary.
func TestStaticTestBinary(t *testing.T) {
	if Guest() {
		t.Skip("there is no go in a guest")
	}
	data, err := staticTestBinary()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "guest.test")
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if dynamic, err := needsLibraries(bin); dynamic || err != nil {
		t.Errorf("needs libraries: %v, %v", dynamic, err)
	}
	if ours, theirs := Output(t, "/proc/self/exe", "-test.list=."), Output(t, bin, "-test.list=."); ours != theirs {
		t.Errorf("the guest's binary has the tests\n%s\nnot\n%s", theirs, ours)
	}
}
