package test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUserStartsPrivileged: children of a program that an unprivileged user traces have
// the rights of set-user-ID files, however they are started. (posix_spawn and vfork left
// them without: the kernel ignores the bit under a tracer without CAP_SYS_PTRACE.)
func TestUserStartsPrivileged(t *testing.T) {
	prog := compile(t, "gcc", "gains.c", "-g", "-O1")
	code, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	privileged := filepath.Join(filepath.Dir(prog), "gains-privileged")
	if err := os.WriteFile(privileged, code, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(privileged, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	want := startCmd(t, asNobody(t, prog, privileged)).wait()
	if want.status != 7 {
		t.Fatalf("untraced: status %d, %q", want.status, want.stderr)
	}
	for _, tac := range tactics {
		r := startCmd(t, asNobody(t, jalonArgs("trace", "--avoid", tac.bits, "-f", "none", "--summary-json", "begin", "-c", "a", "--", prog, privileged)...)).wait()
		equal(t, tac.name+": output", r.stdout, want.stdout)
		if sum := summaryOf(t, r); r.status != want.status || sum.Recorded != 5 {
			t.Errorf("%s: status %d, %+v: %s", tac.name, r.status, sum, tail(r.stderr))
		}
	}
	t.Logf("%q", want.stdout)
}
