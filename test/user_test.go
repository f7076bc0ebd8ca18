package test

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// asNobody returns a command that runs as an unprivileged user without capabilities, in its own directory.
func asNobody(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; what follows is then tested by every other test")
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	home, err := os.MkdirTemp("", "jalon-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.Chown(home, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "USER=nobody", "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return cmd
}

func TestUserTracesOwnChild(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	for _, tac := range tactics {
		cmd := asNobody(t, jalonArgs("trace", "--avoid", tac.bits, "-f", "json", "-o", "events", "--summary-json", "work if (i % 100 == 1)", "-c", "i, job->id, $bt", "--", prog, "4", "1000")...)
		r := startCmd(t, cmd).wait()
		equal(t, "output", r.stdout, threadsSum(4, 1000))
		sum := summaryOf(t, r)
		if r.status != 0 || sum.Hits != 4000 || sum.Recorded != 40 {
			t.Errorf("%s: status %d, %+v: %s", tac.name, r.status, sum, tail(r.stderr))
		}
		if ev := readEvents(t, filepath.Join(cmd.Dir, "events")); len(ev) != 40 {
			t.Errorf("%d events", len(ev))
		}
	}
	wild := compile(t, "gcc", "wild.c", "-g", "-O2")
	r := startCmd(t, asNobody(t, jalonArgs("trace", "-f", "none", "--summary-json", "visit if (p->next->value > 3)", "--", wild, "700")...)).wait()
	if sum := summaryOf(t, r); r.status != 0 || sum.Faults != 700 {
		t.Errorf("status %d, %+v", r.status, sum)
	}
	r = startCmd(t, asNobody(t, jalonArgs("trace", "-f", "none", "--summary-json", "uprobe:/usr/bin/bash:execute_command", "--", "/usr/bin/bash", "-c", "for i in 1 2 3; do :; done; exit 4")...)).wait()
	if sum := summaryOf(t, r); r.status != 4 || sum.Hits == 0 {
		t.Errorf("bash: status %d, %+v", r.status, sum)
	}
}

// ptraceScope is Yama's setting; 0 where there is none.
func ptraceScope() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

func TestUserAttaches(t *testing.T) {
	prog := compile(t, "gcc", "checked.c", "-g", "-O2", "-pthread")
	cmd := asNobody(t, prog, "2")
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stdin = in
	x := &target{running: startCmd(t, cmd), in: w}
	_ = in.Close()
	x.goesOn("at first")
	r := startCmd(t, asNobody(t, jalonArgs("trace", "-f", "none", "--summary-json", "-n", "100", "-p", fmt.Sprint(x.Pid()), "leaf", "wild if (p->value != 0)")...)).wait()
	switch {
	case ptraceScope() == 0:
		if sum := summaryOf(t, r); r.status != 0 || sum.Recorded < 100 || sum.Outcome != "detached" {
			t.Errorf("status %d, %+v: %s", r.status, sum, tail(r.stderr))
		}
	case r.status != 1 || !strings.Contains(r.stderr, "ptrace_scope"):
		t.Errorf("Yama forbids it: status %d: %s", r.status, r.stderr)
	}
	x.goesOn("afterwards")
	x.finish("at the end")
}

// For a process of another user, the error names the missing permission and the remedy.
func TestUserRefused(t *testing.T) {
	x := startTarget(t, 1, "-O2")
	for _, args := range [][]string{
		{"trace", "-p", fmt.Sprint(x.Pid()), "leaf"},
		{"trace", "-p", "1", "main"},
		{"list", "-p", fmt.Sprint(x.Pid())},
	} {
		r := startCmd(t, asNobody(t, jalonArgs(args...)...)).wait()
		if r.status != 1 {
			t.Errorf("%v: status %d", args, r.status)
		}
		if !strings.Contains(r.stderr, "root") && !strings.Contains(r.stderr, "CAP_SYS_PTRACE") && !strings.Contains(r.stderr, "sudo") {
			t.Errorf("%v: no remedy in: %s", args, r.stderr)
		}
	}
	x.goesOn("refused")
	x.finish("at the end")
	r := startCmd(t, asNobody(t, jalonArgs("check")...)).wait()
	if r.status != 0 || !strings.Contains(r.stdout, "attach") {
		t.Errorf("check: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	// A program that the user may run but not read, or that changes its user.
	for _, prog := range []string{"/usr/bin/su", "/usr/bin/passwd"} {
		st, err := os.Stat(prog)
		if err != nil || st.Mode()&os.ModeSetuid == 0 {
			continue
		}
		r := startCmd(t, asNobody(t, jalonArgs("trace", "uprobe:"+prog+":main", "--", prog, "--help")...)).wait()
		if r.status == 0 || r.stderr == "" {
			t.Errorf("%s: status %d: %s", prog, r.status, r.stderr)
		}
	}
}
