package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// recipe is a command of docs/cookbook.md.
type recipe struct{ task, command, expect string }

// recipes reads the cookbook.
func recipes(t *testing.T) []recipe {
	t.Helper()
	text, err := os.ReadFile("../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []recipe
	for _, m := range regexp.MustCompile("(?s)### ([^\n]*)\n\n<!-- expect: ([^\n]*) -->\n```sh\n([^`]*)\n```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, recipe{m[1], m[3], m[2]})
	}
	if n := strings.Count(string(text), "\n### "); len(out) != n || n < 50 {
		t.Fatalf("%d of %d recipes of the cookbook have the form that this test reads", len(out), n)
	}
	return out
}

// TestCookbook runs the commands of docs/cookbook.md. What is to be printed stands beside each; "dry" is for places
// that this kernel may not have, which are only checked. JALON_FULL=1 runs all, else every fourth.
func TestCookbook(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(compile(t, "gcc", "cookbook.c", "-g", "-O1", "-pthread"), filepath.Join(dir, "server")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(jalonBin, filepath.Join(dir, "jalon")); err != nil {
		t.Fatal(err)
	}
	for i, r := range recipes(t) {
		if i%4 != 0 && r.expect != "dry" && os.Getenv("JALON_FULL") == "" {
			continue
		}
		t.Run(r.task, func(t *testing.T) { r.run(t, dir) })
	}
}

func (r recipe) run(t *testing.T, dir string) {
	command := r.command
	if r.expect == "dry" {
		command = strings.Replace(command, "jalon run", "jalon run --dry-run", 1)
	}
	cmd := exec.Command("/bin/sh", "-c", "exec "+command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if strings.Contains(command, "$PID") {
		busy := start(t, "sh", "-c", "while :; do read x < /etc/hostname; done")
		cmd.Env = append(cmd.Env, fmt.Sprintf("PID=%d", busy.Cmd.Process.Pid))
	}
	p := startCmd(t, cmd)
	if !strings.Contains(command, " ./server") { // it traces the whole system until it is ended
		r.load(t, p, dir)
	}
	res := p.wait()
	if r.expect == "dry" {
		if res.status != 0 {
			t.Errorf("%s\n%s", command, res.stderr)
		}
		return
	}
	if !regexp.MustCompile("(?m)"+r.expect).MatchString(strings.TrimSpace(res.stdout)) || res.status != 0 {
		t.Errorf("%s: status %d\n%s%s\nno match of %s", command, res.status, res.stdout, res.stderr, r.expect)
	}
}

// load runs the server beside a command when its probes are attached, and ends it as Ctrl-C does.
func (r recipe) load(t *testing.T, p *running, dir string) {
	for end := time.Now().Add(patience); !strings.Contains(p.Errs.String(), "Attached") && time.Now().Before(end); {
		select {
		case <-p.Ended:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
	cmd := exec.Command("./server")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	select {
	case <-p.Ended: // it ends by exit()
	default:
		if !strings.Contains(r.command, "exit()") {
			_ = unix.Kill(p.Cmd.Process.Pid, unix.SIGINT)
		}
	}
}
