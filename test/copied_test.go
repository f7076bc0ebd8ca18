package test

import (
	"strings"
	"testing"
)

// TestCopiedCode: a program that runs a copy of some of its code, made while it is traced, computes the
// right results. Copied functions are skipped, and jalon prints the reason.
func TestCopiedCode(t *testing.T) {
	prog := compile(t, "gcc", "copied.c", "-O2")
	for _, avoid := range []string{"0", "3", "7"} {
		r := unchanged(t, []string{prog}, "-f", "none", "--avoid", avoid, "uprobe:"+prog+":*")
		if r.sum.Sites < 3 || r.sum.Hits < 1000 {
			t.Errorf("--avoid %s: %+v", avoid, r.sum)
		}
		if !strings.Contains(r.stderr, "3 of ") || !strings.Contains(r.stderr, "the program copies this function: V8 runs a copy") {
			t.Errorf("--avoid %s: the skipped addresses are not reported: %s", avoid, tail(r.stderr))
		}
	}
	for _, place := range []string{"uprobe:" + prog + ":Builtins_Half", "uprobe:" + prog + ":label_in_blob"} {
		r := jalon(t, "trace", place, "--", prog)
		if r.status == 0 || !strings.Contains(r.stderr, "the program copies this function") {
			t.Errorf("%s: status %d: %s", place, r.status, tail(r.stderr))
		}
	}
}
