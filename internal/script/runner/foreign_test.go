package runner

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOtherProgram: places of another program than the one that is started have the hits of this process behind its exec, and none of other
// processes.
func TestOtherProgram(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the kernel's uprobes need root")
	}
	path := build(t)
	const exec = ` tracepoint:sched:sched_process_exec /pid == cpid/ { @e = count(); }`
	for _, c := range []struct{ src, argv, want string }{
		{`uprobe:PROG:handle { @n = count(); @last[tid] = arg1; } uretprobe:PROG:handle { printf("%d ", retval); } end { print(len(@last)); clear(@last); }`, "exec PROG 4", "0 3 6 2 1\n@n: 4\n"},
		{`uprobe:PROG:handle { @n = count(); @last[tid] = arg1; } uretprobe:PROG:handle { printf("%d ", retval); } end { print(len(@last)); clear(@last); }`, "PROG 9; exec PROG 4", "0 3 6 2 1\n@n: 4\n"},
		{`uprobe:PROG:hand* { @n = count(); }` + exec, "PROG 9; exec PROG 4", "@e: 1\n@n: 4\n"},
	} {
		src := strings.NewReplacer("PROG", path).Replace(c.src)
		got, _ := runScript(t, src, Options{Argv: []string{"/bin/sh", "-c", strings.ReplaceAll(c.argv, "PROG", path)}})
		if sorted(got) != sorted(c.want) {
			t.Errorf("%s\n%s: %q, want %q", src, c.argv, got, c.want)
		}
	}
}

// TestIsExecutable: libraries are not programs, also if they can be executed.
func TestIsExecutable(t *testing.T) {
	path := build(t)
	libc, err := exec.Command("/bin/sh", "-c", "ldd "+path+" | sed -n 's/.*libc.so.6 => \\([^ ]*\\) .*/\\1/p'").Output()
	if err != nil || len(libc) == 0 {
		t.Fatalf("%q, %v", libc, err)
	}
	for name, want := range map[string]bool{path: true, "/bin/sh": true, strings.TrimSpace(string(libc)): false, "/etc/passwd": false, "/": false} {
		if got := isExecutable(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
