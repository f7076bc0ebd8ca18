package kernel

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReturnDanger: a uretprobe that would kill the program is refused, or causes a warning at arming and
// in the list; harmless ones cause none. The warnings are verified.
func TestReturnDanger(t *testing.T) {
	throws := compile(t, "g++", "returns.cc", "-g", "-O1", "-pthread")
	c := compile(t, "gcc", "returns.c", "-g", "-O1", "-pthread")
	goProgram := buildGo(t, "returns")
	for _, tt := range []struct {
		name, file, place, arg string
		refused                bool
		says                   string // "": no warning
		ends                   string // how the program ends
		hits                   uint64
	}{
		{"a C++ exception", throws, "passed", "throw", false, "C++ exception", "killed by SIGABRT", 0},
		{"C++ without a call", throws, "leaf", "leaf", false, "", "exited with status 0", 9},
		{"Go", goProgram, "main.grow", "", true, "this is Go code", "", 0},
		{"the first function", c, "_start", "leaf", true, "no return address is on top of the stack", "", 0},
		{"longjmp", c, "jumps", "jump", false, "swapcontext", "exited with status 0", 6},
		{"a tail call", c, "tail", "tail", false, "swapcontext", "exited with status 0", 9},
		{"another thread", c, "moves", "move", false, "swapcontext", "killed by SIGILL", 0},
		{"cancellation", c, "sleeps", "cancel", false, "swapcontext", "exited with status 0", 0},
		{"deep recursion", c, "deep", "deep", false, "swapcontext", "exited with status 0", 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			place := "uretprobe:" + tt.file + ":" + tt.place
			list := jalon(t, "list", place)
			said := list.Out.String() + list.Errs.String()
			if !strings.Contains(said, tt.says) || tt.says == "" && strings.Contains(said, "warning") {
				t.Errorf("jalon list does not say %q:\n%s", tt.says, said)
			}
			tr := run(t, place, "--engine=kernel", "--", tt.file, tt.arg)
			if text := tr.Errs.String(); !strings.Contains(text, tt.says) || tt.refused != (tr.Status == 2 && strings.Contains(text, "error:")) {
				t.Errorf("status %d, not %q:\n%s", tr.Status, tt.says, text)
			}
			if tt.refused {
				return
			}
			if !strings.Contains(tr.Errs.String(), `"outcome":"`+tt.ends) {
				t.Errorf("the program has not %s:\n%s", tt.ends, tr.Errs.String())
			}
			tr.check("returns", tr.counts().Recorded, tt.hits)
		})
	}
}

// buildGo builds the program testdata/NAME/main.go.
func buildGo(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", bin, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}
