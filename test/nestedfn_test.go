package test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNestedFunctions: a function within functions of GNU C has their variables, those of the calls that it belongs to. With
// optimisation there may be none, but not another value.
func TestNestedFunctions(t *testing.T) {
	need(t, "gcc")
	for _, level := range []string{"-O0", "-O1", "-Og", "-O2"} {
		prog := compile(t, "gcc", "nestedfn.c", "-g", level, "-fno-inline")
		plain, err := exec.Command(prog).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(string(plain))
		res := jalon(t, "trace", "-c", "z, loc, k, total, n, arr, named", "nestedfn.c:15", "--", prog)
		var got []string
		for _, l := range strings.Split(res.stdout, "\n") {
			if _, values, ok := strings.Cut(l, "nestedfn.c:15"); ok {
				got = append(got, strings.Fields(values)...)
			}
		}
		if len(got) == 0 || level == "-O0" && strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %q, not %q: status %d: %s", level, got, want, res.status, res.stderr)
		}
		for _, v := range got {
			name, value, _ := strings.Cut(v, "=")
			if strings.HasPrefix(value, "<") || !strings.Contains(v, "=") || name == "arr" {
				continue
			}
			if !strings.Contains(string(plain), v) && level != "-O0" {
				t.Errorf("%s: %s: the program prints %s", level, v, plain)
			}
		}
	}
}
