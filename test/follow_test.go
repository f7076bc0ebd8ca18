package test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestFollow: places of the kernel are traced in the processes that the program starts, and in their descendants: through
// exec, by threads of a shell's pipe, and of an orphan; not in other processes, and with --no-follow in the program only.
func TestFollow(t *testing.T) {
	const script = "/bin/true; /bin/true | /bin/true; (sh -c '/bin/echo orphan' & ) ; wait; sleep 0.2"
	other := start(t, "sh", "-c", "while :; do /bin/true; done")
	defer other.Kill()
	r := jalon(t, "trace", "process:exec", "syscall:execve:exit if ret == 0", "-f", "json", "--", "sh", "-c", script)
	for _, place := range []string{`"place":"process:exec"`, `"place":"syscall:execve:exit"`} {
		n, echo := 0, 0
		for line := range strings.Lines(r.stdout) {
			if strings.Contains(line, place) {
				n++
				if strings.Contains(line, `"comm":"echo"`) {
					echo++
				}
			}
		}
		if n < 5 || n > 6 || echo != 1 { // of true three times, echo, sleep; the inner sh may be a fork only
			t.Errorf("%s: %d hits, %d of echo:\n%s%s", place, n, echo, r.stdout, r.stderr)
		}
	}
	if r := jalon(t, "trace", "process:exec", "--no-follow", "--", "sh", "-c", script); strings.Contains(r.stdout, "process:exec") {
		t.Errorf("--no-follow:\n%s", r.stdout)
	}
	for _, c := range []struct {
		arg  string
		cats bool
	}{{"-q", true}, {"--no-follow", false}} {
		r := jalon(t, "trace", "software:page-faults:1", c.arg, "-f", "json", "--", "sh", "-c", "cat /dev/null; true")
		if strings.Contains(r.stdout, `"comm":"cat"`) != c.cats || !strings.Contains(r.stdout, `"comm":"sh"`) {
			t.Errorf("software:page-faults:1 %s:\n%.2000s%s", c.arg, r.stdout, r.stderr)
		}
	}
	running := exec.Command("sh", "-c", "read x; /bin/true; (/bin/echo $x)")
	in, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := startCmd(t, running)
	q := start(t, jalonArgs("trace", "-v", "process:exec", "-p", strconv.Itoa(p.Pid()))...)
	q.AwaitErr("armed after")
	_, _ = in.Write([]byte("text\n"))
	_ = in.Close()
	p.wait()
	if res := q.wait(); strings.Count(res.stdout, "process:exec") != 2 {
		t.Errorf("-p: %s%s", res.stdout, res.stderr)
	}
}
