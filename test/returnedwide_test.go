package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wideUnknown are the functions of programs/returnedwide.c whose results are not taken; their fields say so.
var wideUnknown = []string{"f_v8", "f_large", "f_quadlong"}

// TestReturnedWide: without a collect list a return shows the result, of all classes of the calling convention, as GDB shows the
// object in which the caller has put it; or why it has no value. A function without a result shows nothing.
func TestReturnedWide(t *testing.T) {
	need(t, "gcc", "clang", "gdb")
	src, err := os.ReadFile("programs/returnedwide.c")
	if err != nil {
		t.Fatal(err)
	}
	var funcs []string
	for _, m := range regexp.MustCompile(`F\([^,]*, (f_\w+),`).FindAllStringSubmatch(string(src), -1) {
		funcs = append(funcs, m[1])
	}
	for _, build := range []string{"gcc -O0", "gcc -O2", "clang -O1"} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "returnedwide.c", append(flags[1:], "-g", "-w")...)
			script := filepath.Join(t.TempDir(), "gdb")
			text := "set pagination off\nset width 0\nbreak done\nrun\npython\n"
			for _, f := range funcs {
				text += fmt.Sprintf("print('RESULT %s ' + gdb.parse_and_eval('r_%s').format_string())\n", f, f)
			}
			if err := os.WriteFile(script, []byte(text+"end\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("gdb", "-nx", "-batch", "-x", script, prog).CombinedOutput()
			if err != nil {
				t.Fatalf("gdb: %v\n%s", err, out)
			}
			want := map[string]string{}
			for _, m := range regexp.MustCompile(`(?m)^RESULT (\w+) (.*)$`).FindAllStringSubmatch(string(out), -1) {
				want[m[1]] = m[2]
			}
			if len(want) != len(funcs) || len(want) < 30 {
				t.Fatalf("GDB shows %d results of %d:\n%s", len(want), len(funcs), tail(string(out)))
			}
			args := []string{"trace", "-q", "none%return"}
			for _, f := range funcs {
				args = append(args, f+"%return")
			}
			r := jalon(t, append(args, "--", prog)...)
			got := map[string]string{}
			for _, m := range regexp.MustCompile(`(?m) (\w+)%return(.*)$`).FindAllStringSubmatch(r.stdout, -1) {
				got[m[1]] = strings.TrimSpace(m[2])
			}
			if v, ok := got["none"]; !ok || v != "" {
				t.Errorf("a function without a result: %q, %v", v, ok)
			}
			for _, f := range funcs {
				v, ok := strings.CutPrefix(got[f], "$retval=")
				unknown := strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">")
				if expected := slices.Contains(wideUnknown, f); !ok || unknown != expected || !unknown && v != want[f] {
					t.Errorf("%s: %q, GDB: %s\n%s", f, got[f], want[f], r.stderr)
				}
			}
		})
	}
}
