package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestScriptReadsKernel: begin and end probes read the kernel while they run, also by pointers whose number is not
// known before.
func TestScriptReadsKernel(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("the kernel has no BTF")
	}
	r := jalon(t, "run", "-q", "-e", `begin {
		print((curtask.tgid, curtask.pid == tid, pid == pid(init), curtask.comm));
		print((ppid, ppid(curtask), curtask.real_parent.tgid, pcomm));
		$t = curtask; $n = 0;
		while ($t.pid > 1 && $n < 100) { $t = $t.real_parent; $n++; }
		print(($t.pid <= 1, $n));
		print(str(curtask.mm.exe_file.f_path.dentry.d_name.name));
		$c = *curtask.cred; print($c.uid.val);
		print(ksym(kaddr("vfs_read")));
	} end { print(curtask != 0); }`)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.status != 0 || len(lines) != 7 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	var pid int
	var rest string
	if _, err := fmt.Sscanf(lines[0], "(%d, %s", &pid, &rest); err != nil || !strings.HasSuffix(lines[0], "true, true, jalon)") {
		t.Errorf("the task: %s", lines[0])
	}
	me := strconv.Itoa(os.Getpid())
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	if want := "(" + me + ", " + me + ", " + me + ", " + strings.TrimSpace(string(comm)) + ")"; lines[1] != want {
		t.Errorf("the parent: %s, want %s", lines[1], want)
	}
	if !strings.HasPrefix(lines[2], "(true, ") || lines[2] == "(true, 0)" {
		t.Errorf("the ancestors: %s", lines[2])
	}
	if want := []string{"jalon", strconv.Itoa(os.Getuid()), "vfs_read", "true"}; strings.Join(lines[3:], " ") != strings.Join(want, " ") {
		t.Errorf("%q, want %q", lines[3:], want)
	}
}
