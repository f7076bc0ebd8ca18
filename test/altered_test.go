package test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestAlteredCode: a program that changes its code under jalon's jumps runs as without jalon, and jalon says where hits
// ended, when the program exits and when jalon leaves it.
func TestAlteredCode(t *testing.T) {
	prog := compile(t, "gcc", "alters.c", "-g", "-O1")
	const before = 501 // of 1000 calls
	for _, tt := range []struct {
		how       string
		hits      uint64
		ended, of int
	}{
		{"nothing", 2000, 0, 2},
		{"protect", 2000, 0, 2},
		{"key", 1000 + before, 1, 2},
		{"map", before + before, 2, 2},
	} {
		want := ""
		if tt.ended > 0 {
			want = fmt.Sprintf("changed the code at %d of %d traced addresses", tt.ended, tt.of)
		}
		r := trace(t, "-f", "none", "hit", "key", "--", prog, "1000", tt.how)
		if r.status != 0 || r.stdout != "wrong 0\n" || r.sum.Hits != tt.hits || strings.Contains(r.stderr, "has changed the code") != (want != "") || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, %d hits, want %d and %q: %s%s", tt.how, r.status, r.sum.Hits, tt.hits, want, r.stdout, r.stderr)
		}
		j := start(t, jalonArgs("trace", "-f", "none", "hit", "key", "--", prog, "1000", tt.how, "stay")...).AwaitOut("wrong 0\n")
		j.Signal(syscall.SIGINT)
		if j.Wait(); strings.Contains(j.Errs.String(), "has changed the code") != (want != "") || !strings.Contains(j.Errs.String(), want) {
			t.Errorf("%s: want %q: %s", tt.how, want, j.Errs.String())
		}
	}
}
