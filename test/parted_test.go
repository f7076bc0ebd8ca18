package test

import (
	"strings"
	"testing"
)

// TestParted: sites in both parts of a function that the compiler has split, in either
// order.
func TestParted(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "parted.c", "-O2", "-g", "-fno-pie", "-no-pie")
	at := map[string]string{}
	for l := range strings.Lines(run(t, "nm", prog).stdout) {
		if f := strings.Fields(l); len(f) == 3 {
			at[f[2]] = "*0x" + strings.TrimLeft(f[0], "0")
		}
	}
	likely, unlikely := at["work"], at["work.cold"]
	if unlikely == "" {
		t.Fatal("gcc has not split the function")
	}
	for _, places := range [][]string{{likely, unlikely}, {unlikely, likely}, {unlikely, "work"}} {
		res := jalon(t, append(append([]string{"trace", "-f", "none"}, places...), "--", prog)...)
		for _, p := range places {
			want := map[string]string{likely: "1000", unlikely: "10", "work": "1000"}[p]
			if f := countsOf(res.stderr, p); len(f) < 2 || f[1] != want {
				t.Errorf("%v: %s has %v, want %s hits\n%s", places, p, f, want, res.stderr)
			}
		}
	}
}

// countsOf is the line of a place in the summary.
func countsOf(summary, place string) []string {
	for l := range strings.Lines(summary) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == place {
			return f
		}
	}
	return nil
}
