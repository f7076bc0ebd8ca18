package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGoMoved: variables of Go that are moved to the heap have their values or none, at each instruction of the function, also
// before they are moved.
func TestGoMoved(t *testing.T) {
	need(t, "objdump")
	src, err := os.ReadFile("programs/moved.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "-N -l"} {
		dir := t.TempDir()
		prog := filepath.Join(dir, "moved")
		if err := os.WriteFile(filepath.Join(dir, "moved.go"), src, 0o600); err != nil {
			t.Fatal(err)
		}
		buildOther(t, dir, "go", "build", "-gcflags="+flags, "-o", prog, "moved.go")
		args := []string{"trace", "-q", "-c", "s, sl.len, sl.cap, p.x, p.y"}
		for _, m := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t`).FindAllStringSubmatch(run(t, "objdump", "-d", "--no-show-raw-insn", "--disassemble=main.moved", prog).stdout, -1) {
			args = append(args, "*0x"+m[1])
		}
		if len(args) < 40 {
			t.Fatalf("%d instructions", len(args)-4)
		}
		r := jalon(t, append(args, "--", prog)...)
		right, missing := map[string]bool{}, map[string]bool{}
		want := map[string]string{"s": `"text"`, "sl.len": "3", "sl.cap": "3", "p.x": "5", "p.y": "6"}
		events := regexp.MustCompile(`(?m) \*(0x[0-9a-f]+) +(s=.*)$`).FindAllStringSubmatch(r.stdout, -1)
		for _, m := range events {
			for _, v := range regexp.MustCompile(`([a-z.]+)=(<[^>]*>|\S+)`).FindAllStringSubmatch(m[2], -1) {
				switch {
				case v[2] == want[v[1]]:
					right[v[1]] = true
				case v[2] == "<optimised out>":
					missing[v[1]] = true
				default:
					t.Errorf("%q: %s has %s", flags, m[1], v[0])
				}
			}
		}
		if len(events) < 90 || len(right) < 5 || flags == "" && len(missing) < 5 {
			t.Errorf("%q: %d events, values of %d variables, none of %d\n%s", flags, len(events), len(right), len(missing), r.stderr)
		}
		if out := run(t, prog).stdout; !strings.HasPrefix(r.stdout, "15\n") && !strings.Contains(r.stdout, "\n15\n") || !strings.HasPrefix(out, "15\n") {
			t.Errorf("the program prints %q", out)
		}
	}
}
