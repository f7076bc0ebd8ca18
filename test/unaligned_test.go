package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unalignedScript is GNU ld's script, but the segment of code begins within a page, as lld lets it begin.
func unalignedScript(t *testing.T) string {
	t.Helper()
	need(t, "ld")
	out, err := exec.Command("ld", "--verbose").Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(out), strings.Repeat("=", 50)+"\n")
	const page = "ALIGN(CONSTANT (MAXPAGESIZE))"
	if len(parts) < 2 || !strings.Contains(parts[1], page) {
		t.Skip("this ld has another script")
	}
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(strings.Replace(parts[1], page, page+" + 0x418", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestUnalignedCode: stacks are followed through code whose segment begins within a page.
func TestUnalignedCode(t *testing.T) {
	prog := compile(t, "gcc", "unaligned.c", "-O2", "-fomit-frame-pointer", "-Wl,-T,"+unalignedScript(t))
	for _, c := range []struct{ name, probe string }{
		{"in the process", "uprobe:" + prog + ":inner"},
		{"in the kernel", "tracepoint:syscalls:sys_enter_getpriority /args.which == 77777/"},
	} {
		r := jalon(t, "run", "-q", "-e", c.probe+" { @[ustack] = count(); }", "-c", prog)
		var names []string // of the longest stack: of some hits frame pointers were followed
		for _, stack := range strings.Split(r.stdout, "@[") {
			var one []string
			for _, line := range strings.Split(stack, "\n") {
				if name, _, called := strings.Cut(strings.TrimSpace(line), "+"); called {
					one = append(one, name)
				}
			}
			if len(one) > len(names) {
				names = one
			}
		}
		if got := strings.Join(names, " "); r.status != 0 || !strings.HasPrefix(got, "inner middle outer main ") {
			t.Errorf("%s: %q, status %d\n%s%s", c.name, got, r.status, r.stdout, r.stderr)
		}
	}
}
