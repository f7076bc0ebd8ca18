package test

import (
	"os"
	"slices"
	"testing"
)

// TestTracedDebugger: a program that debugs its children does so while it is traced. Children of vfork are traced by jalon
// until their exec (docs/other-tracers.md), so there the kernel engine is used.
func TestTracedDebugger(t *testing.T) {
	prog := compile(t, "gcc", "debugs.c", "-g", "-O1")
	for _, args := range [][]string{
		{"hit", "--", prog},
		{"hit if (a == 7)", "--", prog},
		{"--engine", "kernel", "hit", "--", prog},
		{"--engine", "kernel", "hit", "--", prog, "vfork"},
	} {
		if os.Geteuid() != 0 && slices.Contains(args, "kernel") {
			continue // it needs root
		}
		r := jalon(t, append([]string{"trace", "-f", "none"}, args...)...)
		if r.status != 0 || r.stdout != "wrong 0\n" {
			t.Errorf("%v: status %d, %s%s", args, r.status, r.stdout, r.stderr)
		}
	}
}
