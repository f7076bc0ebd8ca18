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

// wideInKernel are those whose results are in general registers or in memory.
var wideInKernel = []string{"f_int128", "f_uint128", "f_quadint", "f_longds", "f_sclong", "f_wide", "f_packed", "f_longint", "f_vints"}

// TestReturnedWide: without a collect list a return shows the result, of all classes of the calling convention, as GDB shows the
// object in which the caller has put it; or why it has no value. A function without a result shows nothing. At uretprobes of
// the kernel the results in registers for floating-point numbers have no value either.
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
			for _, engine := range []string{"process", "kernel"} {
				compareWide(t, engine, prog, funcs, want)
			}
		})
	}
}

// compareWide compares the results that an engine shows.
func compareWide(t *testing.T, engine, prog string, funcs []string, want map[string]string) {
	args := []string{"trace", "-q", "--engine", engine, "none%return"}
	for _, f := range funcs {
		args = append(args, f+"%return")
	}
	r := jalon(t, append(args, "--", prog)...)
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m) (\w+)%return(.*)$`).FindAllStringSubmatch(r.stdout, -1) {
		got[m[1]] = strings.TrimSpace(m[2])
	}
	if v, ok := got["none"]; !ok || v != "" {
		t.Errorf("%s: a function without a result: %q, %v", engine, v, ok)
	}
	for _, f := range funcs {
		v, ok := strings.CutPrefix(got[f], "$retval=")
		unknown := strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">")
		expected := slices.Contains(wideUnknown, f) || engine == "kernel" && !slices.Contains(wideInKernel, f)
		if !ok || unknown != expected || !unknown && v != want[f] {
			t.Errorf("%s: %s: %q, GDB: %s\n%s", engine, f, got[f], want[f], r.stderr)
		}
	}
}
